"""Schedulers of compactions, asked over HTTP to pause and to go on."""

from collections.abc import Mapping

import httpx

from bot.adapters.http import Logins
from bot.domain.errors import CouldNotLook
from bot.domain.ids import TableName
from bot.domain.setup import Compaction


class HttpSchedulers:
    """The port `Schedulers`. A request is done when the scheduler answers 2xx; redirects are not followed."""

    def __init__(
        self,
        compactions: Mapping[TableName, tuple[Compaction, ...]],
        environment: Mapping[str, str],
        *,
        limit_s: float = 10.0,
        logins: Logins | None = None,
    ) -> None:
        """`environment` holds the tokens."""
        self._compactions = compactions
        self._environment = environment
        self._http = (logins or Logins()).client(timeout=limit_s)

    def names(self, table: TableName) -> tuple[str, ...]:
        return tuple(each.name for each in self._compactions.get(table, ()))

    def pause(self, table: TableName) -> tuple[str, ...]:
        asked = ((each, self._asked(each, each.pause)) for each in self._compactions.get(table, ()))
        return tuple(
            f"{_first(each.name)} could not be paused ({problem}): it may come in between."
            if problem
            else f"{_first(each.name)} is paused."
            for each, problem in asked
        )

    def resume(self, table: TableName) -> None:
        asked = ((each, self._asked(each, each.resume)) for each in self._compactions.get(table, ()))
        failed = [f"{each.name}: {problem}" for each, problem in asked if problem]
        if failed:
            raise CouldNotLook(
                f"A compaction of {table} could not be resumed.",
                f"Expected its scheduler to answer 2xx; found {'; '.join(failed)}.",
                "Waterline tries again. If this continues, resume it by hand.",
            )

    def close(self) -> None:
        self._http.close()

    def _asked(self, one: Compaction, body: Mapping[str, str | bool | int]) -> str:
        """What is wrong; empty where it was done."""
        token = self._environment.get(one.token_variable, "") if one.token_variable else None
        if token == "":
            return f"{one.token_variable} is not set"
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            answer = self._http.request(one.method, one.url, json=dict(body), headers=headers)
        except httpx.HTTPError as error:
            return type(error).__name__
        return "" if answer.is_success else f"HTTP {answer.status_code}"


def _first(name: str) -> str:
    return name[:1].upper() + name[1:]
