"""What comes between approval and proof: another writer, a killed bot."""

import time
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from bot.lab.lab import Lab
from tests.lab_fixtures import FreshLab
from tests.walks.world import incident, kill

pytestmark = pytest.mark.slow
STORY = "restored-from-older-savepoint"


@pytest.mark.long
def test_an_approved_rewind_is_refused_when_another_writer_has_committed(fresh_lab: FreshLab, tmp_path: Path) -> None:
    """The refusal names the commit that was not foreseen, and nothing was stopped, moved or started."""
    lab = fresh_lab("v2")
    lab.tell(STORY)
    with incident(lab, tmp_path) as world, world.bot():
        ana = world.workspace.person("ana")
        world.walk(STORY, stop_at="approved")
        _backfill(lab)
        before = world.positions()

        ana.clicks("Execute")
        answer = ana.waits_for("has changed since this was proposed", timeout=30)

        assert "was committed by" in answer.plain
        assert "Nothing was changed" in answer.plain
        assert world.journal("execution-started") == []
        assert [e["how"] for e in world.journal("proposal-ended")] == ["superseded"]
        assert len(world.positions()) >= len(before)
        assert ana.waits_for("Superseded", timeout=15)


@pytest.mark.parametrize("boundary", [pytest.param("execution-started", marks=pytest.mark.long), "effect-ended"])
def test_a_bot_killed_while_executing_finishes_after_its_start(
    fresh_lab: FreshLab, tmp_path: Path, boundary: str
) -> None:
    """Kill -9 in the middle of a rewind on real Flink: the next start ends it, and nothing is done twice."""
    lab = fresh_lab("v2")
    lab.tell(STORY)
    with incident(lab, tmp_path) as world:
        with world.bot() as first:
            world.walk(STORY, stop_at="Execute")
            _until(lambda: bool(world.journal(boundary)))
            kill(first)
        with world.bot():
            world.workspace.person("ana").waits_for("Verified at head", timeout=120)

            assert len(world.journal("execution-started")) == 1
            assert [e["outcome"] for e in world.journal("execution-ended")] == ["applied"]
            positions = world.positions()
            assert positions == list(range(1, len(positions) + 1))


def _backfill(lab: Lab) -> None:
    """Somebody else appends three rows."""
    state = lab.state
    catalog = SqlCatalog(state.catalog_name, **state.catalog_properties)
    table = catalog.load_table("sales.orders")
    rows = table.scan(limit=3).to_arrow().cast(pa.schema(table.schema().as_arrow()))
    table.append(rows, snapshot_properties={"engine-name": "spark", "spark.app.id": "local-17"})
    catalog.close()


def _until(condition, limit_s: float = 60) -> None:  # type: ignore[no-untyped-def]
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)
