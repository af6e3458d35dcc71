"""Who read which snapshot, as Marquez remembers it: the OpenLineage events that it was sent, over HTTP.

`GET /api/v1/events/lineage` is its only read that is bounded in time. It knows no filter by dataset, so every
event of the time is read and those of the table are kept.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TypeVar

import httpx
import structlog
from pydantic import AwareDatetime, BaseModel, Field, JsonValue, ValidationError

from bot.adapters.http import Busy, Logins, read_again
from bot.adapters.lineage_reading import EventSource, LineageEvent, Unreadable, is_before
from bot.domain.errors import CouldNotLook
from bot.domain.sentences import counted

_log = structlog.get_logger(__name__)
T = TypeVar("T")
PAGE = 500
MAX_EVENTS = 100_000
"""More would take minutes; then the look is given up, and that is said."""
_PATH = "/api/v1/events/lineage"


class _Page(BaseModel):
    """`total` counts what the time holds, not this page."""

    events: tuple[JsonValue, ...]
    total: int | None = Field(default=None, alias="totalCount")


class _Timed(BaseModel):
    at: AwareDatetime = Field(alias="eventTime")


class Marquez(EventSource):
    """One Marquez. Cost: one call for every 500 events between `since` and the moment the table was read."""

    def __init__(
        self,
        url: str,
        catalog: str,
        other_names: Sequence[str] | None = None,
        *,
        limit_s: float = 20.0,
        page: int = PAGE,
        logins: Logins | None = None,
    ) -> None:
        """`other_names`: what else engines call the catalog; None: not told. `limit_s` is one page's time limit."""
        self.url = url.rstrip("/")
        super().__init__(catalog, other_names)
        self._page = page
        self._http = (logins or Logins()).client(self.url, timeout=httpx.Timeout(limit_s, connect=min(limit_s, 5.0)))

    def close(self) -> None:
        self._http.close()

    def events(self, since: datetime) -> tuple[list[LineageEvent], Unreadable | None]:
        events, bad = list[LineageEvent](), 0
        for body in self._events(since):
            try:
                events.append(LineageEvent.model_validate(body))
            except ValidationError:
                bad += not is_before(body, since)
        if not bad:
            return events, None
        what = f"events of Marquez at {self.url}"
        return events, Unreadable(
            what=what,
            found=f"Expected OpenLineage run events; {bad} of {len(events) + bad} are not.",
            remedy="Find out which producer sends them, then try again.",
            said=f"{counted(bad, 'event')} of Marquez at {self.url} could not be read",
        )

    def _events(self, since: datetime) -> Iterator[JsonValue]:
        """Every event at or after `since`, oldest first.

        Each page begins at the time where the one before ended, not behind so many events: Marquez has no order among
        events of one moment, and would leave out one of those that a page's end divides.
        """
        after, limit, count, total = since, self._page, 0, 0
        known: frozenset[str] = frozenset()
        while True:
            page = self._asked(after, limit)
            events = {json.dumps(event, sort_keys=True): event for event in page.events}
            new = [event for text, event in events.items() if text not in known]
            yield from new
            count, total = count + len(new), total or page.total or 0
            if len(page.events) < limit:
                return
            if count >= MAX_EVENTS:
                raise CouldNotLook(
                    f"Marquez at {self.url} holds too many events to read.",
                    f"Expected at most {MAX_EVENTS:,} since {since:%Y-%m-%d %H:%M} UTC; found "
                    f"{max(total, count):,} or more.",
                    "Choose a window that begins later, or let the table's consumers write their events to a file.",
                )
            last = max(self._time_of(event) for event in page.events)
            # The whole page is of one moment: a longer one leads past it.
            after, limit = (last, self._page) if last > after else (after, limit * 2)
            known = frozenset(text for text, event in events.items() if self._time_of(event) >= after)

    def _time_of(self, event: JsonValue) -> datetime:
        """To the microsecond below, as Marquez keeps it."""
        try:
            return _Timed.model_validate(event).at
        except ValidationError as error:
            raise self._strange("an event without its time") from error

    def _asked(self, after: datetime, limit: int) -> _Page:
        """The first events at or after this time, oldest first. The end is stated, because Marquez's own default lies
        in 2030."""
        asked: dict[str, str | int] = {
            "after": after.astimezone(UTC).isoformat().replace("+00:00", "Z"),
            "before": "2100-01-01T00:00:00Z",
            "limit": limit,
            "sortDirection": "asc",
        }
        try:
            answer = read_again(lambda: self._http.get(_PATH, params=asked), attempts=2)
        except (httpx.HTTPError, httpx.InvalidURL, Busy) as error:
            raise CouldNotLook(
                f"Marquez at {self.url} did not answer.",
                f"Expected its lineage events; found {type(error).__name__}: {error}.",
                "Check `lineage.marquez` in the configuration and that Marquez runs, then look again.",
            ) from error
        if not answer.is_success:
            raise self._strange(f"HTTP {answer.status_code}: {answer.text.strip()[:200]}")
        try:
            return _Page.model_validate_json(answer.content)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "the body"
            raise self._strange(f"at {where}: {first['msg']}") from error

    def _strange(self, found: str) -> CouldNotLook:
        return CouldNotLook(
            f"Marquez at {self.url} gave an answer that cannot be read.",
            f"Expected a page of lineage events from GET {_PATH}; found {found}.",
            "Check that the address is Marquez's API (without /api/v1) and not its web page.",
        )
