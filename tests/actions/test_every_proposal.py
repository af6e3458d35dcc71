"""What holds for every proposal that any action makes of a table: the package's, and those that `WATERLINE_ACTIONS`
names. Each is carried out through real effects on a real catalog, with a power cut at every boundary, and undone.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from bot import actions
from bot.actions._completing import completed, must_be_destructive
from bot.actions._effects import KINDS
from bot.actions._requirements import World, check_all
from bot.actions._scan import scan
from bot.domain.action import Plan
from bot.domain.errors import CouldNotLook, Refused, Superseded
from bot.domain.execution import ProposalState
from bot.domain.proposal import FINAL, Proposal
from tests.actions.scene import Scene, carry_out
from tests.actions.worlds import OWN_WORLDS, WORLDS, closed, made, shown
from tests.power_cut import killed
from tests.rewound import ANA

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
        scene, plan = made(tmp_path / world, world)
        answer = _answer(name, plan)
        closed(scene)
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
    scene, plan = made(tmp_path, world)
    try:
        table, calls = scene.table, scene.calls
        proposal = _proposed(name, scene, world, plan)

        again = completed(ACTIONS[name].propose(plan), plan)

        assert again == proposal, "the same plan gives another proposal"
        assert again.digest == proposal.digest == Proposal.model_validate_json(proposal.model_dump_json()).digest
        assert proposal.effects
        assert all(type(effect) in KINDS for effect in proposal.effects)
        assert proposal.preview.sentences
        assert all(sentence.endswith((".", ":")) for sentence in proposal.preview.sentences)
        assert proposal.preview.sure.endswith(".")
        assert proposal.undo.endswith(".")
        assert (scene.table.metadata_location, scene.calls) == (table.metadata_location, calls), "it has done something"
    finally:
        closed(scene)


@each
def test_its_requirements_hold_now_and_hold_this_very_table(tmp_path: Path, name: str, world: str) -> None:
    """A table that was dropped and made anew under the same name is another table."""
    scene, plan = made(tmp_path, world)
    try:
        proposal = _proposed(name, scene, world, plan)
        here = World(table=scene.table, jobs=scene.observer.jobs)
        other = here.table.model_copy(update={"uuid": "00000000-0000-0000-0000-000000000000"})

        check_all(proposal.requirements, here)

        with pytest.raises(Superseded):
            check_all(proposal.requirements, World(table=other, jobs=scene.observer.jobs))
    finally:
        closed(scene)


@each
def test_what_somebody_commits_after_the_approval_stays_on_main(tmp_path: Path, name: str, world: str) -> None:
    """Nobody has approved that it goes: the proposal is superseded, or does not touch it."""
    scene, plan = made(tmp_path, world)
    try:
        proposal = scene.approved(_proposed(name, scene, world, plan, is_completed=False), plan)
        scene.backfill_commits()
        head = scene.table.head

        with suppress(Superseded):
            scene.executions.begin(scene.incident, proposal.id, by=ANA)
            scene.executions.carry_on(scene.incident, proposal.id)

        assert head in scene.table.chain_ids, "main was moved past a commit that nobody has seen"
    finally:
        closed(scene)


@each
def test_it_is_carried_out_verified_and_undone_or_says_that_it_cannot_be(tmp_path: Path, name: str, world: str) -> None:
    """Every check of its effects passes; the undo is a proposal like any other, or refused as the preview has said."""
    scene, plan = made(tmp_path, world)
    try:
        proposal = _proposed(name, scene, world, plan)

        view = scene.carries_out(proposal, plan)

        assert view.state is ProposalState.APPLIED, view.result
        assert [each for each in scene.checked(view) if each.passed is False] == []
        _undone_or_not(scene, proposal)
        assert scene.record.journal.verify() == ()
    finally:
        closed(scene)


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


@_tried(by_test=lambda name, world: (name, world) == ("rewind_table_and_job", "rewound"), marks=(pytest.mark.slow,))
def test_a_power_cut_at_any_boundary_changes_nothing_about_the_end(tmp_path: Path, name: str, world: str) -> None:
    """Killed after, and before, each entry of its execution and started again: the world is as without a cut."""
    wanted, entries = _carried_out(tmp_path / "whole", name, world, None)

    for cut in (*range(1, entries + 1), *range(-entries, 0)):
        found, _ = _carried_out(tmp_path / f"cut{cut}", name, world, cut)

        assert found == wanted, f"cut at {cut} of {entries}"


def _carried_out(folder: Path, name: str, world: str, cut: int | None) -> tuple[dict[str, object], int]:
    """(what the world shows afterwards, entries of the execution)."""
    scene, plan = made(folder, world)
    try:
        proposal = scene.approved(_proposed(name, scene, world, plan, is_completed=False), plan)
        before = scene.store.get(scene.incident).seq
    finally:
        closed(scene)
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


def _proposed(name: str, scene: Scene, world: str, plan: Plan, *, is_completed: bool = True) -> Proposal:
    """What it proposes there, declared as what it is; the test is skipped where it refuses, and a refusal has its three
    parts."""
    proposal = _answer(name, plan)
    if isinstance(proposal, Proposal):
        must_be_destructive(proposal, ACTIONS[name].action)
        return completed(proposal, plan) if is_completed else proposal
    closed(scene)
    assert proposal.happened.endswith(".")
    assert not proposal.remedy or proposal.remedy.endswith(".")
    pytest.skip(f"{name} proposes nothing on a table that is {world}: {proposal.happened}")
