"""`healthy` says no more than was looked at, and only while that still holds."""

from datetime import timedelta

import pytest

import bot.diagnosis
from bot.diagnosis import healthy, no_snapshot_advanced, two_jobs_write_the_table
from bot.diagnosis._support.arrivals import read_past_main, unaccounted
from bot.diagnosis._support.case import living
from bot.diagnosis._support.examine import diagnose, scan
from bot.history.case import Case
from bot.incident.diagnosis import CannotTell, Excluded, Matches
from bot.observation.findings import GapsFinding, RepeatedCommit, ReplayedRowsFinding
from bot.observation.flink import CheckpointSettings, SourcePosition
from bot.observation.ids import CheckpointId, SnapshotId
from bot.observation.ledger import BesideMain
from tests.cases import NOON, OPERATOR, Tale, job_id, placed
from tests.diagnosis.little_evidence import case_of, look
from tests.diagnosis.little_silences import commits_nothing
from tests.diagnosis.little_world import World
from tests.evidence.restore_points import stored
from tests.found import orphans, repeats, ruled_out

TASKS = healthy.MODE.needs
MODES = scan(bot.diagnosis)


def untouched() -> Tale:
    return Tale().flink_runs("a").commits("a", 1, 2, 3)


def pinned(case: Case, head: SnapshotId, since: SnapshotId | None = None) -> Case:
    """All evidence was collected when the table stood at this head."""
    evidence = tuple(ruled_out(case, task, head, since) for task in TASKS)
    return case.model_copy(update={"evidence": evidence})


def repeated(how: str, tale: Tale) -> RepeatedCommit:
    return RepeatedCommit.model_validate(
        {
            "first": tale.at("a", 1),
            "again": tale.at("a", 3),
            "how": how,
            "job_id": job_id("a"),
            "checkpoint_id": CheckpointId(3),
            "rows": 10,
        }
    )


def test_newer_commits_of_the_job_are_named_and_not_vouched_for() -> None:
    """The trusted snapshot is the newest that evidence covers, although the job goes on."""
    tale = untouched()
    found = healthy.examine(pinned(tale.looked_at(), tale.at("a", 2)))

    assert tale.at("a", 2) == found.last_good
    assert found.reasons[-1].startswith("Commits by the job came after the evidence (1)")


@pytest.mark.parametrize("happens", ["foreign", "rolled back"])
def test_evidence_of_a_table_that_has_changed_since_is_asked_for_again(happens: str) -> None:
    """Another writer's commit, or a rollback below what was looked at, was not part of the answer."""
    tale = untouched()
    looked_at = tale.at("a", 3)
    if happens == "foreign":
        tale.commits(None, operation="replace")
    else:
        tale.rolls_back_to("a", 2).becomes("a", "FINISHED").flink_runs("b", restored=2)

    found = healthy.examine(pinned(tale.looked_at(), looked_at))

    assert isinstance(found, CannotTell)
    assert found.asks


def test_evidence_for_a_shorter_window_is_asked_for_again() -> None:
    """What lay below it was not looked at."""
    tale = untouched()

    found = healthy.examine(pinned(tale.looked_at(), tale.at("a", 3), since=tale.at("a", 1)))

    assert isinstance(found, CannotTell)
    assert "duplicate_rows" in found.asks


@pytest.mark.parametrize(("replayed", "expected"), [(None, CannotTell), (5, CannotTell), (0, Matches)])
def test_a_source_range_that_came_twice_is_explained_first(replayed: int | None, expected: type) -> None:
    """No key lives twice, but the copies may have other keys."""
    tale = untouched()
    again = None
    if replayed is not None:
        again = ReplayedRowsFinding(rows_checked=30, replayed=replayed, changed=0, first=None, last=None, pairs=())

    case = tale.looked_at(duplicate_commits=repeats(repeated("same-source-range", tale)), replayed=again)
    assert isinstance(healthy.examine(case), expected)


def test_a_rolled_back_commit_that_was_put_back_is_no_fault() -> None:
    """The chain jumps, and evidence found every row: nothing is to be done."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 6)).rolls_back_to("a", 3).commits("a", 6)

    assert ("healthy",) == diagnose(tale.looked_at(), MODES).codes


@pytest.mark.parametrize("expired", [0, 2])
def test_how_far_back_the_table_is_known_to_be_complete_is_said(expired: int) -> None:
    """Nobody reads what lies below the oldest listed commit: its commits have expired."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 6)).completes("a", 5)
    tale.snapshots, tale.moves = tale.snapshots[expired:], tale.moves[expired:]

    found = healthy.examine(tale.looked_at())

    assert ("the table is complete from …003003 up to …005005" in found.headline) == bool(expired)
    assert ("the table is complete up to …005005" in found.headline) == (not expired)


def test_rows_of_other_branches_are_not_vouched_for() -> None:
    """The table is complete as main has it: who reads an audit branch is not told that its rows are right."""
    case = untouched().looked_at()
    audit = BesideMain(
        branch="audit", snapshot_id=SnapshotId(77), commits=2, added_rows=30, removed_rows=0, job_ids=(),
        engines=("spark",), last_at=case.observation.table.read_at,
    )  # fmt: skip
    ledger = case.ledger.model_copy(update={"branches": (audit,)})

    alone, beside = (healthy.examine(each) for each in (case, case.model_copy(update={"ledger": ledger})))

    assert set(beside.reasons) - set(alone.reasons) == {
        "This is said of main: rows of 2 commits on branch audit were not looked at."
    }


WHOLE = GapsFinding(lowest=0, highest=29, positions=30, missing=0, gaps=())


def _said(case: Case) -> str:
    found = healthy.examine(case)
    return found.missing[0] if isinstance(found, CannotTell) else found.verdict


def submitted_twice() -> Tale:
    """Run a has committed 1 and 2; b is started from 2 beside it, commits 3, and is cancelled."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).flink_runs("b")
    return tale.came_from("b", 2, f"s3://state/{job_id('a')}/chk-2").commits("b", 3).becomes("b", "CANCELED")


def test_rows_of_a_second_run_that_was_cancelled_may_come_again() -> None:
    """The first one has them still before it."""
    assert _said(submitted_twice().looked_at(gaps=WHOLE)) != "matches"


def rewound_and_picked() -> Tale:
    """Main goes back to 1, run b is started from there, and somebody picks the lost commit again."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    lost = tale.at("a", 2)
    tale.becomes("a", "CANCELED").rolls_back_to("a", 1).flink_runs("b")
    tale.came_from("b", 1, f"s3://state/{job_id('a')}/chk-1")
    return tale.commits(None).counts(source_snapshot_id=lost)


def test_lost_rows_that_were_picked_may_come_again() -> None:
    """The run that was restored from below reads them anew."""
    assert _said(rewound_and_picked().looked_at(gaps=WHOLE)) != "matches"


def test_two_unlisted_turns_are_no_meant_writer_before_evidence_has_seen_the_last() -> None:
    """No key lived twice when it was looked: what came since may be copies."""
    tale = submitted_twice().forgets("b")
    before = tale.looked_at(gaps=WHOLE)
    assert tale.head is not None
    old = ruled_out(before, "duplicate_rows", tale.head)
    tale.commits("a", 3)
    assert isinstance(two_jobs_write_the_table.examine(tale.looked_at(gaps=WHOLE, evidence=(old,))), CannotTell)
    assert isinstance(two_jobs_write_the_table.examine(tale.looked_at(gaps=WHOLE)), Excluded)


ROWS = 10


def failed_over() -> Tale:
    """Run a fails after checkpoint 2, goes on from it, and commits 3 and 4."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    return tale.came_from("a", 2, f"s3://state/{job_id('a')}/chk-2").commits("a", 3, 4)


def _looked(tale: Tale, *, ledger_until: int, until: int = 4, highest: int) -> Case:
    """Positions were looked for up to run a's checkpoint `until`, the head; the ledger covers up to the other one."""
    case = tale.looked_at(gaps=GapsFinding(lowest=0, highest=highest, positions=highest + 1, missing=0, gaps=()))
    edge = case.observation.table.place_of(tale.at("a", ledger_until))
    listed = [row for row in case.ledger.rows if case.observation.table.place_of(row.snapshot_id) <= edge]
    rows = tuple(
        row.model_copy(update={"position_from": index * ROWS, "position_until": index * ROWS + ROWS - 1})
        for index, row in enumerate(sorted(listed, key=lambda row: row.committed_at))
    )
    asked = tuple(
        ruled_out(case, task, tale.at("a", ledger_until) if task == "ledger" else tale.at("a", until))
        for task in ("ledger", "missing_positions")
    )
    return case.model_copy(
        update={"ledger": case.ledger.model_copy(update={"rows": rows}), "evidence": (*case.evidence, *asked)}
    )


def test_the_ledger_is_asked_for_once_more_where_the_run_may_have_brought_the_highest_position() -> None:
    """It has come to 29 in the ledger and main to 39: that is its own commit 4, or rows that it is to bring again."""
    found = healthy.examine(_looked(failed_over(), ledger_until=3, highest=39))

    assert isinstance(found, CannotTell)
    assert found.asks == ("ledger",)


def test_a_ledger_that_covers_as_much_settles_it() -> None:
    """Both ways."""
    assert isinstance(healthy.examine(_looked(failed_over(), ledger_until=4, highest=39)), Matches)

    behind = healthy.examine(_looked(failed_over(), ledger_until=4, highest=49))

    assert "has come to 39, and main has rows up to 49" in behind.missing[0]


def test_it_shows_nothing_of_rows_that_main_lost_above_all_that_live() -> None:
    """Found by the histories of `test_never_healthy`: no file tells any more what the commit had brought."""
    world = World(keeps_keys=False)
    world.reads(2)
    world.reads(1)
    world.rolls_back_to(world.chain()[0].snapshot_id)
    commits_nothing(world)
    case = case_of(world, look(world))
    case = case.model_copy(update={"gaps": case.gaps.model_copy(update={"to_come": 0})})

    found = healthy.examine(case)

    assert {2} == world.taken_off()
    assert not isinstance(found, Matches)


def idle_then_redeployed(*, goes_on_from: int, reads: int) -> World:
    """A failover leaves a file, rows come, then hours without any; the next run has read on since."""
    world = World()
    world.reads(2)
    world.fails_over()
    world.reads(2)
    for _ in range(6):
        world.reads(0)
    commits_nothing(world)
    world.restarts(world.points[goes_on_from])
    for _ in range(reads):
        world.reads(2)
    return world


@pytest.mark.parametrize(
    ("partition", "from_newest", "reads", "vouches"),
    [
        (None, True, 5, True),
        (None, True, 4, True),
        (None, True, 0, False),
        (None, False, 5, False),
        ("source_partition", True, 5, True),
        ("source_partition", True, 4, False),
        ("source_partition", True, 0, False),
        ("source_partition", False, 5, False),
    ],
)
def test_rows_of_the_run_that_went_on_vouch_for_what_it_was_restored_from(
    partition: str | None, reads: int, *, from_newest: bool, vouches: bool
) -> None:
    """They lie above what the idle checkpoints could have lost; from below these they would only come again. Of a
    source in partitions several commits have to, for one may be silent over some."""
    world = idle_then_redeployed(goes_on_from=-1 if from_newest else 2, reads=reads)
    looked = look(world)
    looked.found["orphans"] = orphans(1)
    case = case_of(world, looked)
    contract = case.contract.model_copy(update={"position_partition": partition})

    found = unaccounted(case.model_copy(update={"contract": contract}), case.observation.table.head)

    assert found is None if vouches else isinstance(found, CannotTell)


def idle_at_night(*, then: int = 0) -> World:
    """A failover leaves a file, rows come for a while, then only checkpoints without any."""
    world = World()
    world.reads(2)
    world.fails_over()
    world.reads(2)
    world.tale.now += timedelta(minutes=30)
    world.reads(2)
    stays_idle(world)
    for _ in range(then):
        stays_idle(world)
    return world


def stays_idle(world: World) -> None:
    """Checkpoints without rows, up to the commit that the sink makes all the same."""
    for _ in range(3):
        world.reads(0)
    commits_nothing(world)


@pytest.mark.parametrize("then", [0, 5], ids=["evening", "night"])
@pytest.mark.parametrize("dead", [False, True], ids=["alive", "dead"])
@pytest.mark.parametrize(
    ("written_at", "expected"),
    [
        (timedelta(0), Matches),
        (timedelta(minutes=28), CannotTell),
        (timedelta(minutes=31), CannotTell),
        (None, CannotTell),
    ],
    ids=["by the failover", "too close for two clocks", "since the last rows", "not told"],
)
def test_a_file_from_before_the_last_rows_holds_none_of_later_checkpoints(
    written_at: timedelta | None, expected: type, then: int, *, dead: bool
) -> None:
    """Each failover leaves one, and nothing is lost with it: its rows have come again."""
    world = idle_at_night(then=then)
    if dead:
        world.tale.becomes(world.run, "FAILED")
    looked = look(world)
    failed_at = world.tale.runs["a"].restored
    assert failed_at is not None
    at = failed_at.at + written_at if written_at is not None else None
    looked.found["orphans"] = orphans(1, newest_at=at)

    found = (no_snapshot_advanced if dead else healthy).examine(case_of(world, looked))

    assert isinstance(found, expected)


def test_a_commit_that_a_restore_may_have_delayed_dates_no_file() -> None:
    """What Flink completed in the meantime may have been written long before; Flink lists its checkpoint no longer."""
    world = idle_at_night()
    world.fails_over()
    for _ in range(5):
        stays_idle(world)
    looked = look(world)
    looked.found["orphans"] = orphans(1, newest_at=NOON)

    assert not isinstance(healthy.examine(case_of(world, looked)), Matches)


@pytest.mark.parametrize(("tolerable", "expected"), [(0, Matches), (3, CannotTell), (None, CannotTell)])
def test_nor_does_one_that_a_catalog_may_have_held_while_checkpoints_failed(
    tolerable: int | None, expected: type
) -> None:
    """Where the job tolerates none, it would have failed over."""
    world = idle_at_night()
    for _ in range(5):
        stays_idle(world)
    run = world.tale.runs["a"]
    settings = CheckpointSettings(timeout_ms=60_000, tolerable_failures=tolerable)
    world.tale.runs["a"] = run.model_copy(update={"failed_count": 2, "settings": settings})
    looked = look(world)
    looked.found["orphans"] = orphans(1, newest_at=NOON)

    assert isinstance(healthy.examine(case_of(world, looked)), expected)


def reads_on(*, checkpoints: int, following: int, waits: bool = False, topics: tuple[str, ...] = ("orders",)) -> Case:
    """Main has ten rows of each of three checkpoints; more have completed since, and the newest state goes on at
    this offset of partition 0 of each topic."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).completes("a", *range(4, 4 + checkpoints))
    tale.now += timedelta(seconds=100)
    tale = tale.leaves_manifest("a", 3 + checkpoints) if waits else tale
    states = (SourcePosition(operator_id=OPERATOR, topic=each, partition=0, following=following) for each in topics)
    point = stored(job_id("a"), 3 + checkpoints).model_copy(update={"source_positions": tuple(states)})
    tale.points.append(point)
    return placed(tale.looked_at())


def test_nor_does_that_tell_positions_that_are_hidden() -> None:
    """As nothing else does."""
    case = reads_on(checkpoints=6, following=1030)
    hidden = case.contract.model_copy(update={"redacted": ("pos",)})
    told = read_past_main(case.model_copy(update={"contract": hidden}), living(case)[0]) or ""

    assert "1,000 records" in told
    assert "1029" not in told.replace(",", "")


@pytest.mark.parametrize(
    "case",
    [
        reads_on(checkpoints=6, following=35),
        reads_on(checkpoints=4, following=1030),
        reads_on(checkpoints=6, following=1030, waits=True),
        reads_on(checkpoints=6, following=1030, topics=("orders", "refunds")),
    ],
    ids=["a few offsets without rows", "not for long", "a manifest waits (F11)", "whose offsets they are is open"],
)
def test_what_may_be_on_its_way_does_not(case: Case) -> None:
    """Nor markers of transactions at the end of a partition."""
    assert read_past_main(case, living(case)[0]) is None
