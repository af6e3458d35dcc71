"""Main begins anew under its job: by a replacement that clears the log, or by metadata of which nothing is left."""

from collections.abc import Callable

import pytest

from bot.diagnosis import recovered_by_itself, rolled_back_while_running, source_positions_skipped
from bot.domain.diagnosis import CannotTell, Excluded, Matches
from bot.domain.findings import GapsFinding, PositionGap
from bot.domain.ids import short
from bot.domain.table import Ref
from tests.cases import Tale
from tests.found import hole, orphans

FROM_30 = GapsFinding(lowest=30, highest=49, positions=20, missing=0, gaps=())


def replaced() -> Tale:
    """As Iceberg before 1.8 leaves it: the older commits are listed, and no log says that main had them."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    tale.head, tale.moves = None, []
    return tale


@pytest.mark.parametrize("since", [None, 1])
def test_a_table_that_was_replaced_under_its_job_is_not_healthy(since: int | None) -> None:
    """No position shows what lay below all that lives; the commits that are listed do."""
    tale = replaced().commits("a", 4, 5)
    edge = None if since is None else tale.at("a", since)

    found = recovered_by_itself.examine(tale.looked_at(since=edge, gaps=FROM_30))

    assert isinstance(found, Excluded)
    assert f"3 older commits of the job, {short(tale.at('a', 1))} to {short(tale.at('a', 3))}" in found.reason


@pytest.mark.parametrize("status", ["trusted", "suspect"])
@pytest.mark.parametrize("marked", [1, 2, 3])
def test_a_tag_on_the_replaced_line_excuses_nothing(marked: int, status: str) -> None:
    """A replacement takes only main away from it; Waterline's own tag stays, most of all at the last commit there."""
    tale = replaced().trusts("a", marked, status).commits("a", 4, 5)

    found = recovered_by_itself.examine(tale.looked_at(gaps=FROM_30))

    assert isinstance(found, Excluded)
    assert "3 older commits of the job" in found.reason


def test_of_what_a_branch_holds_nobody_can_tell_whether_main_had_it() -> None:
    """It was made from main before the replacement, or written by itself: the log that told it is cleared."""
    tale = replaced()
    tale.refs = [Ref(name="audit", kind="branch", snapshot_id=tale.at("a", 3))]

    found = recovered_by_itself.examine(tale.commits("a", 4, 5).looked_at(gaps=FROM_30))

    assert isinstance(found, CannotTell)
    assert "the table was replaced under its job" in found.missing[0]
    assert found.missing[0].endswith("3 older commits of the job, …001001 to …003003, are on a branch")


def test_what_a_branch_got_after_main_began_is_its_own() -> None:
    """Main did not have it before."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).stages("a", 3).commits("a", 4)
    tale.refs = [Ref(name="audit", kind="branch", snapshot_id=tale.at("a", 3))]

    assert isinstance(recovered_by_itself.examine(tale.looked_at()), Matches)


def test_a_run_that_was_restored_onto_the_new_table_brings_what_came_before() -> None:
    """Its state holds what the replaced table had, under whatever job id."""
    tale = replaced().becomes("a", "FINISHED").flink_runs("b", restored=3).commits("b", 4)

    found = recovered_by_itself.examine(tale.looked_at(gaps=FROM_30))

    assert isinstance(found, Excluded)
    assert "the table was replaced under its job" in found.reason


def failed_over() -> Tale:
    """What Flink shows of the run since is the restore of a checkpoint of its own."""
    tale = replaced().becomes("a", "FINISHED").flink_runs("b", restored=3).commits("b", 4, 5)
    return tale.flink_runs("b", restored=5).commits("b", 6)


def forgotten() -> Tale:
    """A third run has taken over, and Flink lists neither of those before it."""
    tale = replaced().becomes("a", "FINISHED").flink_runs("b", restored=3).commits("b", 4, 5)
    return tale.becomes("b", "FINISHED").flink_runs("c", restored=5).commits("c", 6).forgets("a").forgets("b")


def not_at_work_yet() -> Tale:
    """Another engine has filled the new table, on which the job goes on."""
    return replaced().commits(None, rows=20)


@pytest.mark.parametrize("tell", [failed_over, forgotten, not_at_work_yet])
def test_where_the_first_run_came_from_need_not_be_shown(tell: Callable[[], Tale]) -> None:
    """Flink shows the newest restore of the runs that it lists: that the first one is not shown excuses nothing."""
    found = recovered_by_itself.examine(tell().looked_at(gaps=FROM_30))

    assert isinstance(found, Excluded)
    assert "3 older commits of the job" in found.reason
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
    found = recovered_by_itself.examine(tell().looked_at())

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

    found = recovered_by_itself.examine(tale.looked_at(since=edge))

    assert not isinstance(found, Excluded) or "begins anew" not in found.reason


@pytest.mark.parametrize(("files", "expected"), [(0, Matches), (3, CannotTell), (None, CannotTell)])
def test_first_commits_that_vanished_without_a_trace_are_looked_for_on_storage(
    files: int | None, expected: type
) -> None:
    """The table begins with checkpoint 4 and position 30: whether 1 to 3 had rows is told by their files alone."""
    tale = Tale().flink_runs("a").completes("a", 1, 2, 3).commits("a", 4, 5)
    found_files = None if files is None else orphans(files, young=files)

    found = recovered_by_itself.examine(tale.looked_at(gaps=FROM_30, orphans=found_files))

    assert isinstance(found, expected)
    if isinstance(found, CannotTell):
        assert "checkpoints 1, 2 and 3 of run" in found.missing[0]


def fails_over(tale: Tale, run: str, checkpoint: int) -> Tale:
    """Flink goes on listing what the run completed before."""
    listed = tale.runs[run].checkpoints
    point = tale.flink_runs(run, restored=checkpoint).runs[run].restored
    assert point is not None
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

    found = recovered_by_itself.examine(tale.looked_at(gaps=FROM_30, orphans=found_files))

    assert isinstance(found, expected)
    if isinstance(found, CannotTell):
        assert f"checkpoints {first}, {first + 1} and {first + 2} of run" in found.missing[0]


def test_a_table_that_begins_with_the_sources_first_position_lost_nothing_below() -> None:
    """Then the first checkpoints had no rows, and no file is looked for."""
    tale = fails_over(Tale().flink_runs("a").completes("a", 1, 2, 3).commits("a", 4, 5), "a", 5)

    found = recovered_by_itself.examine(tale.looked_at(gaps=hole(0), orphans=None))

    assert isinstance(found, Matches)


def test_a_gap_elsewhere_than_a_rollback_that_was_filled_is_the_sources() -> None:
    """What was rolled back was put back, and later the source skipped: each mode says what is true of its own."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).rolls_back_to("a", 1).commits("a", 4, 5, 6)
    gaps = GapsFinding(lowest=0, highest=69, positions=60, missing=10, gaps=(PositionGap(first=50, last=59),))
    case = tale.looked_at(gaps=gaps)
    assert case.ledger is not None
    lost = {tale.at("a", 2): (10, 19), tale.at("a", 3): (20, 29)}
    told = tuple(
        row.model_copy(update=dict(zip(("position_from", "position_until"), lost[row.snapshot_id], strict=True)))
        if row.snapshot_id in lost
        else row
        for row in case.ledger.rows
    )
    case = case.model_copy(update={"ledger": case.ledger.model_copy(update={"rows": told})})

    rollback, skipped = rolled_back_while_running.examine(case), source_positions_skipped.examine(case)

    assert isinstance(rollback, Excluded)
    assert "is missing among those that the lost commits had brought" in rollback.reason
    assert isinstance(skipped, Matches), skipped
