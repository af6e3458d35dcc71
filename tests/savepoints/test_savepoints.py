"""Planned savepoints: terms, day, expected end, for whom a plan stands, and who reads it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.actions import take_savepoint, undo_proposal
from bot.actions._effects import standing
from bot.adapters.journal_sql import Store
from bot.bootstrap.content import CONTENT
from bot.incident.approval import Approval
from bot.incident.asked import said_moment
from bot.incident.decisions import Reject
from bot.incident.effects import KeepSavepoint, StartJob
from bot.incident.entries import NoticeQueued, PromiseReminded, ProposalApproved
from bot.incident.execution import ProposalState, ProposalView
from bot.incident.notice import PLANNED, Notice, NoticeData
from bot.incident.promises import ASKED_AGAIN, reminders
from bot.incident.proposal import PlanCounts, Proposal
from bot.incident.savepoints import has_left_main
from bot.notices import data_of, render, scan
from bot.observation.errors import Refused, Superseded
from bot.observation.ids import ProposalId, SnapshotId
from bot.observation.table import TableState
from bot.service.timeline import sentence
from bot.slack.blocks.promises import reminder_of_promise
from bot.slack.blocks.proposal import proposal_message
from bot.slack.blocks.savepoints import catalogue_text, savepoint_form
from tests.actions.scene import Scene
from tests.decisions import CHANNEL
from tests.incidents import Story
from tests.rewound import ANA, BEN
from tests.savepoints.test_announced import PLAN, SETUP, facts_told
from tests.savepoints.world import WEEK, World
from tests.tables import ORDERS, job


def test_the_catalogue_says_what_pairs_with_what_for_which_code(world: World) -> None:
    """Checkpoint, snapshot, tag, both code versions, reason and end; before the stop there is none."""
    world.plans()
    before, head = catalogue_text(ORDERS, world.savepoints.catalogue(ORDERS)), world.scene.table.head

    world.takes_it()
    found = world.savepoints.catalogue(ORDERS)
    kept, counts, _left, _hidden, _not_now = found
    told = catalogue_text(ORDERS, found)

    assert "No savepoint of the job of sales.orders is kept." in before
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

    kept, counts, _left, _hidden, _not_now = world.savepoints.catalogue(ORDERS)

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
    incident = world.scene.store.get(world.scene.incident)
    form = savepoint_form(incident, world.savepoints.offer(incident.id)).to_dict()

    assert "newest checkpoint 5" in str(form["blocks"][0])
    assert form["private_metadata"] == f"{incident.id}/{incident.opened.channel}"
    assert [b["element"].get("initial_value") for b in form["blocks"] if b.get("block_id") == "before"] == ["test"]


def _terms(proposal: Proposal) -> dict[str, str]:
    return {term.name: term.says for term in proposal.preview.recorded}


def test_the_preview_shows_the_whole_plan(world: World) -> None:
    """Reason, code, snapshots, retention, until when."""
    world.plans()
    proposal, plan = world.savepoint()

    terms = _terms(proposal)

    head = world.scene.snapshot("a", 5)
    day = f"{plan.planned.until:%Y-%m-%d}"
    assert terms == {
        "Reason": "New pricing.",
        "Code": "1.4 before, 1.5 after. But Flink says that test runs now.",
        "Snapshots": f"{head} is the head now, schema 0. The snapshot that the stop commits is added later.",
        "Retention": f"The tag keeps the snapshot until {day}, or until the table has no open incident. "
        "The contract names no retention.",
        "Authoritative": f"until {day}. A proposal that starts from another point names both.",
    }


def test_people_are_asked_with_every_term_in_the_message(world: World) -> None:
    """Nobody is mentioned, whatever the reason says."""
    world.plans(reason=f"New pricing, asked for by <@{BEN}>.")
    made = world.proposes(*world.savepoint())
    view = ProposalView(proposal=made, step=None)

    _text, blocks = proposal_message(world.scene.store.get(world.scene.incident), view, {})

    shown = str([block.to_dict() for block in blocks])
    assert "*Terms*" in shown
    assert f"asked for by &lt;@{BEN}&gt;." in shown


def test_the_digest_covers_the_terms(world: World) -> None:
    """A yes to one reason is no yes to another."""
    world.plans()
    one, plan = world.savepoint()

    other = take_savepoint.propose(
        plan.model_copy(update={"planned": plan.planned.model_copy(update={"reason": "Something else."})})
    )

    assert one.digest != other.digest


def test_a_plan_is_not_changed_under_its_proposal(world: World) -> None:
    """With the proposal rejected, it can be planned anew."""
    world.plans()
    made = world.proposes(*world.savepoint())

    with pytest.raises(Refused, match=r"A savepoint is already proposed.*Reject it first"):
        world.plans(reason="Another.")
    with pytest.raises(Refused, match="A savepoint is already proposed"):
        world.savepoints.offer(world.scene.incident)
    world.approvals.act(world.scene.incident, made.id, Reject(reason="Not today."), by=BEN)
    world.plans(reason="Another.")

    plan = world.scene.store.get(world.scene.incident).plan
    assert plan.reason == "Another."


def test_what_is_kept_has_the_terms_that_were_approved(world: World) -> None:
    """A plan that is written afterwards is for the next savepoint."""
    world.plans()
    world.takes_it()
    world.plans(reason="Another.", until=4 * WEEK)

    _kept, counts, _left, _hidden, _not_now = world.savepoints.catalogue(ORDERS)

    assert counts.plan.reason == "New pricing."


def test_a_plan_whose_day_has_passed_is_not_proposed(world: World) -> None:
    """It would count for nobody; the refusal says how to plan anew."""
    world.plans()

    with pytest.raises(Refused, match=r"The day of the planned savepoint has passed.*Plan a savepoint"):
        world.savepoint(at=world.scene.plan().at + 2 * WEEK)


PASSED = r"day of the planned savepoint has passed.*now .* UTC.*Nobody would rely.*Nothing was changed.*To plan"


def test_nothing_is_stopped_when_the_day_has_passed_since_the_approval(world: World) -> None:
    """Approved a minute before midnight, executed a minute after: the run goes on, and the proposal is superseded."""
    proposal = world.savepoint_of_a_day_that_passed()
    approval = Approval(by=BEN, at=datetime.now(UTC), digest=proposal.digest)
    yes = ProposalApproved(proposal=proposal.id, approval=approval, complete=True)
    world.scene.store.write(world.scene.incident, by=BEN, decide=lambda _i: [yes])
    alive = world.scene.alive

    with pytest.raises(Superseded, match=PASSED):
        world.scene.executions.begin(world.scene.incident, proposal.id, by=ANA)

    assert world.scene.view(proposal.id).state is ProposalState.SUPERSEDED
    assert world.scene.alive == alive
    assert "stop" not in world.scene.calls


def test_nobody_can_approve_what_would_count_for_nobody(world: World) -> None:
    """The refusal says how to plan anew, and then it can be."""
    proposal = world.savepoint_of_a_day_that_passed()

    with pytest.raises(Superseded, match=PASSED):
        world.ben_approves(proposal)

    world.plans(reason="Once more.")
    assert world.savepoint()[0].effects


def test_a_stopped_run_keeps_its_savepoint_though_midnight_comes_in_between(world: World) -> None:
    """Before the stop the day is asked for; after it, what was stopped is still proven and kept."""
    world.plans()
    proposal = world.proposes(*world.savepoint())
    keeps = next(n for n, effect in enumerate(proposal.effects) if isinstance(effect, KeepSavepoint))

    asked = [any(isinstance(each, PlanCounts) for each in standing(proposal, n)) for n in range(keeps + 1)]

    assert asked == [True] * keeps + [False]


def test_a_savepoint_without_a_plan_has_no_day_to_pass(world: World) -> None:
    """Its seven days begin when it is taken."""
    proposal, _plan = world.savepoint()

    assert not any(isinstance(each, PlanCounts) for each in proposal.requirements)


NOW = datetime(2026, 11, 24, 13, 0, tzinfo=UTC)


@pytest.fixture
def story(record: Store) -> Story:
    """A plan whose work is over in two hours."""
    made = Story(record.journal).opens(planned=True)
    return made.says(PLAN.model_copy(update={"over_by": made.now + timedelta(hours=2)}), by=ANA)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("14:10", datetime(2026, 11, 24, 14, 10, tzinfo=UTC)),
        ("09:00", datetime(2026, 11, 25, 9, 0, tzinfo=UTC)),
        (" 2026-12-01 09:00 ", datetime(2026, 12, 1, 9, 0, tzinfo=UTC)),
        ("14:10 UTC", datetime(2026, 11, 24, 14, 10, tzinfo=UTC)),
        ("2026-12-01T09:00+02:00", datetime(2026, 12, 1, 7, 0, tzinfo=UTC)),
    ],
)
def test_a_time_is_the_next_one_and_in_utc_unless_it_says_otherwise(text: str, meant: datetime) -> None:
    """As people write it."""
    assert said_moment(text, NOW) == meant


@pytest.mark.parametrize("text", ["soon", "2026-12-01", "25:00", "10m"])
def test_what_names_no_time_is_refused_with_what_would(text: str) -> None:
    """A day alone is no time by which anybody can look."""
    with pytest.raises(Refused, match=r"is not a time\. Expected 14:10"):
        said_moment(text, NOW)


def test_the_announcement_says_by_when_it_is_over(story: Story) -> None:
    """To people and to programs; a time that has passed is not repeated."""
    plan = story.incident.plan
    facts = facts_told(story, PLANNED)

    assert facts.over_by == plan.over_by
    assert f"We expect to finish by {plan.over_by.day} Nov" in render(scan(CONTENT / "messages")[PLANNED], facts)
    assert data_of(facts, PLANNED).over_by == plan.over_by
    assert "Expected to be over by" in sentence(story.incident.entries[-1])
    story.now = plan.over_by
    assert facts_told(story, PLANNED).over_by is None


def test_whoever_responds_is_asked_then_and_each_day_later(story: Story) -> None:
    """Not only after a day, as where nobody said it."""
    over_by = story.now + timedelta(hours=2)
    data = NoticeData(stage="investigating", over_by=over_by)
    notice = Notice(kind=PLANNED, revision=1, consumer="a", channel=CHANNEL, text="x", data=data)
    story.says(NoticeQueued(notice=notice))

    [asked] = reminders(story.incident, SETUP)
    story.now = over_by
    story.says(PromiseReminded(what=asked.what, due=asked.due, moment=asked.moment, people=(ANA,)))
    _, blocks = reminder_of_promise(story.incident, story.incident.entries[-1])
    [again] = reminders(story.incident, SETUP)

    assert (asked.what, asked.moment) == ("planned-end", over_by)
    assert (again.what, again.moment) == ("planned-end", story.incident.entries[-1].at + ASKED_AGAIN)
    assert "They expect it by" in str(blocks[0].to_dict())


def test_after_a_rewind_below_it_the_list_says_that_it_pairs_no_more(world: World) -> None:
    """Who restored it would repeat nothing and lose what lies between."""
    world.plans()
    world.takes_it()
    before = catalogue_text(ORDERS, world.savepoints.catalogue(ORDERS))
    world.scene.rolls_back(to=world.good)

    found = world.savepoints.catalogue(ORDERS)
    told = catalogue_text(ORDERS, found)

    assert "Authoritative until" in before
    assert (found.counts, found.left) == (None, frozenset({found.kept[0].proposal}))
    assert told.startswith("None is authoritative: main was rolled back")
    assert "Checkpoint 5 paired, until a rollback removed it from main, with snapshot" in told


def test_the_list_says_from_which_savepoint_a_start_would_be_wrong_now(world: World) -> None:
    """Once the job has gone on, or main has gone back: who starts from it then repeats or loses rows."""
    world.plans()
    world.takes_it()
    [kept] = world.savepoints.catalogue(ORDERS).kept
    stopped = world.savepoints.catalogue(ORDERS).not_now
    world.scene.flink.submit(job("b"), at_checkpoint=5)
    world.scene.flink.checkpoints(job("b"), 2)

    found = world.savepoints.catalogue(ORDERS)

    assert (stopped, set(found.not_now)) == ({}, {kept.proposal})
    assert found.not_now[kept.proposal] in catalogue_text(ORDERS, found)


def test_another_restore_then_names_no_other(world: World) -> None:
    """There is nothing that it is instead of."""
    world.plans()
    world.takes_it()
    world.scene.rolls_back(to=world.good)
    proposal = world.proposes_the_rewind()

    assert world.beside(proposal) == proposal


def test_while_the_table_cannot_be_looked_at_it_counts_and_the_list_says_so(world: World) -> None:
    """Not to know is no reason to let another restore pass without a word."""
    world.plans()
    world.takes_it()
    world.scene.drops()

    found = world.savepoints.catalogue(ORDERS)

    assert (found.counts, found.left) == (found.kept[0], None)
    assert "Could not read the table" in catalogue_text(ORDERS, found)


def test_where_expiry_has_cut_the_line_nobody_says_that_main_left_it(world: World) -> None:
    """The tag keeps its snapshot; those between it and the head are gone, with the parent's id where PyIceberg took
    them."""
    world.plans()
    world.takes_it()
    [kept] = world.savepoints.catalogue(ORDERS).kept
    table = world.scene.table
    mine = table.by_id[SnapshotId(int(kept.snapshot))]
    head = mine.model_copy(
        update={"snapshot_id": SnapshotId(77), "parent_id": SnapshotId(76), "sequence_number": mine.sequence_number + 9}
    )
    cut = _with(table, (mine, head), SnapshotId(77))
    bare = head.model_copy(update={"parent_id": None})
    by_pyiceberg = _with(table, (mine, bare), SnapshotId(77))
    told = {**head.summary, "total-records": head.summary["added-records"]}
    aside = _with(table, (mine, bare.model_copy(update={"summary": told})), SnapshotId(77))

    assert not has_left_main(kept, cut)
    assert not has_left_main(kept, by_pyiceberg)
    assert has_left_main(kept, aside)


def _with(table: TableState, snapshots: tuple[object, ...], head: SnapshotId) -> TableState:
    fields = {name: getattr(table, name) for name in TableState.model_fields}
    return TableState.model_construct(**{**fields, "snapshots": snapshots, "head": head})


INSIDE = "G0PRIVATE1"


@pytest.fixture
def private_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """The incident on the table, its second one, is private_world."""
    monkeypatch.setattr(Scene, "incident", property(lambda scene: scene.store.all()[-1].id))
    made = World(tmp_path)
    opened = made.scene.store.get(made.scene.incident).opened
    made.closes()
    secret = opened.model_copy(update={"private": True, "channel": INSIDE})
    made.scene.store.open(secret, by=ANA)
    return made


def test_the_list_tells_of_its_savepoint_only_what_a_restore_needs(private_world: World) -> None:
    """Reason, consumers and code are of the incident; in its channel all is read."""
    private_world.plans(reason="A breach.", code_before="1.4-leaky")
    private_world.takes_it()
    [kept] = private_world.savepoints.catalogue(ORDERS).kept

    outside = catalogue_text(ORDERS, private_world.savepoints.catalogue(ORDERS))
    invited = catalogue_text(ORDERS, private_world.savepoints.catalogue(ORDERS, INSIDE))

    needed = (
        kept.path,
        f"heckpoint {kept.checkpoint} pairs with snapshot {kept.snapshot}",
        f"until {kept.until:%Y-%m-%d}",
    )
    planned = ("A breach.", "1.4-leaky", "1.5")
    assert all(each in outside for each in (*needed, "Taken in a private incident."))
    assert not any(each in outside.replace(kept.path, "") for each in (*planned, str(private_world.scene.incident)))
    assert all(each in invited for each in (*needed, *planned))


def test_savepoints_of_other_incidents_are_told_whole_beside_it(private_world: World) -> None:
    """Only the private one is cut."""
    private_world.plans(reason="A breach.")
    private_world.takes_it()

    found = private_world.savepoints.catalogue(ORDERS)
    plan = found.kept[0].plan.model_copy(update={"reason": "New pricing."})
    other = found.kept[0].model_copy(update={"proposal": ProposalId("OTHER"), "incident": "wl-9", "plan": plan})
    told = catalogue_text(ORDERS, found._replace(kept=(*found.kept, other)))

    assert "New pricing." in told
    assert "A breach." not in told
    assert 1 == told.count("Taken in a private incident.")


def test_a_start_from_elsewhere_names_the_savepoint_without_the_code_of_a_private_plan(private_world: World) -> None:
    """Whoever approves is told which savepoint counts, not which code it holds."""
    private_world.plans(code_before="1.4-leaky")
    private_world.takes_it()

    [*_, term] = private_world.beside(private_world.proposes_the_rewind()).preview.recorded

    assert "taken in a private incident" in term.says
    assert "1.4-leaky" not in term.says
