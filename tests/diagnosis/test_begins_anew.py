"""Main begins anew under its job: by a replacement that clears the log, or by metadata of which nothing is left."""

from collections.abc import Callable

import pytest

from bot.diagnosis import healthy, rolled_back_while_running, source_positions_skipped
from bot.diagnosis import metadata_file_lost as mode
from bot.history.case import Case
from bot.incident.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.observation.findings import COMMITS_TOLD, GapsFinding, PositionGap, UnreadableFile
from bot.observation.table import Ref
from tests.cases import Tale
from tests.found import orphans, unreadable

FROM_30 = GapsFinding(lowest=30, highest=49, positions=20, missing=0, gaps=())


def replaced() -> Tale:
    """As Iceberg before 1.8 leaves it: the older commits are listed, and no log says that main had them."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    tale.head, tale.moves = None, []
    return tale


@pytest.mark.parametrize("status", ["trusted", "suspect"])
@pytest.mark.parametrize("marked", [1, 2, 3])
def test_a_tag_on_the_replaced_line_excuses_nothing(marked: int, status: str) -> None:
    """A replacement takes only main away from it; Waterline's own tag stays, most of all at the last commit there."""
    tale = replaced().trusts("a", marked, status).commits("a", 4, 5)

    found = healthy.examine(tale.looked_at(gaps=FROM_30))

    assert "3 older commits of the job" in found.reason


def test_of_what_a_branch_holds_nobody_can_tell_whether_main_had_it() -> None:
    """It was made from main before the replacement, or written by itself: the log that told it is cleared."""
    tale = replaced()
    tale.refs = [Ref(name="audit", kind="branch", snapshot_id=tale.at("a", 3))]

    found = healthy.examine(tale.commits("a", 4, 5).looked_at(gaps=FROM_30))

    assert "the table was replaced under its job" in found.missing[0]
    assert found.missing[0].endswith("3 older commits of the job, …001001 to …003003, are on a branch")


def test_a_run_that_was_restored_onto_the_new_table_brings_what_came_before() -> None:
    """Its state holds what the replaced table had, under whatever job id."""
    tale = replaced().becomes("a", "FINISHED").flink_runs("b", restored=3).commits("b", 4)

    found = healthy.examine(tale.looked_at(gaps=FROM_30))

    assert "the table was replaced under its job" in found.reason


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
    told = {"checkpoints": listed, "restored": point.model_copy(update={"is_savepoint": False})}
    tale.runs[run] = tale.runs[run].model_copy(update=told)
    return tale


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
    case = tale.looked_at(gaps=gaps)
    lost = {tale.at("a", 2): (10, 19), tale.at("a", 3): (20, 29)}
    told = tuple(
        row.model_copy(update=dict(zip(("position_from", "position_until"), lost[row.snapshot_id], strict=True)))
        if row.snapshot_id in lost
        else row
        for row in case.ledger.rows
    )
    case = case.model_copy(update={"ledger": case.ledger.model_copy(update={"rows": told})})

    rollback, skipped = rolled_back_while_running.examine(case), source_positions_skipped.examine(case)

    assert "no source position that it lost is missing" in rollback.reason
    assert isinstance(skipped, Matches), skipped


def gone(snapshot: int | None, what: str = "manifest-list") -> UnreadableFile:
    """That snapshot's file is not on storage."""
    return UnreadableFile.model_validate(
        {
            "path": "s3://lake/sales/orders/metadata/snap-1.avro",
            "what": what,
            "snapshot_id": snapshot,
            "rows": 0,
            "problem": "It is not on storage.",
        }
    )


def test_a_lost_metadata_file_is_known_before_any_evidence() -> None:
    """What was committed above the file that was read is unknown, and the sentence says so."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    tale.lost_metadata = "s3://lake/sales/orders/metadata/00010.metadata.json"

    found = mode.examine(tale.case())

    assert (Remedy.RESTORE_METADATA, tale.head) == (found.remedy, found.last_good)
    assert any("unknown here, not absent" in reason for reason in found.reasons)


def test_a_table_with_lost_metadata_is_never_healthy() -> None:
    """However clean the older state is."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    tale.lost_metadata = "s3://lake/sales/orders/metadata/00010.metadata.json"

    found = healthy.examine(tale.looked_at())

    assert "F10" in found.reason


def test_a_head_without_its_manifest_list_falls_back_to_the_newest_that_has_one() -> None:
    """Going there is a rollback, and the job must follow."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)

    found = mode.examine(tale.looked_at(unreadable=unreadable(gone(tale.at("a", 3)))))

    assert (Remedy.RESTORE_METADATA, tale.at("a", 2)) == (found.remedy, found.last_good)
    assert any("job must be restored" in reason for reason in found.reasons)


def test_an_older_snapshot_without_its_manifest_list_leaves_the_head_readable() -> None:
    """Only time travel fails, so the pointer stays where it is."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)

    found = mode.examine(tale.looked_at(unreadable=unreadable(gone(tale.at("a", 2)))))

    assert (Remedy.RESTORE_METADATA, tale.head) == (found.remedy, found.last_good)
    assert found.what_to_do.startswith("restore these manifest lists")


def without_lists(tale: Tale, checkpoints: range, *, named: int = 20) -> Case:
    """The manifest lists of these commits are gone; so many are named, the oldest first, as their paths are sorted."""
    lost = [gone(tale.at("a", each)) for each in checkpoints]
    lists = tuple(tale.at("a", each) for each in reversed(checkpoints))
    found = unreadable(*lost[:named]).model_copy(update={"count": len(lost), "commits": (), "lists": lists})
    return tale.looked_at(unreadable=found)


def test_a_manifest_list_that_is_not_named_is_gone_all_the_same() -> None:
    """The newest is gone as well, and what is gone back to must have its own."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 31))

    found = mode.examine(without_lists(tale, range(6, 31)))

    assert (Remedy.RESTORE_METADATA, tale.at("a", 5)) == (found.remedy, found.last_good)
    assert found.headline.startswith("The manifest list of the head")


def test_a_list_of_lost_manifest_lists_that_is_cut_tells_nothing_of_older_snapshots() -> None:
    """Above its end it does."""
    tale = Tale().flink_runs("a").commits("a", *range(1, COMMITS_TOLD + 3))
    head = COMMITS_TOLD + 2

    below = mode.examine(without_lists(tale, range(3, head + 1)))
    above = mode.examine(without_lists(tale, range(2, head)))

    assert below.last_good is None
    assert tale.head == above.last_good


def test_below_the_window_nobody_looked_for_manifest_lists() -> None:
    """That none was found to be gone there says nothing."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    lost = unreadable(gone(tale.at("a", 2)), gone(tale.at("a", 3)))

    found = mode.examine(tale.looked_at(since=tale.at("a", 1), unreadable=lost))

    assert found.last_good is None
    assert "none was looked for" in found.reasons[-1]


def test_missing_data_files_are_a_neighbours() -> None:
    """They are F9; the metadata that names them is there."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)

    found = mode.examine(tale.looked_at(unreadable=unreadable(gone(tale.at("a", 2), "data"))))

    assert isinstance(found, Excluded)


def test_manifest_lists_are_not_excluded_before_they_were_looked_for() -> None:
    """The catalog's file was read, but that says nothing of what it names."""
    found = mode.examine(Tale().flink_runs("a").commits("a", 1).case())

    assert ("unreadable_files",) == found.missing
