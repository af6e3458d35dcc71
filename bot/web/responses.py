"""What this server reads and answers: JSON with an ETag, problems in three parts, pages, files, bodies with a limit."""

import hashlib

from pydantic import Field
from pydantic.main import IncEx
from starlette.requests import Request
from starlette.responses import Response

from bot.observation.errors import WaterlineError
from bot.observation.record import Record

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""No script runs on any page, nothing is fetched from elsewhere."""
_HEADERS = {
    "Cache-Control": "private, no-cache",
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Problem(Record):
    """Why there is no answer, as RFC 9457 has it, with what to do next."""

    type: str = Field(default="about:blank", description="Always `about:blank`: the status says which kind it is.")
    status: int = Field(ge=400, le=599, description="The HTTP status.")
    title: str = Field(description="What happened, a sentence.")
    detail: str = Field(description="What was expected and what was found; may be empty.")
    remedy: str = Field(description="What to do next; may be empty.")


def problem(status: int, title: str, detail: str, remedy: str) -> Response:
    body = Problem(status=status, title=title, detail=detail, remedy=remedy)
    return Response(body.model_dump_json(), status, _HEADERS, media_type="application/problem+json")


def problem_of(error: WaterlineError, status: int) -> Response:
    return problem(status, error.happened, error.found, error.remedy)


def answered(request: Request, body: Record, *, apart_from: IncEx | None = None) -> Response:
    """JSON with a weak ETag over all of it `apart_from` some fields; 304 if the asker has it already."""
    said = body.model_dump_json(exclude=apart_from)
    return _tagged(request, said, body.model_dump_json().encode(), "application/json")


def json_text(request: Request, text: str) -> Response:
    """JSON that is written already, with an ETag."""
    return _tagged(request, text, text.encode(), "application/json")


def page(html: str, status: int = 200) -> Response:
    return Response(html, status, _HEADERS, media_type="text/html")


def file(text: str, name: str, media_type: str) -> Response:
    """A file to be kept; `name` is made of an id of ours."""
    headers = {**_HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, 200, headers, media_type=media_type)


def wants_page(path: str) -> bool:
    """Whether this address is for people, and not for programs and agents."""
    return not path.startswith(("/v1/", "/mcp", "/livez", "/readyz", "/metrics"))


def _tagged(request: Request, said: str, body: bytes, media_type: str) -> Response:
    tag = f'W/"{hashlib.sha256(said.encode()).hexdigest()[:32]}"'
    headers = {**_HEADERS, "ETag": tag}
    if _has_it(request.headers.get("if-none-match", ""), tag):
        return Response(None, 304, headers)
    return Response(body, 200, headers, media_type=media_type)


def _has_it(asked: str, tag: str) -> bool:
    """If-None-Match compares weakly: with or without W/ it is the same."""
    known = {each.strip().removeprefix("W/") for each in asked.split(",")}
    return asked.strip() == "*" or tag.removeprefix("W/") in known


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
