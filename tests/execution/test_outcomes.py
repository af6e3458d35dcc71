"""What an execution does when an effect is refused, unknown, late, or cannot be looked at."""

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from bot.incident.decisions import unknown_effect
from bot.incident.execution import AT_WORK, ProposalState
from bot.observation.errors import OutcomeUnknown, Refused, Superseded
from bot.observation.ids import JobId
from bot.observation.table import TableState
from bot.ports import TableChange
from tests.execution.away import AWAY, LATE, Later, away, intents, notes
from tests.execution.scene import Scene
from tests.little_flink import JOB, by_hand
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

    with pytest.raises(
        Superseded, match=r"committed by spark application local-17 at \d\d:\d\d:\d\d UTC.*Nothing was changed"
    ):
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
    content = metadata.read_bytes()
    metadata.write_bytes(content[:30] + b"\0" + content[30:])

    with pytest.raises(Superseded, match="digest"):
        scene.begins()


def test_a_commit_between_stop_and_move_ends_the_execution_and_says_what_was_done(scene: Scene) -> None:
    """The job is stopped by then: the sentence says that, and that the table was not moved."""
    scene.begins()
    scene.damaged.flink.then(scene.backfill_commits)
    scene.carries_on()

    assert scene.view.state is ProposalState.REFUSED
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


def test_a_move_that_a_gateway_sends_twice_was_done(scene: Scene) -> None:
    """The second copy is refused because of the first one."""
    commit = scene.damaged.catalog.commit

    def twice(table: Any, change: TableChange) -> TableState:
        after = commit(table, change)
        if change.move_main_to is not None:
            raise LATE
        return after

    scene.damaged.catalog.commit = twice  # type: ignore[method-assign]
    scene.begins()
    scene.carries_on()

    assert scene.view.state is ProposalState.APPLIED
    assert scene.view.done[1].how == "done"
    assert scene.view.done[1].detail.endswith("(it happened before the refusal)")
    assert scene.view.done[1].result["left"]
    assert scene.calls == ["stop", "start"]


def test_a_move_that_lands_while_it_is_prepared_anew_was_done(scene: Scene) -> None:
    """Its answer was lost, and it is not there yet; then the table has moved, by nobody but itself."""
    commit, load = scene.damaged.catalog.commit, scene.damaged.catalog.load
    sent: list[TableChange] = []

    def lost(table: Any, change: TableChange) -> TableState:
        if change.move_main_to is None:
            return commit(table, change)
        sent.append(change)
        raise OutcomeUnknown("The catalog did not answer.", "", "")

    def lands_after_it_is_read(table: Any) -> TableState:
        before = load(table)
        if sent:
            commit(table, sent.pop())
        return before

    scene.damaged.catalog.commit = lost  # type: ignore[method-assign]
    scene.begins()
    scene.carries_on()
    first = scene.view.state
    scene.damaged.catalog.load = lands_after_it_is_read  # type: ignore[method-assign]
    scene.carries_on()

    assert first is ProposalState.EXECUTING
    assert scene.view.state is ProposalState.APPLIED
    assert scene.calls == ["stop", "start"]


def test_a_refusal_after_which_nobody_can_look_is_not_known(scene: Scene) -> None:
    """Neither refused nor done: it is looked at again, and goes on."""
    commit, load = scene.damaged.catalog.commit, scene.damaged.catalog.load

    def refused(table: Any, change: TableChange) -> TableState:
        commit(table, change)
        scene.damaged.catalog.load = away  # type: ignore[method-assign]
        raise LATE

    scene.damaged.catalog.commit = refused  # type: ignore[method-assign]
    scene.begins()
    scene.carries_on()
    first = scene.view.state
    scene.damaged.catalog.load = load  # type: ignore[method-assign]
    scene.carries_on()

    assert first is ProposalState.UNKNOWN
    assert scene.view.state is ProposalState.APPLIED


def _catalog(scene: Scene) -> tuple[Any, str]:
    return scene.damaged.catalog, "load"


def _flink(scene: Scene) -> tuple[Any, str]:
    return scene.damaged.flink, "runs"


def _storage(scene: Scene) -> tuple[Any, str]:
    return scene.damaged.checkpoints, "read"


@pytest.mark.parametrize("source", [_catalog, _flink, _storage])
def test_a_source_that_is_away_after_the_stop_holds_it_up_and_no_more(
    scene: Scene, source: Callable[[Scene], tuple[Any, str]]
) -> None:
    """The job stands still: the approval must outlive a source that does not answer for a moment."""
    port, name = source(scene)
    answers = getattr(port, name)
    scene.begins()
    scene.damaged.flink.then(lambda: setattr(port, name, away))
    scene.carries_on()
    scene.carries_on()
    meanwhile, noted = scene.view.state, notes(scene)
    setattr(port, name, answers)
    scene.carries_on()

    assert meanwhile is ProposalState.EXECUTING
    assert len(noted) == 1
    assert "waits before “Move main to" in noted[0]
    assert "It was asked, and did not answer." in noted[0]
    assert scene.view.state is ProposalState.APPLIED
    assert scene.calls == ["stop", "start"]


def test_a_catalog_that_is_away_after_the_intent_holds_it_up_too(scene: Scene) -> None:
    """The intent is on record, and nothing was sent: it is prepared anew."""
    load = scene.damaged.catalog.load

    def only_before_the_intent(table: Any) -> TableState:
        if 1 in scene.view.started:
            raise AWAY
        return load(table)

    scene.begins()
    scene.damaged.catalog.load = only_before_the_intent  # type: ignore[method-assign]
    scene.carries_on()
    meanwhile = scene.view.state
    scene.damaged.catalog.load = load  # type: ignore[method-assign]
    scene.carries_on()

    assert meanwhile in {ProposalState.EXECUTING, ProposalState.UNKNOWN}
    assert scene.view.state is ProposalState.APPLIED
    assert scene.calls == ["stop", "start"]


def test_after_an_hour_it_ends_and_something_else_can_be_proposed(scene: Scene) -> None:
    """A source that is gone for good must not keep the incident from going on."""
    executions = scene.executions
    scene.begins()
    scene.damaged.flink.then(lambda: setattr(scene.damaged.catalog, "load", away))
    executions.carry_on(scene.incident, scene.view.proposal.id)
    executions._clock = Later()  # the bot has no other way to let an hour pass
    executions.carry_on(scene.incident, scene.view.proposal.id)

    assert scene.view.state is ProposalState.REFUSED
    assert "Done: Stop run bbbbbb. Not done: Move main" in scene.view.result.sentence


def test_what_is_never_answered_and_never_there_ends_after_an_hour_too(scene: Scene) -> None:
    """Neither can people settle what the world denies, nor may it be asked for again and again for ever."""
    executions = scene.executions

    def lost(*_asked: Any, **_how: Any) -> Any:
        raise OutcomeUnknown("Flink waited in vain.", "", "")

    scene.begins()
    scene.damaged.flink.stop = lost  # type: ignore[method-assign]
    executions.carry_on(scene.incident, scene.view.proposal.id)
    executions.carry_on(scene.incident, scene.view.proposal.id)
    meanwhile, noted = scene.view.state, notes(scene)
    executions._clock = Later()
    executions.carry_on(scene.incident, scene.view.proposal.id)

    assert meanwhile is ProposalState.EXECUTING
    assert intents(scene) == [0]
    assert len(noted) == 1
    assert "waits before “Stop run bbbbbb”: Flink waited in vain." in noted[0]
    assert scene.view.state is ProposalState.REFUSED
    assert "Done: nothing. Not done: Stop run bbbbbb" in scene.view.result.sentence


@pytest.mark.parametrize("meanwhile", ["the bot was away", "nobody could look at all"])
def test_an_hour_is_counted_from_the_newest_wait(scene: Scene, meanwhile: str) -> None:
    """A source that was away for a moment long ago has cost none of the patience with the one that is away now."""
    executions, stop = scene.executions, scene.damaged.flink.stop
    scene.begins()
    scene.damaged.flink.stop = away  # type: ignore[method-assign]
    executions.carry_on(scene.incident, scene.view.proposal.id)
    if meanwhile == "the bot was away":
        executions = scene.executions
    else:
        run = scene.damaged.flink.run
        scene.damaged.flink.run = away  # type: ignore[method-assign]
        executions.carry_on(scene.incident, scene.view.proposal.id)
        scene.damaged.flink.run = run  # type: ignore[method-assign]
    executions._clock = Later()
    executions.carry_on(scene.incident, scene.view.proposal.id)
    state = scene.view.state
    scene.damaged.flink.stop = stop  # type: ignore[method-assign]
    executions.carry_on(scene.incident, scene.view.proposal.id)

    assert state in AT_WORK
    assert scene.view.state is ProposalState.APPLIED
    assert scene.calls == ["stop", "start"]


def test_an_effect_that_is_tried_again_is_begun_once_more_only_by_another_process(scene: Scene) -> None:
    """The same intent every few seconds would fill the record; another process must say so, to have its turn."""
    one, other = scene.executions, scene.executions
    scene.begins()
    scene.damaged.flink.stop = away  # type: ignore[method-assign]
    written = []
    for executions in (one, one, other, one, one):
        executions.carry_on(scene.incident, scene.view.proposal.id)
        written.append(len(intents(scene)))

    assert written == [1, 1, 2, 3, 3]


def _somebody_sets_a_property(scene: Scene) -> None:
    with by_hand(scene.damaged.folder) as table, table.transaction() as change:
        change.set_properties({"owner.note": "hello"})


def _storage_is_away(_scene: Scene) -> None:
    raise OSError("HTTP 503 from the object store")


def _database_is_locked(_scene: Scene) -> None:
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorcode = 5
    raise OperationalError("UPDATE", {}, error)


def _in_between(scene: Scene, call: str, happens: Callable[[Scene], None]) -> None:
    """`happens` once the commit that moves main has loaded the table (`load_table`), or sends (`commit_table`)."""
    commit, inner = scene.damaged.catalog.commit, scene.damaged.catalog._catalog("commit")
    asked = getattr(inner, call)

    def failing(*args: Any, **named: Any) -> Any:
        answer = asked(*args, **named) if call == "load_table" else None
        happens(scene)
        return answer

    def once(table: Any, change: Any) -> Any:
        if change.move_main_to is None:
            return commit(table, change)
        setattr(inner, call, failing)
        scene.damaged.catalog.commit = commit  # type: ignore[method-assign]
        try:
            return commit(table, change)
        finally:
            setattr(inner, call, asked)

    scene.damaged.catalog.commit = once  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("call", "happens", "told"),
    [
        ("load_table", _storage_is_away, "could not be read before the commit"),
        ("load_table", _somebody_sets_a_property, "another commit came first"),
        ("commit_table", _database_is_locked, "database was busy"),
    ],
)
def test_what_passes_is_waited_for_and_the_job_is_started(
    scene: Scene, call: str, happens: Callable[[Scene], None], told: str
) -> None:
    """The run was stopped already: to give up here would leave the table without a writer."""
    scene.begins()
    _in_between(scene, call, happens)

    scene.carries_on()
    meanwhile, noted = scene.view.state, notes(scene)
    scene.carries_on()

    assert meanwhile is ProposalState.EXECUTING
    assert len(noted) == 1
    assert told in noted[0]
    assert scene.view.state is ProposalState.APPLIED
    assert scene.calls == ["stop", "start"]
    assert intents(scene) == [0, 1, 1, 2]


def test_a_commit_on_main_that_comes_first_is_never_taken_off(scene: Scene) -> None:
    """The head is what was compared with: it has changed, so the approval holds no longer."""
    scene.begins()
    _in_between(scene, "load_table", Scene.backfill_commits)

    scene.carries_on()

    assert scene.view.state is ProposalState.REFUSED
    assert scene.damaged.catalog.load(ORDERS).chain[0].summary["engine-name"] == "spark"


def test_after_the_stop_was_found_the_move_is_what_is_not_known(scene: Scene) -> None:
    """What stands above the buttons is what they settle."""
    flink, commit, load = scene.damaged.flink, scene.damaged.catalog.commit, scene.damaged.catalog.load
    stop, run = flink.stop, flink.run

    def lost_stop(*asked: Any, **how: Any) -> Any:
        stop(*asked, **how)
        flink.run = lambda _job_id: None  # type: ignore[method-assign]
        raise OutcomeUnknown("Flink did not answer.", "", "")

    def lost_move(_table: Any, change: TableChange) -> Any:
        if change.move_main_to is None:
            return commit(_table, change)
        scene.damaged.catalog.load = away  # type: ignore[method-assign]
        raise OutcomeUnknown("The catalog did not answer.", "", "")

    flink.stop = lost_stop  # type: ignore[method-assign]
    scene.damaged.catalog.commit = lost_move  # type: ignore[method-assign]
    scene.begins()
    scene.carries_on()
    first = told(scene)
    flink.run = run  # type: ignore[method-assign]
    scene.carries_on()
    second = told(scene)
    scene.damaged.catalog.load = load  # type: ignore[method-assign]

    assert first == (ProposalState.UNKNOWN, 0, "Stop run")
    assert second == (ProposalState.UNKNOWN, 1, "Move main")


def test_once_it_is_found_the_execution_goes_on_as_one_that_is_known(scene: Scene) -> None:
    """Between the steps nothing is left to be settled."""
    flink = scene.damaged.flink
    stop, run, read = flink.stop, flink.run, scene.damaged.checkpoints.read
    seen: list[tuple[ProposalState, bool]] = []

    def lost(*asked: Any, **how: Any) -> Any:
        stop(*asked, **how)
        flink.run = lambda _job_id: None  # type: ignore[method-assign]
        raise OutcomeUnknown("Flink did not answer.", "", "")

    def looked_at(path: str) -> Any:
        seen.append((scene.view.state, scene.view.result is None))
        return read(path)

    scene.begins()
    flink.stop = lost  # type: ignore[method-assign]
    scene.carries_on()
    flink.run = run  # type: ignore[method-assign]
    scene.damaged.checkpoints.read = looked_at  # type: ignore[method-assign]
    scene.carries_on()

    assert seen[0] == (ProposalState.EXECUTING, True)
    assert scene.view.state is ProposalState.APPLIED


def told(scene: Scene) -> tuple[ProposalState, int | None, str]:
    """(state, what the buttons settle, the first two words of what is said above them)."""
    return scene.view.state, unknown_effect(scene.view), " ".join(scene.view.result.sentence.split()[:2])
