"""Planned savepoints: which one counts, for which code, for whom, and the question before another one is restored."""

from datetime import timedelta

import pytest

from bot.actions import undo_proposal
from bot.domain.effects import StartJob
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState
from bot.domain.ids import UserId
from bot.domain.requirements import RestorePointIntact
from bot.domain.timeline import sentence
from bot.slack.blocks.savepoints import catalogue_text, savepoint_form
from tests.rewound import ANA, BEN
from tests.savepoints.world import WEEK, World
from tests.tables import ORDERS


def test_the_catalogue_says_what_pairs_with_what_for_which_code(world: World) -> None:
    """Checkpoint, snapshot, tag, both code versions, reason and end; before the stop there is none."""
    world.plans(ANA)
    before, head = catalogue_text(ORDERS, world.savepoints.catalogue(ORDERS)), world.scene.table.head

    world.takes_it()
    found = world.savepoints.catalogue(ORDERS)
    kept, counts, _left, _hidden = found
    told = catalogue_text(ORDERS, found)

    assert "No savepoint of the job of sales.orders is kept yet." in before
    assert counts == kept[0]
    assert f"Checkpoint 5 pairs with snapshot {world.scene.snapshot('a', 5)} (tag savepoint-5-" in told
    assert f"Table snapshot at the proposal: {head}." in told
    assert "code 1.4 for 1.5" in told
    assert "New pricing." in told
    assert kept[0].path in told


def test_another_restore_is_asked_about_before_anybody_approves_it(world: World) -> None:
    """The refusal names both points; with the reason on record it can be approved."""
    world.plans()
    world.takes_it()
    proposal = world.proposes_the_rewind()

    with pytest.raises(Refused, match=r"does not start the job from the authoritative savepoint.*code 1\.4") as refused:
        world.ben_approves(proposal)
    world.savepoints.explain(world.scene.incident, "The new code wrote wrong prices.", by=ANA)
    world.ben_approves(proposal)

    assert world.older in str(refused.value)
    assert world.scene.view(proposal.id).state is ProposalState.APPROVED
    told = [sentence(entry) for entry in world.scene.store.get(world.scene.incident).entries]
    assert any(text.endswith("The new code wrote wrong prices.") and world.older in text for text in told)


def test_the_savepoint_itself_is_restored_without_a_question_by_whom_the_plan_names(world: World) -> None:
    """The undo starts from this very path; of two who could carry it out, only one is named."""
    world.plans(ANA)
    world.takes_it()
    plan = world.scene.plan(undoes=world.scene.plan().proposal, number=2)
    proposal = world.proposes(undo_proposal.propose(plan), plan)

    world.ben_approves(proposal)

    with pytest.raises(Refused, match=f"may not restore this savepoint.*names <@{ANA}>"):
        world.approvals.may_begin(world.scene.incident, proposal.id, BEN)
    world.approvals.may_begin(world.scene.incident, proposal.id, ANA)
    with pytest.raises(Refused, match="Nothing needs a reason"):
        world.savepoints.explain(world.scene.incident, "Because.", by=ANA)


def test_whom_the_plan_names_carries_out_what_others_proposed_and_approved(world: World) -> None:
    """Neither proposer nor approver may, so nobody else could; anybody else is still turned away."""
    cleo, dana = UserId("U0CLEO0003"), UserId("U0DANA0004")
    world.plans(cleo)
    world.takes_it()
    plan = world.scene.plan(undoes=world.scene.plan().proposal, number=2)
    proposal = world.proposes(undo_proposal.propose(plan), plan)

    with pytest.raises(Refused):
        world.approvals.may_begin(world.scene.incident, proposal.id, cleo)
    world.ben_approves(proposal)

    for user in (ANA, BEN):
        with pytest.raises(Refused, match=f"names <@{cleo}>"):
            world.approvals.may_begin(world.scene.incident, proposal.id, user)
    with pytest.raises(Refused, match="Only the proposer or an approver"):
        world.approvals.may_begin(world.scene.incident, proposal.id, dana)
    world.approvals.may_begin(world.scene.incident, proposal.id, cleo)
    world.scene.executions.begin(world.scene.incident, proposal.id, by=cleo)
    assert world.scene.view(proposal.id).state is ProposalState.EXECUTING


def test_an_older_savepoint_is_restored_by_whom_its_own_plan_names(world: World) -> None:
    """A reason makes nobody of them: the newer one names Ben, the one that is started from names Ana."""
    world.plans(ANA)
    world.takes_it()
    plan = world.scene.plan(undoes=world.scene.plan().proposal, number=2)
    world.takes_a_newer_one(BEN)
    proposal = world.proposes(undo_proposal.propose(plan), plan)
    world.savepoints.explain(world.scene.incident, "The new code wrote wrong prices.", by=BEN)
    world.ben_approves(proposal)

    kept, counts, _left, _hidden = world.savepoints.catalogue(ORDERS)

    assert (len(kept), counts) == (2, kept[0])
    assert kept[0].path == "file:///newer"
    with pytest.raises(Refused, match=f"may not restore this savepoint.*names <@{ANA}>"):
        world.approvals.may_begin(world.scene.incident, proposal.id, BEN)
    world.approvals.may_begin(world.scene.incident, proposal.id, ANA)


@pytest.mark.parametrize(
    ("kept", "started"),
    [
        ("s3a://state/savepoint-1", "s3://state/savepoint-1"),
        ("s3://state/savepoint-1", "s3n://state/savepoint-1/"),
        ("s3a://state/savepoint-1/", "s3a://state/savepoint-1"),
        ("file:/state/savepoint-1", "/state/savepoint-1/"),
    ],
)
def test_whom_a_plan_names_holds_however_its_path_is_spelt(world: World, kept: str, started: str) -> None:
    """Hadoop has several names for S3: another spelling of the path makes it nobody else's to restore."""
    world.plans()
    world.takes_it()
    plan = world.scene.plan(undoes=world.scene.plan().proposal, number=2)
    undo = undo_proposal.propose(plan)
    at = {"path": started}
    effects = tuple(e.model_copy(update=at) if isinstance(e, StartJob) else e for e in undo.effects)
    held = tuple(e.model_copy(update=at) if isinstance(e, RestorePointIntact) else e for e in undo.requirements)
    world.takes_a_newer_one(ANA, at=kept)
    proposal = world.proposes(undo.model_copy(update={"effects": effects, "requirements": held}), plan)
    view = world.scene.view(proposal.id)

    with pytest.raises(Refused, match=f"may not restore this savepoint.*names <@{ANA}>"):
        world.savepoints.must_be_allowed(view, BEN)
    world.savepoints.must_be_allowed(view, ANA)
    world.savepoints.must_be_explained(world.scene.incident, view)


def test_whom_a_plan_names_holds_after_its_day(world: World) -> None:
    """Nothing has to be explained any more; the files are there, and so are the names."""
    world.plans(ANA)
    world.takes_it()
    plan = world.scene.plan(undoes=world.scene.plan().proposal, number=2)
    world.looks_after(WEEK + timedelta(seconds=1))
    proposal = world.proposes(undo_proposal.propose(plan), plan)
    world.ben_approves(proposal)

    with pytest.raises(Refused, match="may not restore this savepoint"):
        world.approvals.may_begin(world.scene.incident, proposal.id, BEN)
    world.approvals.may_begin(world.scene.incident, proposal.id, ANA)


def test_a_savepoint_that_has_passed_its_day_asks_nothing(world: World) -> None:
    """It is still in the catalogue, and counts no more."""
    world.plans()
    world.takes_it()
    world.looks_after(WEEK + timedelta(seconds=1))
    proposal = world.proposes_the_rewind()

    world.ben_approves(proposal)

    kept, counts, _left, _hidden = world.savepoints.catalogue(ORDERS)
    assert (len(kept), counts) == (1, None)


def test_a_plan_into_the_past_is_refused_and_nothing_is_written(world: World) -> None:
    """A savepoint is kept into the future."""
    before = world.scene.store.get(world.scene.incident).seq

    with pytest.raises(Refused, match="This day has passed"):
        world.plans(until=-WEEK)

    assert world.scene.store.get(world.scene.incident).seq == before


def test_the_form_shows_what_runs_now(world: World) -> None:
    """Head and newest checkpoint are told, the running code is filled in."""
    form = savepoint_form(world.savepoints.offer(ORDERS), "C0ORDERS01").to_dict()

    assert "newest checkpoint 5" in str(form["blocks"][0])
    assert form["private_metadata"] == "sales.orders/C0ORDERS01"
    assert [b["element"].get("initial_value") for b in form["blocks"] if b.get("block_id") == "before"] == ["test"]
