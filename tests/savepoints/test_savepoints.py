"""Planned savepoints: which one counts, for which code, for whom, and the question before another one is restored."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.actions import rewind_table_and_job, take_savepoint, undo_proposal
from bot.actions._completing import completed
from bot.adapters.clock import SystemClock
from bot.bootstrap import CONTENT
from bot.cli.nobody import NobodyThere
from bot.domain.action import Plan
from bot.domain.entries import ProposalMade
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState
from bot.domain.proposal import Proposal
from bot.domain.timeline import sentence
from bot.runbook.parse import read_all
from bot.service.approving import Approvals
from bot.service.opening import Opening
from bot.service.proposing import Proposals
from bot.service.savepoints import Savepoints
from bot.slack.blocks.savepoints import catalogue_text, savepoint_form
from tests.actions.scene import Scene
from tests.rewound import ANA, BEN
from tests.tables import ORDERS, job

WEEK = timedelta(days=7)


class World:
    """A scene whose run has left a savepoint at 3, and goes on to 5; and the use cases over it."""

    def __init__(self, folder: Path) -> None:
        self.scene = Scene.made_in(folder)
        self.older = str(self.scene.flink.savepoint(job("a")))
        self.good = self.scene.snapshot("a", 3)
        self.scene.flink.checkpoints(job("a"), 2)
        opening = Opening(self.scene.store, self.scene.observer, read_all(CONTENT / "runbooks"))
        self.savepoints = Savepoints(self.scene.store, self.scene.observer, opening, SystemClock())
        proposals = Proposals(self.scene.store, self.scene.observer, None, {}, SystemClock())  # type: ignore[arg-type]
        self.approvals = Approvals(self.scene.store, proposals, NobodyThere(), SystemClock(), self.savepoints)

    def plans(self, *restorers: str, until: timedelta = WEEK) -> None:
        """Ana plans the change from code 1.4 to 1.5."""
        self.savepoints.plan(
            ORDERS, "C0ORDERS01", reason="New pricing.", code_before="1.4", code_after="1.5",
            told=("revenue_daily",), restorers=restorers, until=datetime.now(UTC) + until, by=ANA,
        )  # type: ignore[arg-type]  # fmt: skip

    def takes_it(self) -> None:
        """The approved savepoint is taken."""
        plan = self.scene.plan()
        assert self.scene.carries_out(take_savepoint.propose(plan), plan).state is ProposalState.APPLIED

    def proposes(self, proposal: Proposal, plan: Plan) -> Proposal:
        """Proposed, and nothing more."""
        made = completed(proposal, plan)
        self.scene.store.write(self.scene.incident, by=ANA, decide=lambda _i: [ProposalMade(step=None, proposal=made)])
        return made

    def proposes_the_rewind(self) -> Proposal:
        """Back to checkpoint 3, from the older savepoint."""
        plan = self.scene.plan(last_good=self.good, number=2)
        return self.proposes(rewind_table_and_job.propose(plan), plan)

    def ben_approves(self, proposal: Proposal) -> None:
        """Ben says yes to what he was shown."""
        self.approvals.approve(self.scene.incident, proposal.id, digest=proposal.digest, by=BEN)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A table, a job, a record."""
    made = World(tmp_path)
    yield made
    made.scene.catalog.close()
    made.scene.record.close()


def test_the_catalogue_says_what_pairs_with_what_for_which_code(world: World) -> None:
    """Checkpoint, snapshot, tag, both code versions, reason and end; before the stop there is none."""
    world.plans(ANA)
    before = catalogue_text(ORDERS, *world.savepoints.catalogue(ORDERS))

    world.takes_it()
    kept, counts = world.savepoints.catalogue(ORDERS)
    told = catalogue_text(ORDERS, kept, counts)

    assert "No savepoint of the job that writes sales.orders was kept yet." in before
    assert counts == kept[0]
    assert f"Checkpoint 5 pairs with snapshot {world.scene.snapshot('a', 5)} (tag savepoint-5-" in told
    assert "code 1.4 for 1.5" in told
    assert "New pricing." in told
    assert kept[0].path in told


def test_another_restore_is_asked_about_before_anybody_approves_it(world: World) -> None:
    """The refusal names both points; with the reason on record it can be approved."""
    world.plans()
    world.takes_it()
    proposal = world.proposes_the_rewind()

    with pytest.raises(Refused, match=r"another point than the authoritative savepoint.*code 1\.4") as refused:
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

    with pytest.raises(Refused, match=f"not yours to restore.*names <@{ANA}>"):
        world.approvals.may_begin(world.scene.incident, proposal.id, BEN)
    world.approvals.may_begin(world.scene.incident, proposal.id, ANA)
    with pytest.raises(Refused, match="Nothing has to be explained"):
        world.savepoints.explain(world.scene.incident, "Because.", by=ANA)


def test_a_savepoint_that_has_passed_its_day_asks_nothing(world: World) -> None:
    """It is still in the catalogue, and counts no more."""
    world.plans(until=timedelta(seconds=0.2))
    world.takes_it()
    time.sleep(0.2)
    proposal = world.proposes_the_rewind()

    world.ben_approves(proposal)

    kept, counts = world.savepoints.catalogue(ORDERS)
    assert (len(kept), counts) == (1, None)


def test_a_plan_into_the_past_is_refused_and_nothing_is_written(world: World) -> None:
    """A savepoint is kept into the future; the same plan twice is one entry."""
    before = world.scene.store.get(world.scene.incident).seq

    with pytest.raises(Refused, match="into the future"):
        world.plans(until=-WEEK)

    assert world.scene.store.get(world.scene.incident).seq == before


def test_the_form_shows_what_runs_now(world: World) -> None:
    """Head and newest checkpoint are told, the running code is filled in."""
    form = savepoint_form(world.savepoints.offer(ORDERS), "C0ORDERS01").to_dict()

    assert "newest checkpoint 5" in str(form["blocks"][0])
    assert form["private_metadata"] == "sales.orders/C0ORDERS01"
    assert [b["element"].get("initial_value") for b in form["blocks"] if b.get("block_id") == "before"] == ["test"]
