"""A job that a published or given up repair has left down is not forgotten until it runs again."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

import bot.diagnosis
from bot.adapters.journal_sql import Store
from bot.diagnosis._examine import diagnose
from bot.diagnosis._scan import ModeModule, scan
from bot.domain.diagnosis import HEALTHY
from bot.domain.effects import DropBranch, Effect
from bot.domain.entries import Diagnosed, PromiseReminded, ProposalMade
from bot.domain.errors import Refused
from bot.domain.ids import ProposalId, SnapshotId
from bot.domain.rehearsals import AGAIN, standing_job
from bot.domain.requirements import NobodyWrites, Requirement, RunIsCurrent
from bot.domain.setup import TableSetup
from bot.domain.snapshot import REPAIR as REPAIRED_BY
from bot.service.diagnosing import Diagnostician
from bot.service.incident_store import IncidentStore
from bot.slack.blocks.promises import reminder_of_promise
from tests import orders_table as orders
from tests.cases import Tale
from tests.decisions import ANA, rewind
from tests.diagnosis.test_health import pinned
from tests.incidents import Story, healthy
from tests.telling.conftest import Hand
from tests.watch.test_closing_over_what_is_owed import closing, proven
from tests.watch.test_standing_jobs import (
    BRANCH,
    PUBLICATION,
    PUBLISHING,
    REPAIR,
    STARTING,
    carried_out,
    due,
    record,
    story,
)

__all__ = ["record", "story"]
MODES = scan(bot.diagnosis)
DROPPING = DropBranch(table=orders.TABLE, branch=BRANCH, head=SnapshotId(9))
NOBODY = NobodyWrites(job=orders.JOB)
LATER = ProposalId("01JBQ5M7Z3T9K4X8V2N6R0PWAG")
ENDS = pytest.mark.parametrize(("end", "said"), [(PUBLISHING, "published"), (DROPPING, "given up")])


def proposed(story: Story, proposal: ProposalId, effects: tuple[Effect, ...], *requirements: Requirement) -> None:
    """By Ana."""
    told = {"id": proposal, "effects": effects, "title": "Go on", "requirements": requirements}
    story.says(ProposalMade(step=None, proposal=rewind(story.now).model_copy(update=told)), by=ANA)


def settled(story: Story, *effects: Effect, requirement: Requirement = NOBODY) -> None:
    """The repair, and all is proven."""
    proposed(story, PUBLICATION, effects, requirement)
    carried_out(story, PUBLICATION)
    proven(story)


@ENDS
def test_responders_are_asked_on_while_it_is_down(story: Story, end: Effect, said: str) -> None:
    """An hour after its repair has come to its end, in words that fit."""
    proposed(story, PUBLICATION, (end,), NOBODY)
    carried_out(story, PUBLICATION)
    stands = standing_job(story.incident)
    assert stands is not None
    asked = PromiseReminded(what="standing-job", due=stands.since, moment=due(story)[0], people=(ANA,))
    entry = story.says(asked).incident.entries[-1]

    text = str([block.to_dict() for block in reminder_of_promise(story.incident, entry)[1]])

    assert [stands.asked_from + AGAIN] == [asked.moment]
    assert f"That repair is {said}." in text
    assert "diagnose again to end this reminder" in text
    assert "publish_repair" not in text


@pytest.mark.parametrize("end", [PUBLISHING, DROPPING])
def test_its_incident_is_closed_over_it_only_anyway(record: Store, story: Story, end: Effect) -> None:
    """Afterwards nobody would be reminded."""
    settled(story, end)

    with pytest.raises(Refused, match=f"{orders.JOB} is stopped since"):
        closing(record).close(story.id, "Done.", by=ANA)

    assert closing(record).close(story.id, "Anyway, it is retired.", by=ANA).closed_at is not None


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


@ENDS
@pytest.mark.parametrize("runs", [restored, seen_alive, called_healthy])
def test_once_it_runs_nothing_is_asked(
    record: Store, story: Story, runs: Callable[[Story], None], end: Effect, said: str
) -> None:
    """By whomever it was started."""
    settled(story, end)
    before = standing_job(story.incident)

    runs(story)

    assert before is not None
    assert before.settled == said
    assert [] == due(story)
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
    assert before is not None
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
