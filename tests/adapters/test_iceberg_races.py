"""Of commits that race, none is lost and none is made over another."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from bot.adapters.iceberg import PyIcebergCatalog
from bot.domain.errors import CommitRefused, CouldNotLook
from bot.ports import TableChange
from tests.adapters.conftest import StandingClock
from tests.adapters.lake import ORDERS, Lake
from tests.adapters.rewinds import rewind


@pytest.fixture
def committers(lake: Lake, clock: StandingClock) -> Iterator[list[PyIcebergCatalog]]:
    """Six processes, as far as the catalog can tell: each with its own connection."""
    adapters = [PyIcebergCatalog("lake", lake.properties, clock) for _ in range(6)]
    yield adapters
    for adapter in adapters:
        adapter.close()


def test_of_racing_rewinds_exactly_one_wins(lake: Lake, committers: list[PyIcebergCatalog]) -> None:
    """Six committers with the same approved head at the same moment: one is applied, five are refused."""
    table = committers[0].load(ORDERS)
    at_once = Barrier(len(committers))

    def race(number: int) -> str | None:
        change = rewind(table, lake.heads[number % 2]).model_copy(
            update={"set_properties": {"winner": str(number)}, "new_tags": {f"incident-{number}": lake.heads[-1]}}
        )
        at_once.wait()
        try:
            return committers[number].commit(ORDERS, change).properties["winner"]
        except CommitRefused:
            return None

    with ThreadPoolExecutor(len(committers)) as pool:
        winners = [winner for winner in pool.map(race, range(len(committers))) if winner is not None]

    after = committers[0].load(ORDERS)
    assert winners == [after.properties["winner"]]
    assert [ref.name for ref in after.refs] == [f"incident-{winners[0]}", "main", "waterline"]


def test_between_load_and_commit_nothing_slips_in(lake: Lake, committers: list[PyIcebergCatalog]) -> None:
    """Racing property changes: each one that was accepted is there, each one that is not there was refused."""
    table = committers[0].load(ORDERS)
    at_once = Barrier(len(committers))

    def race(number: int) -> tuple[str, bool]:
        key = f"key-{number}"
        change = TableChange(expected_uuid=table.uuid, expected_head=table.head, set_properties={key: "1"})
        at_once.wait()
        try:
            committers[number].commit(ORDERS, change)
        except (CommitRefused, CouldNotLook):
            return key, False
        return key, True

    with ThreadPoolExecutor(len(committers)) as pool:
        outcomes = dict(pool.map(race, range(len(committers))))

    present = committers[0].load(ORDERS).properties
    assert outcomes == {key: key in present for key in outcomes}
    assert any(outcomes.values())


def test_a_catalog_that_stays_locked_changes_nothing_and_may_be_asked_again(lake: Lake, clock: StandingClock) -> None:
    """SQLite's busy answer comes before anything is written, so nothing is unknown; a lock is let go again."""
    patient = {**lake.properties, "uri": f"{lake.properties['uri']}?timeout=0.1"}
    catalog = PyIcebergCatalog("lake", patient, clock)
    change = rewind(catalog.load(ORDERS), lake.heads[0])
    other = sqlite3.connect(lake.file)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(CouldNotLook, match="database was busy"):
        catalog.commit(ORDERS, change)

    other.close()
    assert catalog.load(ORDERS).head == lake.heads[-1]
    assert catalog.commit(ORDERS, change).head == lake.heads[0]
    catalog.close()
