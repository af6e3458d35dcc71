"""Main begins anew under its job: by a replacement that clears the log, or by metadata of which nothing is left."""

from collections.abc import Callable
from typing import Any

import pytest

from bot.diagnosis import healthy, rolled_back_while_running, source_positions_skipped
from bot.diagnosis import metadata_file_lost as mode
from bot.history.case import Case
from bot.incident.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.observation.findings import COMMITS_TOLD, GapsFinding, PositionGap, UnreadableFile
from bot.observation.table import Ref
from tests.cases import Tale
from tests.diagnosis.answers import LastGood, answer_table, check
from tests.found import orphans, unreadable, with_positions

FROM_30 = GapsFinding(lowest=30, highest=49, positions=20, missing=0, gaps=())


def replaced() -> Tale:
    """As Iceberg before 1.8 leaves it: the older commits are listed, and no log says that main had them."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    tale.head, tale.moves = None, []
    return tale


def id_tells() -> Tale:
    """It has failed over twice."""
    tale = replaced().becomes("a", "FINISHED").flink_runs("b").commits("b", 1, 2)
    return tale.flink_runs("b", restored=2).commits("b", 3).flink_runs("b", restored=3)


def id_tells_of_one_forgotten() -> Tale:
    """Flink lists only the run after it."""
    tale = replaced().becomes("a", "FINISHED").flink_runs("b").commits("b", 1, 2).becomes("b", "FINISHED")
    return tale.flink_runs("c", restored=2).commits("c", 3).forgets("a").forgets("b")


def history_tells() -> Tale:
    """It was quiet at first, and has failed over twice; Flink lists all its checkpoints."""
    tale = replaced().becomes("a", "FINISHED").flink_runs("b").commits("b", 3).flink_runs("b", restored=3)
    return tale.flink_runs("b", restored=3).remembers("b", 1, 2, 3)


def not_restored_yet() -> Tale:
    """Another engine has filled the new table, and the new run has committed nothing."""
    return replaced().becomes("a", "FINISHED").commits(None, rows=20).flink_runs("b")


@pytest.mark.parametrize("tell", [id_tells, id_tells_of_one_forgotten, history_tells, not_restored_yet])
def test_a_run_without_state_has_nothing_to_do_with_what_was_there_before(tell: Callable[[], Tale]) -> None:
    """Its checkpoints begin at 1, whatever Flink shows of its restores."""
    found = healthy.examine(tell().looked_at())

    assert not isinstance(found, Excluded) or "begins anew" not in found.reason


@pytest.mark.parametrize("why", ["started without state", "on a branch", "below the window"])
def test_older_commits_that_are_nobodys_loss_accuse_nobody(why: str) -> None:
    """Of a job before it, of a branch, or of a window that began long after."""
    tale = replaced()
    if why == "on a branch":
        tale.refs = [Ref(name="audit", kind="branch", snapshot_id=tale.at("a", 3))]
    if why == "started without state":
        tale.becomes("a", "FINISHED").flink_runs("b").commits("b", 1, 2).flink_runs("b", restored=2)
    else:
        tale.commits("a", 4, 5, 6)
    edge = tale.at("a", 4) if why == "below the window" else None

    found = healthy.examine(tale.looked_at(since=edge))

    assert not isinstance(found, Excluded) or "begins anew" not in found.reason


def fails_over(tale: Tale, run: str, checkpoint: int) -> Tale:
    """Flink goes on listing what the run completed before."""
    listed = tale.runs[run].checkpoints
    point = tale.flink_runs(run, restored=checkpoint).runs[run].restored
    return tale.shows(run, checkpoints=listed, restored=point.model_copy(update={"is_savepoint": False}))


@pytest.mark.parametrize("restored", [None, 3])
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(("files", "expected"), [(0, Matches), (3, CannotTell), (None, CannotTell)])
def test_a_failover_does_not_account_for_first_commits_that_vanished(
    files: int | None, expected: type, times: int, restored: int | None
) -> None:
    """Whether the run began without state or came with one: Flink lists what it completed before its first commit."""
    first = (restored or 0) + 1
    tale = Tale().flink_runs("a", restored=restored).completes("a", *range(first, first + 3))
    tale.commits("a", first + 3, first + 4)
    for _ in range(times):
        fails_over(tale, "a", first + 4)
    found_files = None if files is None else orphans(files, young=files)

    found = healthy.examine(tale.looked_at(gaps=FROM_30, orphans=found_files))

    assert isinstance(found, expected)
    if isinstance(found, CannotTell):
        assert f"checkpoints {first}, {first + 1} and {first + 2} of run" in found.missing[0]


def test_a_gap_elsewhere_than_a_rollback_that_was_filled_is_the_sources() -> None:
    """What was rolled back was put back, and later the source skipped: each mode says what is true of its own."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).rolls_back_to("a", 1).commits("a", 4, 5, 6)
    gaps = GapsFinding(lowest=0, highest=69, positions=60, missing=10, gaps=(PositionGap(first=50, last=59),))
    case = with_positions(tale.looked_at(gaps=gaps), {tale.at("a", 2): (10, 19), tale.at("a", 3): (20, 29)})

    rollback, skipped = rolled_back_while_running.examine(case), source_positions_skipped.examine(case)

    assert "no source position that it lost is missing" in rollback.reason
    assert isinstance(skipped, Matches), skipped


def well(*gone: int, what: str = "manifest-list", since: int | None = None) -> Case:
    """Three commits, of which these have a file that is not on storage."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    lost = unreadable(*(lost_file(tale, each, what) for each in gone))
    return tale.looked_at(since=None if since is None else tale.at("a", since), unreadable=lost)


def lost_file(tale: Tale, checkpoint: int, what: str = "manifest-list") -> UnreadableFile:
    return UnreadableFile.model_validate(
        {
            "path": "s3://lake/sales/orders/metadata/snap-1.avro",
            "what": what,
            "snapshot_id": tale.at("a", checkpoint),
            "rows": 0,
            "problem": "It is not on storage.",
        }
    )


def without_metadata() -> Tale:
    """The newest metadata file is lost: an older one was read."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    tale.lost_metadata = "s3://lake/sales/orders/metadata/00010.metadata.json"
    return tale


def without_lists(commits: int, gone: range) -> Case:
    """The manifest lists of these commits are gone; twenty are named, the oldest first, as their paths are sorted."""
    tale = Tale().flink_runs("a").commits("a", *range(1, commits + 1))
    lists = tuple(tale.at("a", each) for each in reversed(gone))
    found = unreadable(*[lost_file(tale, each) for each in gone[:20]])
    return tale.looked_at(unreadable=found.model_copy(update={"count": len(gone), "commits": (), "lists": lists}))


def with_branch() -> Case:
    """The log that told whether main had it is cleared."""
    tale = replaced()
    tale.refs = [Ref(name="audit", kind="branch", snapshot_id=tale.at("a", 3))]
    return tale.commits("a", 4, 5).looked_at(gaps=FROM_30)


RESTORED = replaced().becomes("a", "FINISHED").flink_runs("b", restored=3).commits("b", 4).looked_at(gaps=FROM_30)
BACK = Remedy.RESTORE_METADATA


@answer_table(
    {
        "of what a branch holds nobody can tell whether main had it": (
            healthy, with_branch(), CannotTell, "the table was replaced under its job",
            "3 older commits of the job, …001001 to …003003, are on a branch",
        ),
        **{
            f"a tag on the replaced line excuses nothing: {status} at {marked}": (
                healthy, replaced().trusts("a", marked, status).commits("a", 4, 5).looked_at(gaps=FROM_30), Excluded,
                "3 older commits of the job",
            )
            for status in ("trusted", "suspect") for marked in (1, 2, 3)
        },
        "a state that was restored onto the new table holds what came before": (
            healthy, RESTORED, Excluded, "the table was replaced under its job",
        ),
        "lost metadata is known before any evidence": (
            mode, without_metadata().case(), BACK, LastGood("head"), "unknown here, not absent",
        ),
        "without its metadata no table is healthy": (healthy, without_metadata().looked_at(), Excluded, "F10"),
        "the head has no manifest list: the job must follow": (
            mode, well(3), BACK, LastGood("a2"), "job must be restored",
        ),
        "an older snapshot has none: the head can be read": (
            mode, well(2), BACK, LastGood("head"), "restore these manifest lists",
        ),
        "a list that is not named is gone all the same": (
            mode, without_lists(30, range(6, 31)), BACK, LastGood("a5"), "The manifest list of the head",
        ),
        "what is told is cut: nothing is known of older snapshots": (
            mode, without_lists(COMMITS_TOLD + 2, range(3, COMMITS_TOLD + 3)), LastGood(None),
        ),
        "what is told is cut below the head": (
            mode, without_lists(COMMITS_TOLD + 2, range(2, COMMITS_TOLD + 2)), LastGood("head"),
        ),
        "below the window nobody looked": (mode, well(2, 3, since=1), LastGood(None), "none was looked for"),
        "missing data files are F9": (mode, well(2, what="data"), Excluded),
        "nobody has looked for lists yet": (
            mode, Tale().flink_runs("a").commits("a", 1).case(), CannotTell, "unreadable_files",
        ),
    }
)  # fmt: skip
def test_what_is_left_of_the_metadata(mode: Any, case: Case, expected: list[Any]) -> None:
    """What was lost above is unknown and not absent; the pointer goes back to what can be read."""
    check(mode, case, expected)
