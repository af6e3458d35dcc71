"""Another Waterline, asked whether a table can be trusted, or a job started."""

from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import quote

import httpx
from pydantic import ValidationError

from bot.adapters.http import Logins
from bot.history.prediction import RestoreCheck
from bot.incident.trust import Trust
from bot.observation.errors import CouldNotLook, UnknownTable
from bot.observation.ids import TableName
from bot.observation.record import Record

_LIMIT_S = 60.0
"""The server itself waits ten seconds for a catalog, and reads each table of a job."""


Told = TypeVar("Told", bound=Record)


def trust_from(url: str, table: TableName, token: str | None) -> Trust:
    """The answer of the server at `url`, asked once. Raises UnknownTable, CouldNotLook."""
    doubt = "whether the table can be trusted", "Do not trust the table until it answers."
    return _asked(Trust, url, table, "trust", {}, token, doubt)


def restore_check_from(url: str, table: TableName, path: str, token: str | None) -> RestoreCheck:
    """The same of a restore point. Raises UnknownTable, CouldNotLook."""
    doubt = "whether a start would be right", "Do not start the job until it answers."
    return _asked(RestoreCheck, url, table, "restore-check", {"from": path}, token, doubt)


def _asked(
    kind: type[Told],
    url: str,
    table: TableName,
    what: str,
    query: Mapping[str, str],
    token: str | None,
    doubt: tuple[str, str],
) -> Told:
    address = f"{url.rstrip('/')}/v1/tables/{quote(table, safe='')}/{what}"
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with Logins().client(timeout=_LIMIT_S, whole_s=_LIMIT_S) as http:
            answer = http.get(address, params=query, headers=headers)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _no_answer(url, f"found {type(error).__name__}: {error}".rstrip(": "), doubt) from error
    if answer.status_code == httpx.codes.NOT_FOUND and "problem+json" in answer.headers.get("content-type", ""):
        raise UnknownTable(
            f"The Waterline at {url} is not set up for a table {table}.",
            "Expected a table of its configuration, as namespace.table.",
            f"Look at {url.rstrip('/')}/v1/tables for the tables that it watches.",
        )
    if answer.status_code != httpx.codes.OK:
        hint = " Set WATERLINE_WEB_TOKEN." if answer.status_code == httpx.codes.UNAUTHORIZED else ""
        raise _no_answer(url, f"it answered {answer.status_code}.{hint}", doubt)
    try:
        return kind.model_validate_json(answer.content, extra="ignore")
    except ValidationError as error:
        raise _no_answer(url, "what answered is no Waterline, or one of another version.", doubt) from error


def _no_answer(url: str, found: str, doubt: tuple[str, str]) -> CouldNotLook:
    return CouldNotLook(
        f"It is not known {doubt[0]}: {url} did not answer.",
        f"Expected an answer from Waterline; {found}",
        f"Check the address, and that Waterline runs there. {doubt[1]}",
    )
