"""A job that a repair has left stopped is not forgotten, and its incident not closed over it."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

import bot.diagnosis
from bot.adapters.journal_sql import Store
from bot.diagnosis._support.examine import ModeModule, diagnose, scan
from bot.incident.diagnosis import HEALTHY
from bot.incident.effects import DropBranch, Effect, KeepSavepoint, MakeBranch, StartFromStop, StopJob
from bot.incident.entries import (
    Diagnosed,
    EffectEnded,
    ExecutionEnded,
    ExecutionStarted,
    OutcomeSettled,
    PromiseReminded,
    ProposalMade,
    Verified,
)
from bot.incident.journal import WATERLINE
from bot.incident.proposal import NobodyWrites, Requirement, RunIsCurrent
from bot.incident.setup import TableSetup
from bot.incident.staged_repairs import AGAIN, left_by_stop, standing_job, stood_still
from bot.observation.errors import CouldNotLook, Refused
from bot.observation.ids import ProposalId, SnapshotId
from bot.observation.snapshot import REPAIR as REPAIRED_BY
from bot.service.closing import Closing
from bot.service.diagnosing import Diagnostician
from bot.service.incident_store import IncidentStore
from bot.slack.blocks.promises import reminder_of_promise
from tests import orders_table as orders
from tests.cases import Tale
from tests.decisions import ANA, BEN, rewind
from tests.diagnosis.test_health import pinned
from tests.incidents import Story, healthy
from tests.telling.conftest import Hand
from tests.watch.test_standing_jobs import (
    BRANCH,
    PUBLICATION,
    PUBLISHING,
    REPAIR,
    STARTING,
    carried_out,
    due,
    given_up,
    started,
    stopping,
    story,
)

__all__ = ["story"]


class NoReviews:
    """Nothing can be looked at."""

    def filled(self, _incident: object) -> None:
        raise CouldNotLook("The catalog does not answer.", "", "")


def closing(record: Store) -> Closing:
    """Nobody waits for word."""
    return Closing(IncidentStore(record.journal, Hand()), NoReviews(), {})  # type: ignore[arg-type]


def proven(story: Story, *, passed: bool = True) -> None:
    """The repair, on its branch, and what followed it, on main."""
    for proposal, view in story.incident.proposals.items():
        branch = BRANCH if proposal == REPAIR else None
        if view.verified is None:
            told = Verified(proposal=proposal, passed=passed, checks=(), evidence=(), head=SnapshotId(9), branch=branch)
            story.says(told, by=WATERLINE)


def test_once_it_is_given_up_and_proven_nothing_stands_in_the_way(record: Store, story: Story) -> None:
    """The branch is gone, and somebody started the job."""
    proven(story)
    given_up(story)
    proven(story)

    assert closing(record).close(story.id, "Done.", by=ANA).closed_at is not None


def test_a_deed_that_is_not_proven_yet_is_waited_for(record: Store, story: Story) -> None:
    """The proof that was promised comes only while it is open."""
    proven(story)
    started(story)

    with pytest.raises(Refused, match="is applied and not verified yet"):
        closing(record).close(story.id, "Done.", by=ANA)

    proven(story)
    assert closing(record).close(story.id, "Done.", by=ANA).closed_at is not None


MODES = scan(bot.diagnosis)
DROPPING = DropBranch(table=orders.TABLE, branch=BRANCH, head=SnapshotId(9))
NOBODY = NobodyWrites(job=orders.JOB)
LATER = ProposalId("01JBQ5M7Z3T9K4X8V2N6R0PWAG")
ENDS = pytest.mark.parametrize(("end", "said"), [(PUBLISHING, "published"), (DROPPING, "given up")])


def proposed(story: Story, proposal: ProposalId, effects: tuple[Effect, ...], *requirements: Requirement) -> None:
    told = {"id": proposal, "effects": effects, "title": "Go on", "requirements": requirements}
    story.says(ProposalMade(step=None, proposal=rewind(story.now).model_copy(update=told)), by=ANA)


def settled(story: Story, *effects: Effect, requirement: Requirement = NOBODY) -> None:
    """The repair, and all is proven."""
    proposed(story, PUBLICATION, effects, requirement)
    carried_out(story, PUBLICATION)
    proven(story)


LIVE = RunIsCurrent(job=orders.JOB, job_id=orders.RUN_B)


@pytest.fixture
def refused_story(record: Store) -> Story:
    """Run b was stopped for a repair, and a backfill came before its branch was begun."""
    refused_story = Story(record.journal).opens()
    proposed(refused_story, REPAIR, stopping(), LIVE)
    refused_story.says(ExecutionStarted(proposal=REPAIR), by=BEN)
    left = {"savepoint": "s3://lake/savepoints/savepoint-b-6"}
    refused_story.says(EffectEnded(proposal=REPAIR, index=0, how="done", detail="Done.", result=left))
    refused(refused_story, 1)
    return refused_story


def refused(refused_story: Story, index: int) -> None:
    """At this effect of the repair."""
    refused_story.says(EffectEnded(proposal=REPAIR, index=index, how="refused", detail="Main has moved."))
    refused_story.says(ExecutionEnded(proposal=REPAIR, outcome="refused", sentence="Main has moved."))


@pytest.fixture(params=["rehearsed", "its proof failed", "published", "given up", "refused"])
def down(request: pytest.FixtureRequest) -> tuple[Story, str]:
    """A job that stands still, and by which end of its repair."""
    if request.param == "refused":
        return request.getfixturevalue("refused_story"), request.param
    story: Story = request.getfixturevalue("story")
    proven(story, passed=request.param != "its proof failed")
    if request.param in {"published", "given up"}:
        settled(story, PUBLISHING if request.param == "published" else DROPPING)
    return story, request.param


WAYS_OUT = {"rehearsed": "“Deduplicate rows”.*anyway", "its proof failed": "“Deduplicate rows”.*anyway"}


def test_its_incident_is_closed_over_it_only_anyway(record: Store, down: tuple[Story, str]) -> None:
    """Waterline has stopped it; in a closed incident nothing starts it again, and nobody would be reminded."""
    story, how = down
    ways = WAYS_OUT.get(how, "undo the stop" if how == "refused" else "")

    with pytest.raises(Refused, match=rf"{orders.JOB} is stopped since .*{ways}"):
        closing(record).close(story.id, "Done.", by=ANA)

    assert closing(record).close(story.id, "Anyway, it was started by hand.", by=ANA).closed_at is not None


ASKED = {
    "published": ("That repair is published.", "diagnose again to end this reminder"),
    "given up": ("That repair is given up.", "diagnose again to end this reminder"),
    "refused": ("“Go on” stopped the job and could not finish", "Propose to undo it"),
}


@pytest.mark.parametrize("down", ASKED, indirect=True)
def test_responders_are_asked_on_while_it_is_down(down: tuple[Story, str]) -> None:
    """An hour after its repair has come to its end, in words that fit."""
    story, how = down
    stands = standing_job(story.incident)
    asked = PromiseReminded(what="standing-job", due=stands.since, moment=due(story)[0], people=(ANA,))
    entry = story.says(asked).incident.entries[-1]

    text = str([block.to_dict() for block in reminder_of_promise(story.incident, entry)[1]])

    assert stands.asked_from + AGAIN == asked.moment
    assert [words for words in ASKED[how] if words not in text] == []
    assert "publish_repair" not in text


def restored(story: Story) -> None:
    """By a later proposal."""
    proposed(story, LATER, (STARTING,), NOBODY)
    carried_out(story, LATER)
    proven(story)


def seen_alive(story: Story) -> None:
    """Somebody started it, and a later proposal names its run."""
    proposed(story, LATER, (), RunIsCurrent(job=orders.JOB, job_id=orders.RUN_C))
    carried_out(story, LATER)
    proven(story)


def called_healthy(story: Story) -> None:
    """Somebody started it."""
    story.says(healthy())
    proven(story)


@pytest.mark.parametrize("runs", [restored, seen_alive, called_healthy])
@pytest.mark.parametrize("down", ASKED, indirect=True)
def test_once_it_runs_nothing_is_asked(record: Store, down: tuple[Story, str], runs: Callable[[Story], None]) -> None:
    """By whomever it was started; also the undo of a stop starts it."""
    story, how = down
    before = standing_job(story.incident)

    runs(story)

    assert before.settled == how
    assert [] == due(story)
    assert standing_job(story.incident) is None
    assert closing(record).close(story.id, "Done.", by=ANA).closed_at is not None


def test_nor_where_it_was_started_with_the_publication(story: Story) -> None:
    """As most are."""
    settled(story, PUBLISHING, STARTING)

    assert standing_job(story.incident) is None


def test_nor_where_its_run_was_alive_when_the_repair_was_given_up(story: Story) -> None:
    """People had started it: then the proposal does not say that nobody writes."""
    settled(story, DROPPING, requirement=RunIsCurrent(job=orders.JOB, job_id=orders.RUN_C))

    assert standing_job(story.incident) is None


def deduplicated(*, goes_on: bool) -> Tale:
    """Run b read positions again that run a had committed, and its extra rows were taken off; run c is started by hand
    from what b has left, or nothing is."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=6).commits("b", *range(7, 14)).becomes("b", "FINISHED")
    tale.commits(None, operation="delete", rows=0)
    newest = tale.snapshots[-1]
    told = {**newest.summary, REPAIRED_BY: f"{REPAIR} 2", "added-position-deletes": "40", "added-records": "0"}
    tale.snapshots[-1] = newest.model_copy(update={"summary": told})
    return tale.flink_runs("c", restored=13).commits("c", 14, 15, 16) if goes_on else tale


def diagnosed(record: Store, story: Story, tale: Tale, modes: Mapping[str, ModeModule]) -> None:
    """By Waterline, of the world as the tale tells it."""
    case = tale.looked_at()
    told = {"name": orders.TABLE, "consumers": (), "policies": {}, "next_update_minutes": 30}
    setup = TableSetup.model_validate(told | {"contract": case.contract, "job": case.job_name})
    observer = SimpleNamespace(observe=lambda _table, **_: case.observation, setup=lambda _table: setup)
    store = IncidentStore(record.journal, Hand())
    Diagnostician(store, cast(Any, observer), modes).diagnose(story.id)


@ENDS
def test_a_diagnosis_that_sees_it_run_ends_that_whatever_it_finds(
    record: Store, story: Story, end: Effect, said: str
) -> None:
    """A repair of its rows leaves the rewind in main's history: F2 is told for ever, and nothing is healthy."""
    settled(story, end)
    before = standing_job(story.incident)
    tale = deduplicated(goes_on=True)
    ever_after = diagnose(pinned(tale.looked_at(), tale.snapshots[-1].snapshot_id), MODES).codes

    diagnosed(record, story, tale, MODES)
    diagnosed(record, story, tale, MODES)

    assert "F2" in ever_after
    assert HEALTHY not in ever_after
    assert before.settled == said
    assert [] == due(story)
    assert 1 == sum(isinstance(entry.body, Diagnosed) for entry in story.incident.entries)
    assert closing(record).close(story.id, "Done.", by=ANA).closed_at is not None


def test_also_one_that_finds_the_same_as_before(record: Store, story: Story) -> None:
    """Once: what it says again afterwards is no entry of its own."""
    settled(story, PUBLISHING)
    diagnosed(record, story, deduplicated(goes_on=False), {})
    before = standing_job(story.incident)

    diagnosed(record, story, deduplicated(goes_on=True), {})
    diagnosed(record, story, deduplicated(goes_on=True), {})

    told = [entry.body.model_dump_json() for entry in story.incident.entries if isinstance(entry.body, Diagnosed)]
    assert before is not None
    assert standing_job(story.incident) is None
    assert [False, True] == ["sees_job_run" in each for each in told]


def test_a_later_rehearsal_takes_it_over(refused_story: Story) -> None:
    """Then it waits for that one's end, and goes on from what the first stop left."""
    before = left_by_stop(refused_story.incident, orders.JOB)
    proposed(refused_story, PUBLICATION, (MakeBranch(table=orders.TABLE, branch="recovery-wl-1-pwaf"),), NOBODY)
    carried_out(refused_story, PUBLICATION)
    stands = standing_job(refused_story.incident)
    left = stood_still(refused_story.incident, refused_story.incident.proposals[PUBLICATION])
    proposed(refused_story, LATER, (DROPPING.model_copy(update={"branch": "recovery-wl-1-pwaf"}),), NOBODY)
    carried_out(refused_story, LATER)
    given_up = standing_job(refused_story.incident)

    assert stands.waits_for.proposal.id == PUBLICATION
    assert stands.settled is None
    assert (orders.RUN_B, "s3://lake/savepoints/savepoint-b-6") == (before.run, before.savepoint)
    assert before == left
    assert given_up.settled == "given up"


def test_a_rehearsal_beside_a_run_takes_nothing_over(refused_story: Story) -> None:
    """It stops its own."""
    refused_story.says(healthy())
    proposed(refused_story, PUBLICATION, stopping(), LIVE)
    carried_out(refused_story, PUBLICATION)

    stands = standing_job(refused_story.incident)

    assert stands.stopped_by.proposal.id == PUBLICATION


def test_what_was_approved_to_start_none_leaves_nothing(record: Store) -> None:
    """A savepoint for new code that people start; where its savepoint does not pair it is refused, and asked for."""
    refused_story = Story(record.journal).opens()
    stop = StopJob(job=orders.JOB, job_id=orders.RUN_B)
    keep = KeepSavepoint(table=orders.TABLE, job=orders.JOB, job_id=orders.RUN_B, tagged="20261126-pwae")
    proposed(refused_story, LATER, (stop, keep), LIVE)
    carried_out(refused_story, LATER)
    applied = standing_job(refused_story.incident)
    proposed(refused_story, REPAIR, (stop, keep), LIVE)
    refused_story.says(ExecutionStarted(proposal=REPAIR), by=BEN)
    refused_story.says(EffectEnded(proposal=REPAIR, index=0, how="done", detail="Done."))
    refused(refused_story, 1)

    stands = standing_job(refused_story.incident)

    assert applied is None
    assert stands.settled == "refused"


def test_a_stop_of_which_only_a_person_knows_counts(record: Store) -> None:
    """And so does the word that the start after it did not happen."""
    refused_story = Story(record.journal).opens()
    stop = StopJob(job=orders.JOB, job_id=orders.RUN_B)
    proposed(refused_story, REPAIR, (stop, StartFromStop(job=orders.JOB, job_id=orders.RUN_B)), LIVE)
    refused_story.says(ExecutionStarted(proposal=REPAIR), by=BEN)
    refused_story.says(EffectEnded(proposal=REPAIR, index=0, how="unknown", detail="Nobody knows."))
    refused_story.says(ExecutionEnded(proposal=REPAIR, outcome="unknown", sentence="Nobody knows."))
    told = OutcomeSettled.model_validate(
        {"proposal": REPAIR, "by": BEN, "at": refused_story.now, "index": 0, "happened": True, "reason": "It is gone."}
    )
    refused_story.says(told, by=BEN)
    refused(refused_story, 1)

    stands = standing_job(refused_story.incident)

    assert (orders.RUN_B, None) == (stands.left.run, stands.left.savepoint)
