"""The wire between the JobManager and its TaskManagers, which can lose Flink's word that a checkpoint is complete.

Run as a program, it listens where the JobManager is said to be and passes everything on. Flink's messages are frames
behind four bytes of length. While the file of `lose` exists, frames to a TaskManager that call a named method are
dropped; no other message is touched, and Flink asks for no receipt of this one.

Usage: wire.py PORT BEHIND_PORT LOSE_FILE
"""

import asyncio
import contextlib
import struct
import sys
from functools import partial
from pathlib import Path

PROGRAM = Path(__file__)
LOSE_FILE = "wire.lose"
"""In the lab's `scratch`; holds the name of the method whose calls are lost."""
NOTIFICATION = "confirmCheckpoint"
"""How the JobManager calls a TaskManager when a checkpoint is complete; Flink 1.20 and 2.1."""
_LENGTH = struct.Struct(">I")


def lose(scratch: Path, method: str) -> None:
    """From now on calls of this method do not arrive at a TaskManager."""
    (scratch / LOSE_FILE).write_text(method, encoding="ascii")


def mend(scratch: Path) -> None:
    """From now on everything arrives; safe to call twice."""
    (scratch / LOSE_FILE).unlink(missing_ok=True)


async def _pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter, told: Path | None) -> None:
    """Frame by frame; `told` is the file that says what is lost in this direction."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            length = await source.readexactly(_LENGTH.size)
            frame = await source.readexactly(_LENGTH.unpack(length)[0])
            if told is None or not _is_lost(frame, told):
                target.write(length + frame)
                await target.drain()
    target.close()


def _is_lost(frame: bytes, told: Path) -> bool:
    try:
        return told.read_bytes() in frame
    except FileNotFoundError:
        return False


async def _meet(
    behind: int, told: Path, from_taskmanager: asyncio.StreamReader, to_taskmanager: asyncio.StreamWriter
) -> None:
    try:
        from_jobmanager, to_jobmanager = await asyncio.open_connection("127.0.0.1", behind)
    except ConnectionError:
        to_taskmanager.close()
        return
    await asyncio.gather(
        _pass_on(from_taskmanager, to_jobmanager, None), _pass_on(from_jobmanager, to_taskmanager, told)
    )


async def serve(port: int, behind: int, told: Path) -> None:
    """Listens until it is ended."""
    server = await asyncio.start_server(partial(_meet, behind, told), "127.0.0.1", port)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])))
