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
from bot.service.watching.signs import signs_in
from tests.tables import ORDERS, OrdersTable
from tests.watch.conftest import OverRecorded
from tests.watch.earlier import Page
from tests.watch.recorded import Recorded, moment
from tests.watch.watched import Told, Watched

pytestmark = pytest.mark.smoke

SECOND = timedelta(seconds=1)


def told_once(watched: Watched, code: str) -> Told:
    """The message of that code, which is there once however often the watch looks."""
    watched.looks(8, apart=SECOND)
    (told,) = (each for each in watched.told if each.code == code)
    assert told.buttons == ("Open incident", "Mute table for 4 hours")
    return told


def nothing_told(watched: Watched) -> bool:
    """Whether eight looks find nothing at all, told or still to be told."""
    watched.looks(8, apart=SECOND)
    return watched.seen == ()


def test_a_run_that_commits_nothing_is_told_with_what_flink_completed(over_recorded: OverRecorded) -> None:
    """The sink was never notified: sixty-nine checkpoints, the table has twenty-nine."""
    told = told_once(over_recorded(Recorded("notification-lost-v2")), "no-commit")

    assert "has committed nothing since 01:07:15 UTC" in told.text
    assert "Flink completed checkpoint 69" in told.text


def test_a_silence_within_three_times_the_promised_cadence_is_not_told(over_recorded: OverRecorded) -> None:
    """The same run before its sink missed a word: nine seconds after a commit, where one each five is due."""
    world = Recorded("notification-lost-v2")

    assert nothing_told(over_recorded(world.until(moment("01:07:16", world))))


def failing(times: int) -> Recorded:
    """The moment after a checkpoint of a real run had failed, which failed so many times in a row."""
    world = Recorded("checkpoints-failed-v2")

    def again(page: Page) -> None:
        for _ in range(1, times if page["history"][0]["status"] == "FAILED" else 1):
            more = deepcopy(page["history"][0])
            page["history"].insert(0, more | {"id": more["id"] + 1, "trigger_timestamp": more["trigger_timestamp"] + 1})
            page["counts"]["failed"] += 1

    return world.until(moment("19:35:57", world)).pages("/checkpoints", again)


def test_checkpoints_that_fail_one_after_the_other_are_told(over_recorded: OverRecorded) -> None:
    """F20 stands still after three, and names those that failed."""
    told = told_once(over_recorded(failing(3)), "F20")

    assert "fail one after the other, so nothing reaches the table" in told.text
    assert "None has completed since 5" in told.text


def test_a_checkpoint_that_fails_once_is_not_told(over_recorded: OverRecorded) -> None:
    """As it was recorded, and two in a row: the next one may complete."""
    assert nothing_told(over_recorded(failing(2)))
    assert nothing_told(over_recorded(Recorded("checkpoints-failed-v1")))


def folders_taken() -> Recorded:
    """Three checkpoints have failed in a row since a real run was restored under its old id.

    The page that was kept names the restore of its last failover, as each failover before named its own.
    """
    world = Recorded("checkpoint-folder-taken-v2")

    def restored(page: Page) -> None:
        page["latest"]["restored"]["restore_timestamp"] -= 1_500

    return world.pages("/checkpoints", restored).until(moment("18:53:03.5", world))


def test_checkpoints_whose_folders_are_taken_are_told(over_recorded: OverRecorded) -> None:
    """F25, with the restore and the numbers, and what to do."""
    watched = over_recorded(folders_taken())
    told = told_once(watched, "F25")

    assert all(each.sign.rows_are_right for each in watched.sightings.memory(watched.table).lasting)
    assert "4, 5 and 6" in told.text
    assert "from checkpoint 3" in told.text


def test_a_checkpoint_that_gave_way_to_a_savepoint_is_not_told(over_recorded: OverRecorded) -> None:
    """An orderly stop aborts the checkpoint in progress, and Flink counts that as failed."""
    world = Recorded("planned-restart-v2")

    assert world.runs[1].failed_count == 3
    assert nothing_told(over_recorded(world))


def compacted(at: str, keeps: timedelta) -> Recorded:
    """A real job whose table Spark compacted at 18:50:10.7, and which committed again at 18:50:11.4."""
    world = Recorded("compacted-by-spark-v2")

    def brief(told: Page) -> None:
        told["properties"]["history.expire.max-snapshot-age-ms"] = str(round(keeps.total_seconds() * 1000))

    return world.until(moment(at, world)).metadata(brief)


def test_a_last_snapshot_that_is_about_to_expire_is_told(over_recorded: OverRecorded) -> None:
    """The compaction took the head from it: with its number, when, and why a restart would need it."""
    world = compacted("18:50:10.9", timedelta(hours=1))

    told = told_once(over_recorded(world), "expiring")

    last = next(each for each in world.case.observation.table.chain if each.checkpoint_id == 7)
    assert f"{short(last.snapshot_id)}, may be expired in 60 min" in told.text
    assert "Without it a restart of the job takes its checkpoint for uncommitted" in told.text


@pytest.mark.parametrize(
    ("at", "keeps"), [("18:50:10.9", timedelta(days=5)), ("18:50:11.9", timedelta(hours=1))], ids=["long", "head"]
)
def test_a_last_snapshot_that_is_kept_is_not_told(over_recorded: OverRecorded, at: str, keeps: timedelta) -> None:
    """By a retention of days, or because it is the head again a second later."""
    assert nothing_told(over_recorded(compacted(at, keeps)))


def test_a_last_snapshot_that_is_gone_is_told(over_recorded: OverRecorded) -> None:
    """F8 as it was recorded: the run cannot restart any more."""
    watched = over_recorded(Recorded("last-commit-expired-v2"))
    told = told_once(watched, "F8")

    assert all(each.sign.rows_are_right for each in watched.sightings.memory(watched.table).lasting)
    assert "cannot restart: the last snapshot of run 5441e7 was expired" in told.text


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

    signs = signs_in(case, Diagnosis(results=(job, rows, more)), grace_period=timedelta(hours=1))

    assert [(each.code, each.rows_are_right) for each in signs.told[:2]] == [("F8", True), ("F1", False)]
    assert signs.told[0].also == ("F1: It is F1.", "F15: It is F15.")
    assert "F15" in signs.beside
    assert not {"F1", "F8"} & signs.beside


def test_wrong_rows_that_come_first_stand_for_the_rest() -> None:
    """One message, as before."""
    fork = _found("F13", Act.CONTAIN, Remedy.RESOLVE_FORK)
    job = _found("F8", Act.RECOVER, Remedy.RESTORE_JOB_ONLY)
    case = Recorded("last-commit-expired-v2").case

    signs = signs_in(case, Diagnosis(results=(fork, job)), grace_period=timedelta(hours=1))

    assert signs.told[0].code == "F13"
    assert "F8" in signs.beside


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
