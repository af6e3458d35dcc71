"""Planned work is announced without a word of doubt, and who was reached stands in the plan as told."""

from typing import cast, get_args

import pytest

from bot.adapters.journal_sql import Store
from bot.bootstrap.content import CONTENT
from bot.incident.effects import KeepSavepoint
from bot.incident.entries import (
    EffectEnded,
    ExecutionStarted,
    NoticeQueued,
    PromiseReminded,
    ProposalMade,
    SavepointPlanned,
    WaterlineMoved,
)
from bot.incident.notice import AFTER_CLOSE, PLANNED, Notice, NoticeData, RerunData, WorkState
from bot.incident.promises import PLANNED_LASTS, reminders
from bot.incident.savepoints import asked_state, refuse_unseen_end, refuse_untimely
from bot.notices import NoticeFacts, data_of, facts_for, render, scan
from bot.notices.reference import example
from bot.observation.errors import Refused
from bot.observation.evidence import Observation, Verdict
from bot.observation.ids import JobId, SnapshotId
from bot.observation.looked import Seen
from bot.observation.readers import Consumer, FarRead, ReadRun
from bot.service.closing import Closing
from bot.service.incident_store import IncidentStore
from bot.service.notices.policy import refuse_false_comfort, still_holds
from bot.slack.blocks.promises import reminder_of_promise
from tests import orders_table as orders
from tests.decisions import ANA, CHANNEL, PROPOSAL, rewind
from tests.incidents import Story
from tests.telling.conftest import Hand, NoReviews
from tests.telling.test_owed_notices import setup

SETUP = setup("a")
ANNOUNCED, OVER, OFF = (f"{PLANNED} {state}" for state in get_args(WorkState))
"""What is asked for: the notice, with its state."""
ENDS = (OVER, OFF)
PLAN = SavepointPlanned(
    reason="New pricing.", code_before="1.4", code_after="1.5",
    until=orders.NINE,
)  # fmt: skip


@pytest.fixture
def planned(record: Store) -> Story:
    """Ana has planned a savepoint; nothing was found."""
    return Story(record.journal).opens(planned=True).says(PLAN, by=ANA)


def takes_it(story: Story) -> Story:
    """Run A is stopped with a savepoint, which pairs with its last commit; run B has committed since."""
    effect = KeepSavepoint(table=orders.TABLE, job=orders.JOB, job_id=JobId(orders.RUN_A), tagged="20261103", plan=PLAN)
    result = {"checkpoint": "10", "snapshot": str(orders.GOOD), "tag": "savepoint-10", "code": "1.4"}
    result["savepoint"] = orders.SAVEPOINT_10
    story.says(ProposalMade(step=None, proposal=rewind(story.now).model_copy(update={"effects": (effect,)})), by=ANA)
    story.says(ExecutionStarted(proposal=PROPOSAL), by=ANA)
    return story.says(EffectEnded(proposal=PROPOSAL, index=0, how="done", detail="Kept.", result=result))


def counts(story: Story, verdict: Verdict = Verdict.RULED_OUT, *, head: SnapshotId = orders.HEAD) -> Story:
    """Both questions about the rows are asked."""
    return story.answers(verdict=verdict, head=head).answers("missing_positions", Verdict.RULED_OUT, head=head)


def test_it_is_over_when_rows_were_found_right_after_the_savepoint(planned: Story) -> None:
    """What was counted before the stop says nothing of the new run; neither does a count that finds copies."""
    told = [may_tell(counts(planned), OVER), may_tell(takes_it(planned), OVER)]
    told.append(may_tell(counts(planned, Verdict.CONFIRMED), OVER))
    told.append(may_tell(counts(planned), OVER))

    assert told == [False, False, False, True]


def test_a_table_in_doubt_is_not_talked_of_as_planned_work(planned: Story) -> None:
    """From the first wrong row on."""
    refuse_false_comfort(planned.incident, PLANNED)
    planned.answers()

    with pytest.raises(Refused, match=r"not planned work.*Nothing was sent"):
        refuse_false_comfort(planned.incident, PLANNED)


def test_a_table_that_was_in_doubt_and_is_proven_is_not_talked_of_as_planned_work(planned: Story) -> None:
    """Who read what was wrong is asked to run again, and hears nothing else after it."""
    planned.answers().says(WaterlineMoved(snapshot=orders.GOOD, status="trusted"))
    planned.says(NoticeQueued(notice=Notice(kind="recovered", revision=1, consumer="a", channel=CHANNEL, text="*R*")))

    with pytest.raises(Refused, match=r"not planned work.*may have to run again"):
        refuse_false_comfort(planned.incident, PLANNED)


@pytest.mark.parametrize("kind", [ANNOUNCED, *ENDS])
def test_consumers_read_that_nothing_is_wrong_and_nothing_is_to_be_done(kind: str) -> None:
    """Not that the table was under review: it was not."""
    facts = example(PLANNED).model_copy(update={"work": kind.split()[1]})

    text = render(scan(CONTENT / "messages")[PLANNED], facts)

    assert "You need not do anything." in text
    assert "review" not in text
    assert ("gets no new rows" in text) is (kind == ANNOUNCED)
    assert ("last message" in text) is (kind in ENDS)


def test_a_program_is_told_of_no_commit_of_a_healthy_table(planned: Story) -> None:
    """Whoever reads three commits above the last good one reads what can be relied on."""
    for kind in (ANNOUNCED, *ENDS):
        facts = facts_told(planned, kind)
        state = cast(WorkState, kind.split()[1])

        assert facts.affected is not None
        assert data_of(facts, PLANNED) == NoticeData(stage="investigating", rerun=RerunData(needed=False), work=state)


@pytest.mark.parametrize("kind", ENDS)
def test_the_end_is_told_also_when_the_incident_was_closed_meanwhile(planned: Story, kind: str) -> None:
    """It waits in no queue for nothing."""
    says(planned, ANNOUNCED)
    says(planned.closes(), kind)
    _, end = planned.incident.notices.values()

    assert PLANNED in AFTER_CLOSE
    assert may_tell(planned, ANNOUNCED) is False
    assert still_holds(planned.incident, end)


@pytest.mark.parametrize("kind", ENDS)
def test_no_announcement_arrives_after_its_end(planned: Story, kind: str) -> None:
    """It waited for its channel until the end was told; whoever reads it last would silence alerts once more."""
    says(says(planned, ANNOUNCED), kind)
    before, end = planned.incident.notices.values()

    assert still_holds(planned.incident, end)
    assert not still_holds(planned.incident, before)


def test_an_incident_is_not_closed_while_consumers_wait_for_the_end(planned: Story) -> None:
    """Nobody would tell them; after the end, or anyway, it is closed."""
    says(planned, ANNOUNCED)
    desk = Closing(IncidentStore(planned.journal, Hand()), NoReviews(), {})  # type: ignore[arg-type]
    with pytest.raises(Refused, match=r"wait for the end of planned work, announced at .*planned_work off"):
        desk.close(planned.id, "Not now.", by=ANA)

    says(planned, OFF)

    assert not desk.close(planned.id, "Not now.", by=ANA).is_open


def test_whoever_responds_is_asked_for_the_end_after_a_day(planned: Story) -> None:
    """With a button for each end; told, the question says so."""
    says(planned, ANNOUNCED)
    due = planned.now + PLANNED_LASTS
    [asked] = reminders(planned.incident, SETUP)
    planned.now = due
    planned.says(PromiseReminded(what=asked.what, due=asked.due, moment=asked.moment, people=(ANA,)))
    entry = planned.incident.entries[-1]
    _, open_blocks = reminder_of_promise(planned.incident, entry)
    says(planned, OFF)
    _, told_blocks = reminder_of_promise(planned.incident, entry)

    assert (asked.what, asked.moment, reminders(planned.incident, SETUP)) == ("planned-end", due, ())
    assert "It was cancelled…" in str(open_blocks[1].to_dict())
    assert "no longer wait" in str(told_blocks[0].to_dict())


def test_no_end_is_advised_that_may_not_be_told(planned: Story) -> None:
    """Rows were found to be wrong before anybody was warned: what consumers hear then is how the table stands."""
    says(planned, ANNOUNCED).answers()
    desk = Closing(IncidentStore(planned.journal, Hand()), NoReviews(), {})  # type: ignore[arg-type]
    due = planned.now + PLANNED_LASTS
    planned.says(PromiseReminded(what="planned-end", due=due, moment=due, people=(ANA,)))

    with pytest.raises(Refused, match="/waterline notify update, and recovered once it is verified") as refused:
        desk.close(planned.id, "Not now.", by=ANA)
    _, blocks = reminder_of_promise(planned.incident, planned.incident.entries[-1])

    assert "planned_work" not in refused.value.remedy
    assert "planned_work" not in str(blocks[1].to_dict())
    assert "Preview an update…" in str(blocks[1].to_dict())


def test_each_end_is_told_when_it_has_come(planned: Story) -> None:
    """Nothing is called off that nobody announced, or that took place; nothing is over that nobody counted."""
    tell = {kind: [may_tell(planned, kind)] for kind in (ANNOUNCED, *ENDS)}
    for step in (lambda: says(planned, ANNOUNCED), lambda: takes_it(planned), lambda: counts(planned)):
        step()
        for kind, told in tell.items():
            told.append(may_tell(planned, kind))

    assert tell == {
        ANNOUNCED: [True, True, True, True],
        OFF: [False, True, False, False],
        OVER: [False, False, False, True],
    }


def says(story: Story, kind: str) -> Story:
    """The consumer is to be told so, once more if need be."""
    kind, work = asked_state(story.incident, kind)
    revision = 1 + sum(view.notice.kind == kind for view in story.incident.notices.values())
    data = NoticeData(stage="investigating", work=work or "planned")
    notice = Notice(kind=kind, revision=revision, consumer="a", channel=CHANNEL, text="*x*", data=data)
    return story.says(NoticeQueued(notice=notice))


def may_tell(story: Story, kind: str, seen: Observation | None = None) -> bool:
    """Whether its time has come, by the record and by what is seen; if not said otherwise, run B writes."""
    try:
        _, work = asked_state(story.incident, kind)
        refuse_untimely(story.incident, work)
        refuse_unseen_end(story.incident, work, seen or orders.observation())
    except Refused:
        return False
    return True


def facts_told(story: Story, kind: str) -> NoticeFacts:
    """Of a consumer that was seen reading the newest commit."""
    read = ReadRun(consumer="a", run_id="r-1", at=orders.NINE, snapshot_id=SnapshotId(orders.HEAD))
    reads, far = Seen[ReadRun](source="lineage", values=(read,)), Seen[FarRead](source="lineage", values=())
    kind, work = asked_state(story.incident, kind)
    return facts_for(
        story.incident, Consumer(name="a", channel=CHANNEL), orders.table_state(), reads, far,
        kind=kind, work=work, contract=orders.contract(), now=story.now, next_update_minutes=30,
    )  # fmt: skip
