"""Another Waterline, asked whether a table can be trusted."""

from urllib.parse import quote

import httpx
from pydantic import ValidationError

from bot.domain.errors import CouldNotLook, UnknownTable
from bot.domain.ids import TableName
from bot.domain.trust import Trust

_LIMIT_S = 20.0
"""The server itself waits ten seconds for a catalog."""


def trust_from(url: str, table: TableName, token: str | None) -> Trust:
    """The answer of the server at `url`, asked once. Raises UnknownTable, CouldNotLook."""
    address = f"{url.rstrip('/')}/v1/tables/{quote(table, safe='')}/trust"
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        answer = httpx.get(address, headers=headers, timeout=_LIMIT_S)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _no_answer(url, f"found {type(error).__name__}: {error}".rstrip(": ")) from error
    if answer.status_code == httpx.codes.NOT_FOUND and "problem+json" in answer.headers.get("content-type", ""):
        raise UnknownTable(
            f"The Waterline at {url} does not watch a table {table}.",
            "Expected a table of its configuration, as namespace.table.",
            f"Look at {url.rstrip('/')}/v1/tables for the tables that it watches.",
        )
    if answer.status_code != httpx.codes.OK:
        hint = " Set WATERLINE_WEB_TOKEN." if answer.status_code == httpx.codes.UNAUTHORIZED else ""
        raise _no_answer(url, f"it answered {answer.status_code}.{hint}")
    try:
        return Trust.model_validate_json(answer.content, extra="ignore")
    except ValidationError as error:
        raise _no_answer(url, "what answered is no Waterline, or one of another version.") from error


def _no_answer(url: str, found: str) -> CouldNotLook:
    return CouldNotLook(
        f"It is not known whether the table can be trusted: {url} did not answer.",
        f"Expected an answer from Waterline; {found}",
        "Check the address, and that Waterline runs there. Do not trust the table until it answers.",
    )
