"""What an execution does when an effect is refused, or when nobody heard whether it happened."""

import pytest

from bot.domain.errors import OutcomeUnknown, Refused, Superseded
from bot.domain.execution import ProposalState
from bot.domain.ids import JobId
from bot.domain.table import TableState
from bot.ports import Stopped, TableChange
from tests.execution.scene import Scene
from tests.little_flink import JOB
from tests.rewound import BEN, GOOD_RUN, PROPOSAL, WRONG_RUN
from tests.tables import ORDERS


def test_commits_of_the_run_that_is_to_be_stopped_do_not_stand_in_the_way(scene: Scene) -> None:
    """The wrong run goes on committing between approval and stop; that was foreseen."""
    scene.damaged.flink.checkpoints(WRONG_RUN, 2)

    scene.begins()
    scene.carries_on()

    assert scene.view.state is ProposalState.APPLIED
    assert scene.calls == ["stop", "start"]


def test_what_was_changed_in_the_record_after_the_approval_is_not_carried_out(scene: Scene) -> None:
    """Somebody writes to the database, and the bot starts again: the yes was to something else."""
    scene.somebody_edits_the_record('"keep_head_as":"', '"keep_head_as":"elsewhere-')

    with pytest.raises(Refused, match="is not what was approved: its record was changed") as refused:
        scene.begins()

    assert "Nothing was changed" in refused.value.found
    assert "waterline record verify" in refused.value.remedy
    assert scene.view.state is ProposalState.APPROVED
    assert scene.calls == []


def test_a_commit_of_another_writer_supersedes_before_anything_is_done(scene: Scene) -> None:
    """The refusal says who committed what and when, and that nothing was changed."""
    scene.backfill_commits()

    with pytest.raises(Superseded, match=r"committed by spark app local-17 at \d\d:\d\d:\d\d UTC.*Nothing was changed"):
        scene.begins()

    assert scene.view.state is ProposalState.SUPERSEDED
    assert scene.calls == []


def test_a_table_rolled_back_by_others_supersedes(scene: Scene) -> None:
    """A head that no longer descends from the approved one is never moved."""
    table = scene.damaged.catalog.load(ORDERS)
    change = TableChange(expected_uuid=table.uuid, expected_head=table.head, move_main_to=table.chain[-1].snapshot_id)
    scene.damaged.catalog.commit(ORDERS, change)

    with pytest.raises(Superseded, match="does not descend from it"):
        scene.begins()

    assert scene.calls == []


def test_a_run_restarted_by_others_supersedes(scene: Scene) -> None:
    """Approved was the stop of one run; another one is not stopped in its place."""
    scene.damaged.flink.stop(JOB, WRONG_RUN)
    scene.damaged.flink.submit(JobId("c" * 32), at_checkpoint=6)

    with pytest.raises(Superseded, match=r"Expected only run bbbbbb .* found cccccc"):
        scene.begins()


def test_a_restore_point_that_was_swapped_supersedes(scene: Scene) -> None:
    """The digest of `_metadata` was approved, not the path alone."""
    metadata = scene.damaged.good_savepoint / "_metadata"
    metadata.write_bytes(metadata.read_bytes() + b"\0")

    with pytest.raises(Superseded, match="digest"):
        scene.begins()


def test_a_commit_between_stop_and_move_ends_the_execution_and_says_what_was_done(scene: Scene) -> None:
    """The job is stopped by then: the sentence says that, and that the table was not moved."""
    stop = scene.damaged.flink.stop

    def stop_then_backfill(job: str, job_id: JobId, **how: bool) -> Stopped:
        stopped = stop(job, job_id, **how)
        scene.backfill_commits()
        return stopped

    scene.begins()
    scene.damaged.flink.stop = stop_then_backfill  # type: ignore[method-assign]
    scene.carries_on()

    assert scene.view.state is ProposalState.REFUSED
    assert scene.view.result is not None
    assert "Done: Stop run bbbbbb. Not done: Move main" in scene.view.result.sentence
    assert scene.calls == ["stop"]


@pytest.mark.parametrize("lands", [True, False])
def test_a_move_whose_answer_was_lost_is_looked_at_and_never_done_twice(scene: Scene, lands: bool) -> None:
    """Landed: recorded as done. Not landed: nobody is asked to settle it, and it is done once at the next look."""
    commit, tried = scene.damaged.catalog.commit, []

    def lost(table: str, change: TableChange) -> TableState:
        if change.move_main_to is None or tried:
            return commit(ORDERS, change)
        tried.append(change)
        if lands:
            commit(ORDERS, change)
        raise OutcomeUnknown("The catalog did not answer.", "", "Look at the table.")

    scene.damaged.catalog.commit = lost  # type: ignore[method-assign, assignment]
    scene.begins()
    scene.carries_on()
    first = scene.view.state
    scene.carries_on()

    assert first is (ProposalState.APPLIED if lands else ProposalState.EXECUTING)
    assert scene.view.state is ProposalState.APPLIED
    assert scene.damaged.catalog.load(ORDERS).ref("wl-1-left") is not None
    assert scene.calls == ["stop", "start"]


@pytest.mark.parametrize("lands", ["at once", "late", "never"])
def test_a_start_whose_answer_was_lost_gives_exactly_one_run(scene: Scene, lands: str) -> None:
    """The job id is chosen beforehand and kept: a request that arrives late meets its own run."""
    start, asked = scene.damaged.flink.start, []

    def lost(job: str, path: str, job_id: JobId, **how: object) -> None:
        asked.append(job_id)
        if lands == "at once" or len(asked) > 1:
            start(job, path, job_id)
        if len(asked) == 1:
            raise OutcomeUnknown("Flink did not answer.", "", "Look at its jobs.")

    scene.damaged.flink.start = lost  # type: ignore[method-assign]
    scene.begins()
    scene.carries_on()
    scene.carries_on()
    if lands == "late":
        start(JOB, str(scene.damaged.good_savepoint), asked[0])

    assert scene.view.state is ProposalState.APPLIED
    assert len(set(asked)) == 1
    alive = [run for run in scene.damaged.flink.runs(JOB) if not run.is_terminal]
    assert len(alive) == 1
    assert scene.calls == ["stop", "start"]


def test_only_those_who_proposed_or_approved_carry_it_out_and_only_once(scene: Scene) -> None:
    """A third person is told whom to ask; the second click is told who was first."""
    with pytest.raises(Refused, match="Ask <@U0ANA00001> or <@U0BEN00001>"):
        scene.executions.begin(scene.incident, PROPOSAL, by="U0FINN0006")  # type: ignore[arg-type]
    scene.begins()

    with pytest.raises(Refused, match="was started by <@U0ANA00001> at"):
        scene.executions.begin(scene.incident, PROPOSAL, by=BEN)

    assert GOOD_RUN not in {run.job_id for run in scene.damaged.flink.runs(JOB) if not run.is_terminal}
