"""A proxy of bytes that can lose the answer to a request after the server has carried it out."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class LosingTcp:
    """Where it listens, and which request's answer it loses next."""

    def __init__(self, port: int, target: tuple[str, int]) -> None:
        self.port = port
        self.target = target
        self.loses: bytes | None = None
        """A request that holds these bytes gets no answer, once."""
        self.lost = 0


@contextmanager
def losing_tcp(host: str, port: int) -> Iterator[LosingTcp]:
    """Before the server at this address, for the length of a `with`."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        proxy = LosingTcp(server.getsockname()[1], (host, port))

        def accepts() -> None:
            while True:
                try:
                    near = server.accept()[0]
                except OSError:
                    return
                threading.Thread(target=_between, args=(proxy, near), daemon=True).start()

        thread = threading.Thread(target=accepts, daemon=True)
        thread.start()
        yield proxy
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def _between(proxy: LosingTcp, near: socket.socket) -> None:
    with near, socket.create_connection(proxy.target) as far:
        cut = threading.Event()
        back = threading.Thread(target=_answers, args=(proxy, near, far, cut), daemon=True)
        back.start()
        with suppress(OSError):
            while sent := near.recv(1 << 16):
                if proxy.loses is not None and proxy.loses in sent:
                    proxy.loses = None
                    cut.set()
                far.sendall(sent)
            far.shutdown(socket.SHUT_WR)
        back.join(30)


def _answers(proxy: LosingTcp, near: socket.socket, far: socket.socket, cut: threading.Event) -> None:
    with suppress(OSError):
        while told := far.recv(1 << 16):
            if cut.is_set():
                proxy.lost += 1
                near.shutdown(socket.SHUT_RDWR)
                return
            near.sendall(told)
        near.shutdown(socket.SHUT_WR)
