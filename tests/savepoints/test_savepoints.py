"""Planned savepoints: which one counts, for which code, and what a proposal says that starts from another one."""

from datetime import timedelta

import pytest

from bot.actions import undo_proposal
from bot.domain.effects import StartJob
from bot.domain.errors import Refused
from bot.slack.blocks.savepoints import catalogue_text, savepoint_form
from tests.savepoints.world import WEEK, World
from tests.tables import ORDERS


def test_the_catalogue_says_what_pairs_with_what_for_which_code(world: World) -> None:
    """Checkpoint, snapshot, tag, both code versions, reason and end; before the stop there is none."""
    world.plans()
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


def test_a_proposal_that_starts_from_another_point_names_the_authoritative_savepoint(world: World) -> None:
    """It is a term of what is approved; a start from the savepoint itself has none."""
    world.plans()
    world.takes_it()
    rewind = world.proposes_the_rewind()
    undo = undo_proposal.propose(world.scene.plan(undoes=world.scene.plan().proposal, number=2))
    [kept] = world.savepoints.catalogue(ORDERS).kept

    [term] = [t for t in world.beside(rewind).preview.recorded if t.name == "Authoritative savepoint"]

    assert kept.path in term.says
    assert world.older in term.says
    assert world.beside(rewind).digest != rewind.digest
    assert world.beside(undo) == undo


@pytest.mark.parametrize(
    ("kept", "started"),
    [
        ("s3a://state/savepoint-1", "s3://state/savepoint-1"),
        ("s3://state/savepoint-1", "s3n://state/savepoint-1/"),
        ("s3a://state/savepoint-1/", "s3a://state/savepoint-1"),
        ("file:/state/savepoint-1", "/state/savepoint-1/"),
    ],
)
def test_it_is_the_same_savepoint_however_its_path_is_spelt(world: World, kept: str, started: str) -> None:
    """Hadoop has several names for S3: another spelling of the path is no other point."""
    world.plans()
    world.takes_it()
    undo = undo_proposal.propose(world.scene.plan(undoes=world.scene.plan().proposal, number=2))
    at = {"path": started}
    effects = tuple(e.model_copy(update=at) if isinstance(e, StartJob) else e for e in undo.effects)
    world.takes_a_newer_one(at=kept)
    proposal = undo.model_copy(update={"effects": effects})

    assert world.beside(proposal) == proposal
    assert world.beside(undo) != undo


def test_a_savepoint_that_has_passed_its_day_counts_no_more(world: World) -> None:
    """It is still in the catalogue, and no proposal names it."""
    world.plans()
    world.takes_it()
    world.looks_after(WEEK + timedelta(seconds=1))
    proposal = world.proposes_the_rewind()

    kept, counts, _left, _hidden = world.savepoints.catalogue(ORDERS)

    assert (len(kept), counts) == (1, None)
    assert world.beside(proposal) == proposal


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
