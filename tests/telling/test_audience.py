"""Who is told: declared, named by the contract, or only seen reading, near and far."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from bot.adapters.contracts import announced_to, once_each
from bot.adapters.lineage import OpenLineageFile
from bot.domain.entries import WaterlineMoved
from bot.domain.looked import Seen
from bot.domain.reads import Consumer, FarRead, ReadRun, Untold
from bot.notices.affecting import affected_commits
from bot.notices.reading import ReadThrough
from bot.notices.readings import observed_readers, reading_of
from tests import orders_table as orders
from tests.telling.conftest import Scene


def _event(run: str, job: str, *, reads: str, writes: str | None, minute: int, snapshot: int | None = None) -> str:
    facets = {"icebergScanReport": {"snapshotId": snapshot}} if snapshot else {}
    return json.dumps(
        {
            "eventType": "COMPLETE", "eventTime": (orders.NINE + timedelta(minutes=minute)).isoformat(),
            "run": {"runId": run}, "job": {"namespace": "spark", "name": job},
            "inputs": [{"namespace": "lake", "name": reads, "inputFacets": facets}],
            "outputs": [{"namespace": "lake", "name": writes}] if writes else [],
        }
    )  # fmt: skip


def _lineage(folder: Path, *events: str) -> OpenLineageFile:
    (folder / "events.jsonl").write_text("\n".join(events) + "\n", encoding="utf-8")
    return OpenLineageFile(folder / "events.jsonl", "lake")


def test_readers_of_readers_are_found_with_their_distance(tmp_path: Path) -> None:
    """Over two datasets; what ran before its input was written is not among them, and a circle ends."""
    lineage = _lineage(
        tmp_path,
        _event("r1", "revenue_daily", reads=orders.TABLE, writes="marts.revenue", minute=1, snapshot=orders.HEAD),
        _event("r2", "kpi_hourly", reads="marts.revenue", writes="marts.kpi", minute=2),
        _event("r3", "board_report", reads="marts.kpi", writes="marts.revenue", minute=3),
        _event("r4", "too_early", reads="marts.revenue", writes=None, minute=0),
        _event("r5", "elsewhere", reads="marts.other", writes=None, minute=4),
    )

    far = lineage.downstream(orders.table_state(), orders.NINE - timedelta(days=1))

    assert [(f.consumer, f.distance, f.origin, f.snapshot_id) for f in far] == [
        ("kpi_hourly", 2, "r1", orders.HEAD),
        ("board_report", 3, "r1", orders.HEAD),
    ]
    assert far[1].path == ("revenue_daily", "marts.revenue", "kpi_hourly", "marts.kpi")


def test_who_read_through_others_is_told_so_and_strangers_are_named(scene: Scene) -> None:
    """Not 'you did not read it'; and who is seen without being declared is kept apart."""
    doubted = scene.story.says(WaterlineMoved(snapshot=orders.GOOD, status="under-review"))
    affected = affected_commits(doubted.incident, orders.table_state())
    reads = Seen[ReadRun](
        source="lineage",
        values=(ReadRun(consumer="notebook", run_id="r1", at=orders.NINE, snapshot_id=orders.HEAD),),
    )
    through = FarRead(
        consumer="kpi_hourly", run_id="r2", at=orders.NINE, origin="r1", snapshot_id=orders.HEAD, path=("notebook", "t")
    )
    far = Seen[FarRead](source="lineage", values=(through,))

    reading = reading_of(Consumer(name="kpi_hourly", channel="C0KPI0001"), affected, reads, far)
    seen = observed_readers(["kpi_hourly"], affected, reads, far)

    assert isinstance(reading, ReadThrough)
    assert [run.run_id for run in reading.runs] == ["r2"]
    assert [(each.consumer, each.distance, each.is_declared) for each in seen] == [
        ("notebook", 1, False),
        ("kpi_hourly", 2, True),
    ]


def test_a_contracts_announcement_channels_are_told(tmp_path: Path) -> None:
    """Slack and mail are told, other tools are named, and where people only ask nobody is told."""
    file = tmp_path / "orders.odcs.yaml"
    file.write_text(
        "apiVersion: v3.1.0\nkind: DataContract\nid: orders\nversion: 1.0.0\nstatus: active\n"
        "support:\n"
        "  - {channel: '#orders-news', tool: slack, scope: announcements, url: 'https://acme.slack.com/archives/C0NEWS0001'}\n"
        "  - {channel: orders-list, url: 'mailto:orders@acme.example'}\n"
        "  - {channel: Orders, tool: teams, scope: announcements, url: 'https://teams.example/x'}\n"
        "  - {channel: '#orders-help', tool: slack, scope: interactive, url: 'https://acme.slack.com/archives/C0HELP0001'}\n",
        encoding="utf-8",
    )

    told, others = announced_to(file, has_mail=True)

    assert [(each.name, each.channel, each.email, each.kind) for each in told] == [
        ("#orders-news", "C0NEWS0001", (), "channel"),
        ("orders-list", None, ("orders@acme.example",), "channel"),
    ]
    assert others == (Untold(name="Orders", why="Waterline has no way to teams"),)


def test_a_place_that_is_declared_already_is_not_told_twice() -> None:
    """The settings may name the channel that the contract names, too."""
    declared = Consumer(name="revenue_daily", channel="C0NEWS0001")
    named = Consumer(name="#orders-news", kind="channel", channel="C0NEWS0001")

    assert once_each((declared, named, declared)) == (declared,)


@pytest.mark.parametrize("bad", [{}, {"email": ["nobody"]}, {"webhook": "ftp://x"}, {"channel": "C1", "name": "a/b"}])
def test_a_consumer_without_a_way_is_refused(bad: dict[str, object]) -> None:
    """Nobody is declared whom no notice could reach."""
    with pytest.raises(ValidationError):
        Consumer.model_validate({"name": "revenue_daily", **bad})
