"""What the watch sees by itself: conditions, outages, rows beside jobs, and new runs."""

from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.iceberg import PyIcebergCatalog
from bot.incident.diagnosis import Act, Diagnosis, Matches, Mode, ModeResult, Remedy
from bot.observation.errors import UnknownTable
from bot.observation.ids import TableName, short
from bot.service.watching.findings import findings_in
from tests.tables import ORDERS, OrdersTable
from tests.watch.conftest import OverRecorded
from tests.watch.earlier import Page
from tests.watch.recorded import Recorded, moment

pytestmark = pytest.mark.smoke

SECOND = timedelta(seconds=1)


def failing(times: int) -> Recorded:
    """The moment after a checkpoint of a real run had failed, which failed so many times in a row."""
    world = Recorded("checkpoints-failed-v2")

    def again(page: Page) -> None:
        for _ in range(1, times if page["history"][0]["status"] == "FAILED" else 1):
            more = deepcopy(page["history"][0])
            page["history"].insert(0, more | {"id": more["id"] + 1, "trigger_timestamp": more["trigger_timestamp"] + 1})
            page["counts"]["failed"] += 1

    return world.until(moment("19:35:57", world)).pages("/checkpoints", again)


def folders_taken() -> Recorded:
    """Three checkpoints have failed in a row since a real run was restored under its old id.

    The page that was kept names the restore of its last failover, as each failover before named its own.
    """
    world = Recorded("checkpoint-folder-taken-v2")

    def restored(page: Page) -> None:
        page["latest"]["restored"]["restore_timestamp"] -= 1_500

    return world.pages("/checkpoints", restored).until(moment("18:53:03.5", world))


def compacted(at: str, keeps: timedelta) -> Recorded:
    """A real job whose table Spark compacted at 18:50:10.7, and which committed again at 18:50:11.4."""
    world = Recorded("compacted-by-spark-v2")

    def brief(told: Page) -> None:
        told["properties"]["history.expire.max-snapshot-age-ms"] = str(round(keeps.total_seconds() * 1000))

    return world.until(moment(at, world)).metadata(brief)


def early(name: str, at: str) -> Recorded:
    """As it was before that moment of its day."""
    world = Recorded(name)
    return world.until(moment(at, world))


OF_7 = compacted("18:50:10.9", timedelta(hours=1)).case.observation.table
LAST = next(short(each.snapshot_id) for each in OF_7.chain if each.checkpoint_id == 7)


@pytest.mark.parametrize(
    ("world", "code", "texts"),
    [
        pytest.param(
            Recorded("notification-lost-v2"), "no-commit",
            ("has committed nothing since 01:07:15 UTC", "Flink completed checkpoint 69"),
            id="the sink was never notified: the table has 29 of 69 checkpoints",
        ),
        pytest.param(
            failing(3), "F20",
            ("fail one after the other, so nothing reaches the table", "None has completed since 5"),
            id="checkpoints fail one after the other: none completes after three",
        ),
        pytest.param(folders_taken(), "F25", ("4, 5 and 6", "from checkpoint 3"), id="their folders are taken"),
        pytest.param(
            compacted("18:50:10.9", timedelta(hours=1)), "expiring",
            (
                f"{LAST}, may be expired in 60 min",
                "Without it a restart of the job takes its checkpoint for uncommitted",
            ),
            id="the last snapshot is about to expire: the compaction took the head from it",
        ),
        pytest.param(
            Recorded("last-commit-expired-v2"), "F8",
            ("cannot restart: the last snapshot of run 5441e7 was expired",), id="the last snapshot is gone",
        ),
    ],
)  # fmt: skip
def test_what_lasts_is_told_once(
    over_recorded: OverRecorded, world: Recorded, code: str, texts: tuple[str, ...]
) -> None:
    """However often the watch looks, with its buttons; the rows are right where the job alone is to be mended."""
    watched = over_recorded(world)

    watched.looks(8, apart=SECOND)

    (told,) = (each for each in watched.told if each.code == code)
    assert told.buttons == ("Open incident", "Mute table for 4 hours")
    assert [text for text in texts if text not in told.text] == []
    if code in {"F8", "F25"}:
        assert all(each.finding.rows_are_right for each in watched.finding_store.memory(watched.table).lasting)


@pytest.mark.parametrize(
    "world",
    [
        pytest.param(early("notification-lost-v2", "01:07:16"), id="silent within three times the promised cadence"),
        pytest.param(failing(2), id="two checkpoints fail in a row: the next one may complete"),
        pytest.param(Recorded("checkpoints-failed-v1"), id="one checkpoint failed, as it was recorded"),
        pytest.param(Recorded("planned-restart-v2"), id="a checkpoint gave way to the savepoint of an orderly stop"),
        pytest.param(compacted("18:50:10.9", timedelta(days=5)), id="the last snapshot is kept for days"),
        pytest.param(compacted("18:50:11.9", timedelta(hours=1)), id="it is the head again a second later"),
    ],
)
def test_what_may_pass_is_not_told(over_recorded: OverRecorded, world: Recorded) -> None:
    """Eight looks find nothing at all, told or still to be told."""
    watched = over_recorded(world)

    watched.looks(8, apart=SECOND)

    assert watched.seen == ()


def _found(code: str, act: Act, remedy: Remedy) -> ModeResult:
    mode = Mode(code=code, name=code, title=code, needs=(), false_positives=(), act=act)
    match = Matches(headline=f"It is {code}.", reasons=(), remedy=remedy)
    return ModeResult(mode=mode, examined=match)


def test_wrong_rows_beside_a_job_that_cannot_restart_are_told_by_themselves() -> None:
    """The job is acted on first; the third stands for nothing of its own."""
    job = _found("F8", Act.RECOVER, Remedy.RESTORE_JOB_ONLY)
    rows = _found("F1", Act.REPAIR, Remedy.DROP_DUPLICATED_COMMIT)
    more = _found("F15", Act.REPAIR, Remedy.DEDUPLICATE_ROWS)
    case = Recorded("last-commit-expired-v2").case

    findings = findings_in(case, Diagnosis(results=(job, rows, more)), grace_period=timedelta(hours=1))

    assert [(each.code, each.rows_are_right) for each in findings.told[:2]] == [("F8", True), ("F1", False)]
    assert findings.told[0].also == ("F1: It is F1.", "F15: It is F15.")
    assert "F15" in findings.beside
    assert not {"F1", "F8"} & findings.beside


def test_wrong_rows_that_come_first_stand_for_the_rest() -> None:
    """One message, as before."""
    fork = _found("F13", Act.CONTAIN, Remedy.RESOLVE_FORK)
    job = _found("F8", Act.RECOVER, Remedy.RESTORE_JOB_ONLY)
    case = Recorded("last-commit-expired-v2").case

    findings = findings_in(case, Diagnosis(results=(fork, job)), grace_period=timedelta(hours=1))

    assert findings.told[0].code == "F13"
    assert "F8" in findings.beside


def catalog_of(folder: Path) -> PyIcebergCatalog:
    """The catalog in this folder."""
    properties = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/lake"}
    return PyIcebergCatalog("lake", properties, SystemClock())


def test_the_pointer_is_told_without_opening_a_file(tmp_path: Path) -> None:
    """It moves with each commit, and is told even of a metadata file that nobody can open."""
    orders, catalog = OrdersTable(tmp_path), catalog_of(tmp_path)
    before = catalog.pointer(ORDERS)
    orders.commits("a", 1, range(10))
    state = orders.state()
    metadata = Path(state.metadata_location.removeprefix("file://"))
    metadata.rename(metadata.with_suffix(f".{datetime.now(UTC):%f}"))

    after = catalog.pointer(ORDERS)

    assert after == state.metadata_location
    assert before != after
    orders.close()
    catalog.close()


def test_a_table_that_is_not_there_is_unknown(tmp_path: Path) -> None:
    """As with any look at it."""
    orders, catalog = OrdersTable(tmp_path), catalog_of(tmp_path)

    with pytest.raises(UnknownTable):
        catalog.pointer(TableName("sales.refunds"))

    orders.close()
    catalog.close()
