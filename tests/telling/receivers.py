"""A mail server and an HTTP server on loopback: the other side of the wire, as consumers have it."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler
from typing import Any

from aiosmtpd.smtp import SMTP, Envelope, Session

from bot.settings import SmtpSettings
from tests.adapters.serving import handled


def mail_server(port: int, limit_s: float = 60) -> SmtpSettings:
    """One on loopback, which takes mails without a login."""
    return SmtpSettings(
        host="127.0.0.1",
        port=port,
        sender="waterline@acme.example",
        security="none",
        timeout=timedelta(seconds=limit_s),
    )


class Mailbox:
    """Takes every mail, or refuses as it is told."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.logins: list[str] = []
        """Lines in which somebody tried to log in."""
        self.refuses: str | None = None
        self.port = 0

    async def handle_AUTH(self, _server: SMTP, _session: Session, _envelope: Envelope, args: list[str]) -> str:
        """aiosmtpd's hook; it is reached only where the server offers AUTH."""
        self.logins.append(" ".join(args))
        return "235 welcome"

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:
        """aiosmtpd's hook."""
        if self.refuses is not None:
            return self.refuses
        content = envelope.content
        assert isinstance(content, bytes)
        mail = message_from_bytes(content, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        return "250 taken"


@contextmanager
def mailbox() -> Iterator[Mailbox]:
    """A real SMTP server."""
    box, loop, ready = Mailbox(), asyncio.new_event_loop(), threading.Event()

    def run() -> None:
        asyncio.set_event_loop(loop)
        server = loop.run_until_complete(
            loop.create_server(
                lambda: SMTP(box, hostname="loopback", loop=loop, auth_require_tls=False), "127.0.0.1", 0
            )
        )
        box.port = server.sockets[0].getsockname()[1]
        ready.set()
        loop.run_forever()
        server.close()
        conversations = asyncio.all_tasks(loop)
        for each in conversations:
            each.cancel()
        loop.run_until_complete(asyncio.gather(*conversations, return_exceptions=True))
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    ready.wait()
    yield box
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


class Hook:
    """Takes every POST, and answers what it is told to, the last answer again and again."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[tuple[int, dict[str, Any]]] = [(200, {})]
        self.url = ""


@contextmanager
def hook() -> Iterator[Hook]:
    """A real HTTP server."""
    taken = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            taken.requests.append(({name.lower(): value for name, value in self.headers.items()}, body))
            status, said = taken.answers.pop(0) if len(taken.answers) > 1 else taken.answers[0]
            answer = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(answer)))
            if 300 <= status < 400:
                self.send_header("location", f"{taken.url}/elsewhere")
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_args: object) -> None:
            pass

    with handled(Handler) as address:
        taken.url = f"{address}/hook"
        yield taken


@contextmanager
def dripping(begins: bytes, *, is_first: bool = False) -> Iterator[str]:
    """A receiver whose answer begins so, and then has one byte more every 50 ms, for as long as anybody listens or for
    ten seconds.
    `is_first`: it speaks before it is asked, as a mail server does."""

    def drip() -> None:
        connection, _address = server.accept()
        with connection:
            if not is_first:
                connection.recv(65536)
            connection.sendall(begins)
            with suppress(OSError):
                for _ in range(200):
                    connection.sendall(b"a")
                    if ended.wait(0.05):
                        return

    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/hook"
        ended.set()
        thread.join()
