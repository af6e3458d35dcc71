"""F5: a drained job, and who is concerned by its mark."""

import pytest

from bot.diagnosis import job_was_drained as mode
from bot.diagnosis import recovered_by_itself
from bot.domain.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.domain.ids import DRAINED, OperatorId
from tests.cases import Tale, job_id
from tests.found import point, points, ruled_out


def drained() -> Tale:
    """As run on Flink 1.20.3 with the V1 sink: 1 and 2 committed, then stopped with `drain: true`."""
    return Tale().flink_runs("a", v1=True).commits("a", 1, 2, DRAINED).becomes("a", "FINISHED")


def restored() -> Tale:
    """Restored from the drained savepoint: checkpoints complete and nothing is committed."""
    return drained().flink_runs("b", restored=3, v1=True).completes("b", 4, 5)


def test_what_is_restored_from_a_drained_job_never_commits() -> None:
    """The mark and the silent checkpoints are named; the drained rows themselves are right."""
    tale = restored()
    pairing = points(point(job_id("a"), 2, tale.at("a", 2)))

    found = mode.examine(tale.looked_at(pairing=pairing))

    assert isinstance(found, Matches)
    assert (tale.head, job_id("b"), Remedy.REWIND_TABLE_AND_JOB) == (found.last_good, found.wrong_run, found.remedy)
    assert any("completed 4 and 5" in reason for reason in found.reasons)


def test_without_a_point_before_the_drain_the_sink_needs_a_new_uid() -> None:
    """A rewind has nowhere to go."""
    found = mode.examine(restored().looked_at(pairing=points()))

    assert isinstance(found, Matches)
    assert Remedy.CHANGE_OPERATOR_UID is found.remedy


def test_a_run_that_ended_with_its_rows_uncommitted_still_counts() -> None:
    """Somebody stopped it: what it read is in no snapshot all the same."""
    found = mode.examine(restored().becomes("b", "CANCELED").looked_at())

    assert isinstance(found, Matches)


def test_a_guest_that_commits_on_top_does_not_hide_the_mark() -> None:
    """The sink's walk passes over it and finds the mark; readers were told of an ordinary checkpoint."""
    tale = restored().commits("z", 3).by_sink(OperatorId("ee" * 16))

    found = mode.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert tale.at("a", DRAINED) == found.last_good


def test_a_bounded_job_that_finished_is_right() -> None:
    """The same mark, and nothing came after it."""
    found = mode.examine(drained().looked_at())

    assert isinstance(found, Excluded)
    assert "ended on purpose" in found.reason


def test_further_commits_end_it() -> None:
    """Whatever came after the drain commits, so nothing takes the mark for its own."""
    found = mode.examine(restored().commits("b", 6).looked_at())

    assert isinstance(found, Excluded)


def test_a_start_without_state_does_not_see_the_mark() -> None:
    """The V1 sink asks only for the job whose state it restored."""
    found = mode.examine(drained().flink_runs("b", v1=True).completes("b", 1).looked_at())

    assert isinstance(found, Excluded)


def test_the_v2_sink_asks_only_for_its_own_job_id() -> None:
    """Restored under a new id it commits; under the same id it does not."""
    other = drained().flink_runs("b", restored=3).completes("b", 4)
    same = drained().starts_again("a")

    assert isinstance(mode.examine(other.looked_at()), Excluded)
    assert isinstance(mode.examine(same.looked_at()), Matches)


def test_a_new_uid_does_not_see_the_mark() -> None:
    """That is the cure, and must not be called the fault."""
    tale = restored()
    committer = tale.runs["b"].vertices[1].model_copy(update={"vertex_id": OperatorId("cc" * 16)})
    tale.runs["b"] = tale.runs["b"].model_copy(update={"vertices": (tale.runs["b"].vertices[0], committer)})

    found = mode.examine(tale.looked_at())

    assert isinstance(found, Excluded)


def chained(tale: Tale) -> Tale:
    """At parallelism 1 source, writer and committer are one vertex, which bears the source's id."""
    source = tale.runs["b"].vertices[0]
    whole = source.model_copy(update={"name": "Source: orders[40] -> IcebergStreamWriter -> IcebergFilesCommitter"})
    tale.runs["b"] = tale.runs["b"].model_copy(update={"vertices": (whole,)})
    return tale


def test_a_committer_behind_others_in_its_chain_is_the_same_sink() -> None:
    """A chain's id is its first operator's: it cannot tell that the sink is another one."""
    found = mode.examine(chained(restored()).looked_at())

    assert isinstance(found, Matches)


def test_a_chained_committer_is_told_by_its_manifests() -> None:
    """They bear its operator id: that of the drained sink, or a new one."""
    same, other = chained(restored()), chained(restored())
    same.leaves_manifest("b", 4, 5)
    other.leaves_manifest("b", 4, 5, operator=OperatorId("cc" * 16))

    assert isinstance(mode.examine(same.looked_at()), Matches)
    assert isinstance(mode.examine(other.looked_at()), Excluded)


def test_the_sink_or_flink_itself_may_be_unknown() -> None:
    """Neither is guessed."""
    no_graph = drained().flink_runs("b", restored=3, vertices=False).completes("b", 4)

    assert isinstance(mode.examine(no_graph.looked_at()), CannotTell)
    assert isinstance(mode.examine(restored().flink_is_down().looked_at()), CannotTell)


def test_without_the_mark_flink_need_not_be_asked() -> None:
    """The metadata alone shows that no commit carries it."""
    found = mode.examine(Tale().flink_runs("a").commits("a", 1, 2).flink_is_down().looked_at())

    assert isinstance(found, Excluded)


@pytest.mark.parametrize("restored", [3, None])
def test_above_a_drained_commit_the_first_rows_tell_where_a_run_began(restored: int | None) -> None:
    """Its mark names no id, so any restore point, and none, looks alike."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, DRAINED).becomes("a", "FINISHED").flink_runs("b", restored)

    silent = recovered_by_itself.examine(tale.looked_at())
    counted = recovered_by_itself.examine(tale.commits("b", (restored or 0) + 1).looked_at())

    assert isinstance(silent, CannotTell)
    assert "began, after the drained commit …003003: its first rows tell, and it has brought none" in silent.missing[0]
    assert isinstance(counted, Matches)


def test_nor_does_a_run_of_another_uid_meet_the_mark_in_healthy() -> None:
    """F5 is told by who takes the mark for its own; so is what speaks against the table."""
    tale = restored()
    committer = tale.runs["b"].vertices[1].model_copy(update={"vertex_id": OperatorId("cd" * 16)})
    tale.runs["b"] = tale.runs["b"].model_copy(update={"vertices": (tale.runs["b"].vertices[0], committer)})

    assert isinstance(recovered_by_itself.examine(restored().looked_at()), Excluded)
    assert isinstance(recovered_by_itself.examine(tale.looked_at()), CannotTell)


def test_nor_do_first_rows_below_the_window_leave_anything_open() -> None:
    """It tells of what came since. Of a source in partitions all would have to be counted up to the head for ever."""
    tale = Tale().flink_runs("a").commits("a", 1, DRAINED).becomes("a", "FINISHED").flink_runs("b", 2).commits("b", 3)
    begins = tale.head
    case = tale.commits("b", 4).looked_at(since=begins)
    assert begins is not None
    contract = case.contract.model_copy(update={"position_partition": "split"})
    tasks = ("ledger", "duplicate_rows", "missing_positions", "duplicate_commits")
    evidence = tuple(ruled_out(case, task, begins, begins) for task in tasks)

    found = recovered_by_itself.examine(case.model_copy(update={"contract": contract, "evidence": evidence}))

    assert not (isinstance(found, CannotTell) and any("drained commit" in each for each in found.missing))
