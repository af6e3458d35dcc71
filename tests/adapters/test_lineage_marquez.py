"""Who read which snapshot, asked of Marquez over real HTTP.

No Marquez runs here: no registry has it. The server below behaves as a real one did (0.51.2-SNAPSHOT, built from its
source, on PostgreSQL 15): bounds, paging, no order among events of one moment, `totalCount`, the default end in 2030,
nulls for what is left out, and whole numbers for rounded ones. `tests/data/lineage/marquez.json` is a page of it.
"""

import json
import random
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.adapters import lineage
from bot.adapters.lineage import Marquez
from bot.observation.errors import CouldNotLook
from bot.observation.looked import unread_in
from tests.adapters.conftest import NOON
from tests.adapters.serving import served, unused_address
from tests.adapters.test_lineage import AGES_AGO, ANOTHER, BY_NAME, TABLE, event, scanned
from tests.adapters.test_lineage_of_spark import EVENTS, FIRST, ORDERS

MARQUEZ = EVENTS.with_name("marquez.json")


class LittleMarquez:
    """Keeps events and answers as Marquez does: `after` inclusive, `before` exclusive."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.asked: list[dict[str, str]] = []
        self.answers: list[Response] = []
        self.may_answer = threading.Event()
        """Cleared: whoever asks waits."""
        self.may_answer.set()
        self.url = ""

    def is_sent(self, *lines: str) -> None:
        """Events that producers send."""
        self.events += [json.loads(line) for line in lines]

    def answer(self, request: Request) -> Response:
        """One page."""
        asked = dict(request.query_params)
        self.asked.append(asked)
        self.may_answer.wait(60)
        if self.answers:
            return self.answers.pop(0)
        after, before = (datetime.fromisoformat(asked.get(end, "2030-01-01T00:00:00Z")) for end in ("after", "before"))
        inside = [e for e in self.events if after <= datetime.fromisoformat(e["eventTime"]) < before]
        inside = random.sample(inside, len(inside))
        inside.sort(key=lambda e: str(e["eventTime"]), reverse=asked.get("sortDirection", "desc") == "desc")
        offset, limit = int(asked.get("offset", "0")), int(asked.get("limit", "100"))
        return JSONResponse({"events": inside[offset : offset + limit], "totalCount": len(inside)})


@pytest.fixture(scope="module")
def server() -> Iterator[LittleMarquez]:
    """One server for the file."""
    little = LittleMarquez()
    with served(Starlette(routes=[Route("/api/v1/events/lineage", little.answer)])) as url:
        little.url = url
        yield little


@pytest.fixture
def little(server: LittleMarquez) -> LittleMarquez:
    """It remembers nothing yet."""
    for kept in (server.events, server.asked, server.answers):
        kept.clear()
    server.may_answer.set()
    return server


@pytest.fixture
def marquez(little: LittleMarquez) -> Iterator[Marquez]:
    """Our side, in pages of two."""
    adapter = Marquez(little.url + "/", "lake", limit_s=60, page=2)
    yield adapter
    adapter.close()


def told(marquez: Marquez, since: datetime = AGES_AGO) -> list[tuple[str, int | None]]:
    """Run and snapshot of each read."""
    return [(read.run_id, read.snapshot_id) for read in marquez.reads(TABLE, since)]


def test_reads_are_found_on_every_page(little: LittleMarquez, marquez: Marquez) -> None:
    """Five events in pages of two; another table's is not told; the oldest comes first."""
    little.is_sent(*(event(scanned(BY_NAME, n), run=f"r{n}", minute=n) for n in (3, 1, 2, 4)))
    little.is_sent(event(scanned(ANOTHER, 9), run="x", minute=5))

    assert told(marquez) == [("r1", 1), ("r2", 2), ("r3", 3), ("r4", 4)]
    assert len(little.asked) == 5


def test_events_of_one_moment_are_found_on_whichever_page(little: LittleMarquez, marquez: Marquez) -> None:
    """Marquez has no order among them, so a page that begins behind so many others would leave some out."""
    little.is_sent(*(event(scanned(BY_NAME, n), run=f"r{n}", minute=n // 9) for n in range(20)))

    assert sorted(snapshot or 0 for _, snapshot in told(marquez)) == list(range(20))


def test_a_page_of_a_real_one_is_read(little: LittleMarquez, marquez: Marquez) -> None:
    """The scan became a whole number that is no snapshot's; the event of another job has nulls for its datasets."""
    little.answers.append(Response(MARQUEZ.read_bytes(), media_type="application/json"))
    adapter = Marquez(little.url, "lake")

    found = adapter.reads(ORDERS, AGES_AGO)
    adapter.close()

    assert [(read.consumer, read.snapshot_id) for read in found] == [("revenue_daily", FIRST)]


def test_only_the_time_that_matters_is_asked_for(little: LittleMarquez, marquez: Marquez) -> None:
    """The bound goes to the server, so that an old Marquez costs no more; it is exclusive for us."""
    little.is_sent(*(event(scanned(BY_NAME, n), run=f"r{n}", minute=n) for n in (1, 2, 3)))

    found = told(marquez, since=NOON + timedelta(minutes=2))

    assert found == [("r3", 3)]
    assert little.asked[0]["after"] == "2026-11-03T12:02:00Z"
    assert all(asked["after"] >= "2026-11-03T12:02:00Z" for asked in little.asked)


def test_reads_after_2030_are_found(little: LittleMarquez, marquez: Marquez) -> None:
    """Without an end of ours Marquez would end in 2030."""
    little.is_sent(event(scanned(BY_NAME, 7)).replace(NOON.isoformat(), "2031-01-01T00:00:00+00:00"))

    assert told(marquez, since=datetime(2030, 12, 31, tzinfo=UTC)) == [("r1", 7)]


def test_no_events_is_nobody(marquez: Marquez) -> None:
    """Marquez answered: there are none."""
    assert told(marquez) == []


def test_a_strange_event_does_not_hide_a_read_but_is_not_nobody(little: LittleMarquez, marquez: Marquez) -> None:
    """The same rule as for a file."""
    little.is_sent('{"eventTime": "2026-11-03T12:00:00+00:00", "run": {}}')

    with pytest.raises(CouldNotLook, match="1 of 1 are not"):
        told(marquez)
    little.is_sent(event(scanned(BY_NAME, 7)))
    assert told(marquez) == [("r1", 7)]


def test_a_moment_of_overload_is_passed_over(little: LittleMarquez, marquez: Marquez) -> None:
    """503 once is not a failure."""
    little.answers.append(Response("busy", 503))

    assert told(marquez) == []


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (Response("<html>Marquez</html>"), r"at the body"),
        (JSONResponse({"lineage": []}), "at events"),
        (Response("no such page", 404), "HTTP 404: no such page"),
        (Response("", 500), "HTTP 500"),
    ],
)
def test_what_is_not_marquez_could_not_be_looked_at(
    little: LittleMarquez, marquez: Marquez, answer: Response, found: str
) -> None:
    """A web page, another service, an error: never an empty list."""
    little.answers.append(answer)

    with pytest.raises(CouldNotLook, match=found):
        told(marquez)


def test_too_many_events_are_not_half_read(
    little: LittleMarquez, marquez: Marquez, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look has its bound; at the bound it is given up, with the count, instead of telling a part."""
    monkeypatch.setattr(lineage, "MAX_EVENTS", 4)
    little.is_sent(*(event(scanned(BY_NAME, n), run=f"r{n}", minute=n) for n in range(6)))

    with pytest.raises(CouldNotLook, match="found 6 or more"):
        told(marquez)


def test_a_marquez_that_does_not_answer_is_named(little: LittleMarquez) -> None:
    """Too slow, and not there at all."""
    hasty, gone = Marquez(little.url, "lake", limit_s=0.2), Marquez(unused_address(), "lake")
    little.may_answer.clear()

    with pytest.raises(CouldNotLook, match=f"{little.url} did not answer"):
        told(hasty)
    little.may_answer.set()
    with pytest.raises(CouldNotLook, match="did not answer"):
        gone.reads(TABLE, AGES_AGO)
    hasty.close()
    gone.close()


def test_a_read_under_a_name_that_is_not_known_is_not_nobody(little: LittleMarquez, marquez: Marquez) -> None:
    """As in a file; with the name in the settings it is a read."""
    little.is_sent(event({"namespace": "trino://trino:8443", "name": "iceberg.sales.orders"}, run="r1"))
    knowing = Marquez(little.url, "lake", ["iceberg"])

    found = told(knowing)
    knowing.close()

    assert found == [("r1", None)]
    with pytest.raises(CouldNotLook, match=r"`lineage\.catalog_names`"):
        marquez.reads(TABLE, AGES_AGO)
    little.is_sent(event(scanned(BY_NAME, 7), run="r2"))
    assert "1 run read iceberg.sales.orders" in (unread_in(marquez.reads(TABLE, AGES_AGO)) or "")
