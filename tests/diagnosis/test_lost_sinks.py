"""F5 and F12: a drained job, and a sink whose old state owed something."""

import pytest

from bot.diagnosis import healthy, job_was_drained
from bot.diagnosis import sink_lost_its_state as mode
from bot.incident.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.observation.findings import GapsFinding, LeakStanding, PositionGap
from bot.observation.ids import DRAINED, OperatorId
from tests.cases import OPERATOR, Tale, job_id
from tests.found import leaks, point, points

NEW = OperatorId("cc" * 16)


def changed(*, v1: bool = True) -> Tale:
    """`a` committed 3 and owed 4; `b` was restored from 4 under another uid."""
    tale = Tale().flink_runs("a", v1=v1).commits("a", 1, 2, 3).completes("a", 4).becomes("a", "CANCELED")
    tale.leaves_manifest("a", 4).flink_runs("b", restored=4, v1=v1)
    committer = tale.runs["b"].vertices[1].model_copy(update={"vertex_id": NEW})
    tale.runs["b"] = tale.runs["b"].model_copy(update={"vertices": (tale.runs["b"].vertices[0], committer)})
    return tale.completes("b", 5)


def commits_as_new(tale: Tale, *checkpoints: int) -> Tale:
    """The new sink's commits carry its new operator id."""
    for checkpoint in checkpoints:
        tale.commits("b", checkpoint)
        last = tale.snapshots[-1]
        tale.snapshots[-1] = last.model_copy(update={"summary": last.summary | {"flink.operator-id": NEW}})
    return tale


def lost(tale: Tale, missing_files: int = 0) -> object:
    """Storage shows the old sink's manifest, which nothing remembers."""
    return leaks(*tale.manifests, standing=LeakStanding.LOST_STATE, missing_files=missing_files)


def test_what_the_old_state_owed_is_appended() -> None:
    """The old id's last commit and the new id's first are the rows; nothing is undone."""
    tale = commits_as_new(changed(), 5, 6)

    found = mode.examine(tale.looked_at(leaked=lost(tale)))

    assert (Remedy.RECOVER_LEAKED_MANIFESTS, tale.at("a", 3), None) == (found.remedy, found.last_good, found.wrong_run)
    assert (tale.at("a", 3), tale.at("b", 5)) == found.rows


def test_once_its_rows_came_again_nothing_is_left_to_be_done() -> None:
    """As after a replay: the manifest stays. Before the new sink's first rows were counted, where it began is open."""
    whole = GapsFinding(lowest=0, highest=99, positions=100, missing=0, gaps=())
    since, before = commits_as_new(changed(), 5, 6), changed()

    mended, early = (
        mode.examine(
            tale.looked_at(
                leaked=leaks(*tale.manifests, standing=LeakStanding.LOST_STATE, positions=(20, 29)), gaps=whole
            )
        )
        for tale in (since, before)
    )

    assert isinstance(mended, Excluded)
    assert not isinstance(early, Matches)


def test_a_manifest_without_its_files_leaves_only_the_source() -> None:
    """There is nothing to append."""
    tale = commits_as_new(changed(), 5)

    found = mode.examine(tale.looked_at(leaked=lost(tale, missing_files=1)))

    assert Remedy.REPLAY_SOURCE_RANGE is found.remedy


def test_it_is_seen_before_the_new_sink_commits() -> None:
    """A restored run that completes checkpoints without committing what its state owed has lost it."""
    tale = changed()

    found = mode.examine(tale.looked_at(leaked=lost(tale)))

    assert "restored from checkpoint 4" in found.reasons[0]


def test_a_change_that_owed_nothing_is_no_fault() -> None:
    """The cure of F7 and F8 changes the uid on purpose."""
    tale = commits_as_new(changed(), 5)
    tale.manifests.clear()

    found = mode.examine(tale.looked_at())

    assert "on purpose" in found.reason


def test_what_is_owed_is_not_guessed() -> None:
    """Storage must have been looked at, and Flink where main shows no change."""
    told, quiet = commits_as_new(changed(), 5), Tale().flink_runs("a").commits("a", 1, 2)

    assert isinstance(mode.examine(told.case()), CannotTell)
    assert isinstance(mode.examine(quiet.flink_is_down().looked_at()), CannotTell)


def test_a_manifest_of_another_operator_is_not_this_sinks() -> None:
    """The same job may write other tables into one metadata folder."""
    tale = commits_as_new(changed(), 5)
    tale.manifests = [m.model_copy(update={"operator_id": OperatorId("dd" * 16)}) for m in tale.manifests]
    assert OPERATOR != tale.manifests[0].operator_id

    assert isinstance(mode.examine(tale.looked_at(leaked=lost(tale))), Excluded)


def test_what_its_last_commit_covers_is_not_owed() -> None:
    """A manifest at or below the old id's last commit was passed over, not lost with the state (F3)."""
    tale = commits_as_new(changed(), 5)
    tale.manifests.clear()
    tale.leaves_manifest("a", 3)

    assert isinstance(mode.examine(tale.looked_at(leaked=lost(tale))), Excluded)


def runs_as(tale: Tale, run: str, operator: str, *checkpoints: int, restored: int | None = None) -> Tale:
    """The next run commits under this operator id, which its manifests bear too."""
    if tale.runs:
        tale.becomes(next(reversed(tale.runs)), "FINISHED")
    tale.flink_runs(run, restored=restored)
    for checkpoint in checkpoints:
        tale.completes(run, checkpoint).commits(run, checkpoint)
        told = {"flink.operator-id": operator * 16}
        last = tale.snapshots[-1]
        tale.snapshots[-1] = last.model_copy(update={"summary": last.summary | told})
    return tale


def several(last: str) -> Tale:
    """The uid changes twice: `a` owes 3 under the first, `b` under the second nothing."""
    tale = runs_as(Tale(), "a", "d1", 1, 2)
    tale.leaves_manifest("a", 3, operator=OperatorId("d1" * 16))
    runs_as(tale, "b", "d2", 4, 5, restored=3)
    return runs_as(tale, "c", last, 6, 7, restored=5)


def test_a_later_change_may_be_silent_without_flink() -> None:
    """Main shows one that owed nothing; whether another followed only Flink tells."""
    assert isinstance(mode.examine(several("d3").flink_is_down().looked_at(leaked=leaks())), CannotTell)


def test_another_job_in_between_is_no_change() -> None:
    """Our run was restarted while the other job wrote, under the uid that it always had."""
    tale = runs_as(Tale(), "a", "d1", 1, 2)
    tale.leaves_manifest("a", 3, operator=OperatorId("d1" * 16))
    runs_as(tale, "b", "d2", 4)
    tale.runs["b"] = tale.runs["b"].model_copy(update={"name": "backfill"})
    runs_as(tale, "c", "d1", 5, 6, restored=2)

    assert isinstance(mode.examine(tale.looked_at(leaked=lost(tale))), Excluded)


def waiting(tale: Tale) -> object:
    """Nobody could look whether a restore point lists the old sink's manifest."""
    return leaks(*tale.manifests, standing=LeakStanding.PENDING)


@pytest.mark.parametrize(("v1", "said"), [(True, f"whose sink is {NEW[:6]}"), (False, "which has not shown its sink")])
def test_what_waits_for_a_restore_under_another_id_leaves_it_open(v1: bool, said: str) -> None:
    """The living run cannot commit it, or nothing tells yet whether it can; V2 has it committed within moments."""
    tale = changed(v1=v1)

    found = mode.examine(tale.looked_at(leaked=waiting(tale)))

    assert said in found.missing[0]
    assert "of checkpoint 4 of run aaaaaa" in found.missing[0]


def test_what_waits_for_the_sink_that_runs_is_no_doubt_of_it() -> None:
    """F11 and `healthy` tell of that one; so of a manifest above the restored checkpoint."""
    tale = changed()
    committer = tale.runs["b"].vertices[1].model_copy(update={"vertex_id": OPERATOR})
    tale.runs["b"] = tale.runs["b"].model_copy(update={"vertices": (tale.runs["b"].vertices[0], committer)})
    newer = changed(v1=False)
    newer.manifests.clear()
    newer.leaves_manifest("a", 6)

    assert isinstance(mode.examine(tale.looked_at(leaked=waiting(tale))), Excluded)
    assert isinstance(mode.examine(newer.looked_at(leaked=waiting(newer))), Excluded)


@pytest.mark.parametrize("run", ["b", "z"])
def test_what_another_job_or_the_run_itself_has_left_is_none_of_it(run: str) -> None:
    """Of run b it is from before a failover, and gone from storage since; run z is of no job that wrote this table."""
    tale = changed(v1=False)
    tale.manifests.clear()
    tale.leaves_manifest(run, 4)
    left = waiting(tale)
    tale.manifests.clear()

    assert isinstance(mode.examine(tale.looked_at(leaked=left)), Excluded)


def drained() -> Tale:
    """As run on Flink 1.20.3 with the V1 sink: 1 and 2 committed, then stopped with `drain: true`."""
    return Tale().flink_runs("a", v1=True).commits("a", 1, 2, DRAINED).becomes("a", "FINISHED")


def restored() -> Tale:
    """Restored from the drained savepoint: checkpoints complete and nothing is committed."""
    return drained().flink_runs("b", restored=3, v1=True).completes("b", 4, 5)


def test_what_is_restored_from_a_drained_job_never_commits() -> None:
    """The mark and the silent checkpoints are named; the drained rows themselves are right."""
    tale = restored()
    found = job_was_drained.examine(tale.looked_at(pairing=points(point(job_id("a"), 2, tale.at("a", 2)))))

    assert (tale.head, job_id("b"), Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB) == (
        found.last_good,
        found.wrong_run,
        found.remedy,
    )
    assert any("completed 4 and 5" in reason for reason in found.reasons)


def test_without_a_point_before_the_drain_the_sink_needs_a_new_uid() -> None:
    """A rewind has nowhere to go."""
    found = job_was_drained.examine(restored().looked_at(pairing=points()))

    assert Remedy.CHANGE_OPERATOR_UID is found.remedy


def test_a_run_that_ended_with_its_rows_uncommitted_still_counts() -> None:
    """Somebody stopped it: what it read is in no snapshot all the same."""
    assert isinstance(job_was_drained.examine(restored().becomes("b", "CANCELED").looked_at()), Matches)


def test_a_bounded_job_that_finished_is_right() -> None:
    """The same mark, and nothing came after it."""
    found = job_was_drained.examine(drained().looked_at())

    assert "ended on purpose" in found.reason


def test_the_v2_sink_asks_only_for_its_own_job_id() -> None:
    """Restored under a new id it commits; under the same id it does not."""
    other = drained().flink_runs("b", restored=3).completes("b", 4)
    same = drained().starts_again("a")

    assert isinstance(job_was_drained.examine(other.looked_at()), Excluded)
    assert isinstance(job_was_drained.examine(same.looked_at()), Matches)


def test_the_sink_or_flink_itself_may_be_unknown() -> None:
    """Neither is guessed."""
    no_graph = drained().flink_runs("b", restored=3, vertices=False).completes("b", 4)

    assert isinstance(job_was_drained.examine(no_graph.looked_at()), CannotTell)
    assert isinstance(job_was_drained.examine(restored().flink_is_down().looked_at()), CannotTell)


@pytest.mark.parametrize("restored", [3, None])
def test_above_a_drained_commit_the_first_rows_tell_where_a_run_began(restored: int | None) -> None:
    """Its mark names no id, so any restore point, and none, looks alike."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, DRAINED).becomes("a", "FINISHED").flink_runs("b", restored)

    silent = healthy.examine(tale.looked_at())
    counted = healthy.examine(tale.commits("b", (restored or 0) + 1).looked_at())

    assert isinstance(silent, CannotTell)
    assert isinstance(counted, CannotTell), "positions tell: this ledger has none"


def replaced(v1: bool = True) -> Tale:
    """Run b came after the drained commit and completed checkpoint 4; run c has committed since."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 2, DRAINED).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=3, v1=v1).completes("b", 4).leaves_manifest("b", 4).becomes("b", "CANCELED")
    return tale.flink_runs("c", v1=True).commits("c", 1)


def test_what_it_says_names_both_commits_and_appends_the_rows() -> None:
    """Unless some of them came again; where all did, nothing is left to be done."""
    tale = replaced()
    dropped = leaks(*tale.manifests, standing=LeakStanding.DROPPED, positions=(20, 29))
    part = GapsFinding(lowest=0, highest=99, positions=95, missing=5, gaps=(PositionGap(first=25, last=29),))
    whole = GapsFinding(lowest=0, highest=99, positions=100, missing=0, gaps=())

    found, there, mended = (
        job_was_drained.examine(tale.looked_at(leaked=dropped, gaps=gaps)) for gaps in (None, part, whole)
    )

    assert isinstance(mended, Excluded)
    assert (found.rows, found.last_good) == ((tale.at("a", DRAINED), tale.at("c", 1)), tale.at("a", DRAINED))
    assert "the sink of a run that was restored from a state of that job" in found.reasons[0]
    assert (found.remedy, there.remedy) == (Remedy.RECOVER_LEAKED_MANIFESTS, Remedy.REPLAY_SOURCE_RANGE)


def test_of_a_start_without_state_it_does_not_say_that_it_was_restored() -> None:
    """The V2 sink finds the mark under its own job id."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, DRAINED).starts_again("a").leaves_manifest("a", 1)
    tale.becomes("a", "CANCELED").flink_runs("c").commits("c", 1)

    found = job_was_drained.examine(tale.looked_at(leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED)))

    assert "has the same job id" in found.reasons[0]


def test_where_nobody_could_look_it_is_open() -> None:
    """Flink is down, or tells neither the run's operators nor what it was restored from."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 2, DRAINED).becomes("a", "FINISHED")
    tale.flink_runs("b", vertices=False).completes("b", 4).leaves_manifest("b", 4).becomes("b", "CANCELED")
    tale.flink_runs("c", v1=True).commits("c", 1)

    assert isinstance(job_was_drained.examine(replaced().flink_is_down().looked_at(leaked=None)), CannotTell)
    assert isinstance(job_was_drained.examine(tale.looked_at(leaked=None)), CannotTell)
