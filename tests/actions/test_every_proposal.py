"""What holds for every proposal; repairs of other incidents."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from bot import actions
from bot.actions import restore_job_only
from bot.actions._effects import HANDLERS
from bot.actions._support.completing import completed, must_be_destructive, scan
from bot.actions._support.requirements import CurrentState, check_all
from bot.incident.action import Plan
from bot.incident.effects import MoveTable, PublishBranch, StopJob
from bot.incident.execution import ProposalState
from bot.incident.proposal import FINAL, Proposal
from bot.observation.errors import CouldNotLook, NotYet, Refused, Superseded
from bot.observation.ids import IncidentId, ProposalId, StepId
from bot.service.proposals.rules import must_end_no_repair, must_have_the_job_alone
from tests.actions.plans import nobody_looks
from tests.actions.scene import Scene, carry_out, savepoint_of
from tests.actions.test_given_up import given_up, rehearsed
from tests.actions.worlds import OWN_WORLDS, WORLDS, closed, shown, tried
from tests.power_cut import killed
from tests.rewound import ANA, begins
from tests.tables import ORDERS, job

OWN = os.environ.get("WATERLINE_ACTIONS", "").split()
ACTIONS = scan(actions, OWN)
_OWN_NAMES = {name.rpartition(".")[2] for name in OWN}


def _tried(*, by_test: Callable[[str, str], bool], marks: Sequence[pytest.MarkDecorator] = ()) -> pytest.MarkDecorator:
    """(action, table): an action of your own on every one; of the package's those by `make test-all`, with `marks`, and
    all by `make test-long`."""

    def marked(name: str, world: str) -> Sequence[pytest.MarkDecorator]:
        if name in _OWN_NAMES:
            return ()
        return marks if by_test(name, world) else (pytest.mark.long,)

    tried = [
        pytest.param(name, world, marks=marked(name, world))
        for name in ACTIONS
        for world in (WORLDS | OWN_WORLDS if name in _OWN_NAMES else WORLDS)
    ]
    return pytest.mark.parametrize(("name", "world"), tried)


each = _tried(by_test=lambda _name, world: world in {"well", "rewound"})


@pytest.mark.parametrize("name", sorted(_OWN_NAMES))
def test_an_action_of_ones_own_is_tried_on_some_table(tmp_path: Path, name: str) -> None:
    """Else everything below is skipped, and nothing of it was tried."""
    said = []
    for world in WORLDS | OWN_WORLDS:
        with tried(tmp_path / world, world) as (_scene, plan):
            answer = _answer(name, plan)
        if isinstance(answer, Proposal):
            return
        said.append(f"{world}: {answer.happened}")
    pytest.fail(
        f"{name} proposes nothing on any table, so that nothing of it is tried ({' '.join(said)}). Make one on which "
        "it proposes something: WATERLINE_WORLDS names a module with a WORLDS as in tests/actions/worlds.py."
    )


@pytest.mark.smoke
@each
def test_it_proposes_the_same_twice_and_leaves_nothing_out(tmp_path: Path, name: str, world: str) -> None:
    """What is approved is what was shown: a proposal follows from what was looked at, and from nothing else."""
    with tried(tmp_path, world) as (scene, plan):
        table, calls = scene.table, scene.calls
        proposal = _proposed(name, world, plan)

        again = completed(ACTIONS[name].propose(plan), plan)

        assert proposal.action == name
        assert again == proposal, "the same plan gives another proposal"
        assert again.digest == proposal.digest == Proposal.model_validate_json(proposal.model_dump_json()).digest
        assert proposal.effects
        assert all(type(effect) in HANDLERS for effect in proposal.effects)
        assert proposal.preview.sentences
        assert all(sentence.endswith((".", ":")) for sentence in proposal.preview.sentences)
        stops_streams = any(
            isinstance(effect, PublishBranch) or (isinstance(effect, MoveTable) and proposal.preview.commits > 0)
            for effect in proposal.effects
        )
        assert stops_streams == any("tream" in sentence for sentence in proposal.preview.sentences)
        assert proposal.preview.sure.endswith(".")
        assert proposal.undo.endswith(".")
        assert (scene.table.metadata_location, scene.calls) == (table.metadata_location, calls), "it has done something"


@each
def test_its_requirements_hold_now_and_hold_this_very_table(tmp_path: Path, name: str, world: str) -> None:
    """A table that was dropped and made anew under the same name is another table."""
    with tried(tmp_path, world) as (scene, plan):
        proposal = _proposed(name, world, plan)
        here = CurrentState(table=scene.table, jobs=scene.observer.jobs, load=nobody_looks)
        other = here.table.model_copy(update={"uuid": "00000000-0000-0000-0000-000000000000"})

        check_all(proposal.requirements, here)

        with pytest.raises(Superseded):
            check_all(proposal.requirements, CurrentState(table=other, jobs=scene.observer.jobs, load=nobody_looks))


@each
def test_what_somebody_commits_after_the_approval_stays_on_main(tmp_path: Path, name: str, world: str) -> None:
    """Nobody has approved that it goes: the proposal is superseded, or does not touch it."""
    with tried(tmp_path, world) as (scene, plan):
        proposal = scene.approved(_proposed(name, world, plan, is_completed=False), plan)
        scene.backfill_commits()
        head = scene.table.head

        with suppress(Superseded):
            scene.executes(proposal.id)

        assert head in scene.table.chain_ids, "main was moved past a commit that nobody has seen"


@each
def test_it_is_carried_out_verified_and_undone_or_says_that_it_cannot_be(tmp_path: Path, name: str, world: str) -> None:
    """Every check of its effects passes; the undo is a proposal like any other, or refused as the preview has said."""
    with tried(tmp_path, world) as (scene, plan):
        proposal = _proposed(name, world, plan)

        view = scene.carries_out(proposal, plan)

        assert view.state is ProposalState.APPLIED, view.result
        assert [each for each in scene.checked(view) if each.passed is False] == []
        _undone_or_not(scene, proposal)
        assert scene.record.journal.verify() == ()


def _undone_or_not(scene: Scene, proposal: Proposal) -> None:
    """And so is the undo itself: it is a proposal like any other."""
    for number in (2, 3):
        again = scene.plan(undoes=proposal.id, number=number)
        undo = _answer("undo_proposal", again)
        if not isinstance(undo, Proposal):
            assert proposal.is_final, f"its undo says “{proposal.undo}”, and is refused: {undo}"
            return
        assert not proposal.is_final, f"it says that it {FINAL}, and can be"
        assert scene.carries_out(undo, again).state is ProposalState.APPLIED
        proposal = undo


@_tried(
    by_test=lambda name, world: (name, world) == ("roll_back_table_and_restore_job", "rewound"),
    marks=(pytest.mark.slow,),
)
def test_a_power_cut_at_any_boundary_changes_nothing_about_the_end(tmp_path: Path, name: str, world: str) -> None:
    """Killed after, and before, each entry of its execution and started again: the world is as without a cut."""
    wanted, entries = _carried_out(tmp_path / "whole", name, world, None)

    for cut in (*range(1, entries + 1), *range(-entries, 0)):
        found, _ = _carried_out(tmp_path / f"cut{cut}", name, world, cut)

        assert found == wanted, f"cut at {cut} of {entries}"


def _carried_out(folder: Path, name: str, world: str, cut: int | None) -> tuple[dict[str, object], int]:
    """(what the world shows afterwards, entries of the execution)."""
    with tried(folder, world) as (scene, plan):
        proposal = scene.approved(_proposed(name, world, plan, is_completed=False), plan)
        before = scene.store.get(scene.incident).seq
    if cut is not None:
        assert killed(lambda: carry_out(folder, cut)), f"no cut at {cut}"
    carry_out(folder)
    carry_out(folder)
    scene = Scene(folder)
    try:
        return shown(scene, proposal.id), scene.store.get(scene.incident).seq - before
    finally:
        closed(scene)


def _answer(name: str, plan: Plan) -> Proposal | Refused | CouldNotLook:
    try:
        return ACTIONS[name].propose(plan)
    except (Refused, CouldNotLook) as refusal:
        return refusal


def _proposed(name: str, world: str, plan: Plan, *, is_completed: bool = True) -> Proposal:
    """What it proposes there, declared as what it is; the test is skipped where it refuses, and a refusal has its three
    parts."""
    proposal = _answer(name, plan)
    if isinstance(proposal, Proposal):
        must_be_destructive(proposal, ACTIONS[name].action)
        return completed(proposal, plan) if is_completed else proposal
    assert proposal.happened.endswith(".")
    assert proposal.remedy.endswith(".")
    pytest.skip(f"{name} proposes nothing on a table that is {world}: {proposal.happened}")


OTHER = ProposalId("01JBQ5M7Z3T9K4X8V2N6R0PNEW")


def elsewhere(scene: Scene, *, private: bool = False) -> IncidentId:
    """Another table that the job writes has an incident, too."""
    first = scene.store.get(scene.incident)
    opened = first.opened.model_copy(update={"private": private, "table": "sales.items"})
    return scene.store.open(opened, by=ANA).id


@pytest.mark.parametrize("asks", [must_end_no_repair, must_have_the_job_alone])
def test_no_start_of_it_is_proposed_or_begun_until_the_repair_has_ended(scene: Scene, asks: object) -> None:
    """Published or given up: then it may be started."""
    rehearsed(scene)
    other = elsewhere(scene)
    start = restore_job_only.propose(scene.plan(number=5))

    with pytest.raises(Refused, match="is stopped for “Repair” of") as refused:
        asks(start, other, scene.store.every())  # type: ignore[operator]

    assert f"First publish or cancel it in {scene.incident}" in refused.value.remedy
    asks(start, scene.incident, scene.store.every())  # type: ignore[operator]
    given_up(scene)
    asks(start, other, scene.store.every())  # type: ignore[operator]


def test_whoever_proposes_one_is_refused_and_the_step_waits(scene: Scene) -> None:
    """The repair may be published a moment later."""
    rehearsed(scene)
    other, plan, real = elsewhere(scene), scene.plan(number=5), scene.observer
    of_orders = SimpleNamespace(
        observe=lambda _table, **_: plan.case.observation,
        setup=lambda _table: real.setup(ORDERS),
        jobs=real.jobs,
        tables=real.tables,
        files=real.files,
        catalog=real.catalog,
    )

    proposals = scene.proposing(restore_job_only, lambda _plan: restore_job_only.propose(plan), of_orders)

    with pytest.raises(NotYet, match="is stopped for “Repair” of"):
        proposals.propose(other, restore_job_only.ACTION.name, step=StepId("duplicates"), by=ANA)

    assert scene.store.get(other).proposals == {}
    assert scene.store.get(other).outcomes == {}


def test_a_start_that_was_approved_before_does_nothing(scene: Scene) -> None:
    """The rehearsal came between its beginning and its first effect."""
    other = elsewhere(scene)
    rehearsed(scene)
    start = restore_job_only.propose(scene.plan(number=5)).model_copy(update={"id": OTHER})
    begins(scene.store, other, start)
    before = len(scene.calls)

    scene.executions.carry_on(other, OTHER)

    view = scene.store.get(other).proposals[OTHER]
    assert view.state is ProposalState.REFUSED
    assert len(scene.calls) == before
    assert "is stopped for “Repair” of" in view.result.sentence


def test_a_private_incident_is_not_named(scene: Scene) -> None:
    """Nor its repair."""
    first = scene.store.get(scene.incident)
    rehearsed(scene)
    start = restore_job_only.propose(scene.plan(number=5))
    hidden = scene.store.get(scene.incident)
    hidden.opened = first.opened.model_copy(update={"private": True})
    other = elsewhere(scene)

    with pytest.raises(Refused, match="a repair of a private incident") as refused:
        must_end_no_repair(start, other, (hidden, scene.store.get(other)))

    assert str(scene.incident) not in str(refused.value)


def test_what_starts_nothing_is_not_held_up(scene: Scene) -> None:
    """A rehearsal of the other table over the job that is down."""
    rehearsed(scene)
    start = restore_job_only.propose(scene.plan(number=5))
    nothing = start.model_copy(update={"effects": ()})

    must_end_no_repair(nothing, elsewhere(scene), scene.store.every())


def test_a_job_that_somebody_has_started_does_not_wait(scene: Scene) -> None:
    """Nothing is left to be protected: it runs."""
    rehearsed(scene)
    other = elsewhere(scene)
    scene.flink.submit(job("b"), at_checkpoint=3, restored=savepoint_of(scene, "a", 3))
    scene.flink.checkpoints(job("b"), 2)
    start = restore_job_only.propose(scene.plan(number=5))

    must_end_no_repair(start, other, scene.store.every())

    assert {type(effect) for effect in start.effects} >= {StopJob}
