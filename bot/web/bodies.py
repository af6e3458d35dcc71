"""What a request brings, up to a limit."""

from starlette.requests import Request


async def body_of(request: Request, most_bytes: int) -> bytes | None:
    """All of it; None if it is longer, of which no more is read."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > most_bytes:
            return None
        parts.append(part)
    return b"".join(parts)
