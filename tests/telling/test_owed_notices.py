"""What is sent by itself, and what is reminded of until its next word is there."""

from datetime import datetime, timedelta

import pytest

from bot.adapters.journal_sql import Store
from bot.incident.entries import (
    Body,
    IncidentClosed,
    NoticeEnded,
    NoticeQueued,
    PromiseReminded,
    ReadersNoted,
    SeverityChanged,
    WaterlineMoved,
)
from bot.incident.notice import Notice, NoticeData
from bot.incident.promises import due_reminders, next_word_due
from bot.incident.setup import TableSetup
from bot.notices.gather import facts_for
from bot.observation.contract import TableContract
from bot.observation.errors import Refused
from bot.observation.evidence import Verdict
from bot.observation.ids import TableName
from bot.observation.looked import Seen
from bot.observation.readers import Consumer
from bot.service.closing import Closing
from bot.service.incident_store import IncidentStore
from bot.service.notices.policy import (
    is_severity_update_due,
    is_warning_due,
    left_to_tell,
    refuse_after_close,
    refuse_false_comfort,
    refuse_outdated,
)
from tests import orders_table as orders
from tests.decisions import ANA
from tests.incidents import Story, healthy
from tests.telling.conftest import Hand, NoReviews, Scene

TRUSTED = WaterlineMoved(snapshot=orders.GOOD, status="trusted")
DOUBTED = WaterlineMoved(snapshot=orders.GOOD, status="under-review")
WORSE = SeverityChanged(before="sev2", severity="sev3", reason="Only one report.")


@pytest.fixture
def story(record: Store) -> Story:
    """An incident that was opened as sev2; nobody is told yet."""
    return Story(record.journal).opens()


def setup(*names: str, warn_after_minutes: int = 15) -> TableSetup:
    return TableSetup(
        name=orders.TABLE, job=orders.JOB, contract=TableContract(), policies={}, next_update_minutes=30,
        consumers=tuple(Consumer(name=name, channel="C0REVENUE1") for name in names),
        warn_after_minutes=warn_after_minutes,
    )  # fmt: skip


def told(kind: str, consumer: str = "revenue_daily", *, revision: int = 1, stage: str = "diagnosed") -> Body:
    return NoticeQueued(
        notice=Notice(
            kind=kind, revision=revision, consumer=consumer, channel="C0REVENUE1", text=kind, severity="sev2",
            data=NoticeData(stage=stage)
        )
    )  # fmt: skip


@pytest.mark.parametrize(
    ("since", "is_owed"),
    [
        ([told("warning")], True),
        ([told("warning"), TRUSTED, told("recovered")], False),
        ([TRUSTED, told("recovered"), told("review")], False),
        ([TRUSTED, told("recovered"), told("correction", stage="proven")], False),
        ([healthy(), told("no_action")], False),
        ([told("no_action"), told("correction")], True),
        ([TRUSTED, told("recovered"), DOUBTED], True),
        ([TRUSTED, told("recovered"), DOUBTED, told("correction")], True),
    ],
)
def test_who_was_told_that_all_is_well_hears_of_no_severity(story: Story, since: list[Body], is_owed: bool) -> None:
    """Until that holds no more: they would wait for a closing message that they have had."""
    for body in since:
        story.says(body)
    incident = story.says(WORSE).incident

    assert is_owed == is_severity_update_due(incident, setup("revenue_daily"))
    if is_owed:
        assert left_to_tell(incident, setup("revenue_daily"), "update")
        return
    with pytest.raises(Refused, match="The consumers have a valid all-clear"):
        left_to_tell(incident, setup("revenue_daily"), "update")
    assert left_to_tell(incident, setup("revenue_daily"), "correction")


def test_who_came_later_is_told_and_who_knows_is_left_in_peace(story: Story) -> None:
    """Each consumer for itself."""
    story.says(TRUSTED, told("recovered"), told("warning", "board_report"), WORSE)

    left = left_to_tell(story.incident, setup("revenue_daily", "board_report"), "update")

    assert is_severity_update_due(story.incident, setup("revenue_daily", "board_report"))
    assert ["board_report"] == [each.name for each in left]


def test_who_is_declared_no_longer_owes_nobody_an_update(story: Story) -> None:
    """Or it went to all others again every few seconds, for it never reaches who was taken off the list."""
    story.says(told("warning", "old_name"), told("warning"), WORSE)
    before = is_severity_update_due(story.incident, setup("revenue_daily"))
    news = Notice(kind="update", revision=1, consumer="revenue_daily", channel="C0", text="x", severity="sev3")
    story.says(NoticeQueued(notice=news))

    assert (before, is_severity_update_due(story.incident, setup("revenue_daily"))) == (True, False)


def after(story: Story, minutes: int) -> datetime:
    """So long after it was opened."""
    return story.incident.opened_at + timedelta(minutes=minutes)


def test_nobody_is_warned_after_an_all_clear(story: Story) -> None:
    """The table was found healthy before the warning was due."""
    story.says(healthy(), told("no_action"))

    assert not is_warning_due(story.incident, setup("revenue_daily"), after(story, 15))


def test_consumers_are_warned_where_evidence_has_refuted_the_all_clear(story: Story) -> None:
    """What was said at minute 4 holds no more at minute 15."""
    story.says(told("no_action")).answers("duplicate_rows", Verdict.CONFIRMED)

    owed = [is_warning_due(story.incident, setup("revenue_daily"), after(story, minute)) for minute in (14, 15)]

    assert [False, True] == owed
    assert left_to_tell(story.incident, setup("revenue_daily"), "warning")


def test_where_nobody_is_declared_readers_are_looked_for_once(story: Story) -> None:
    """Not at each settling: that observes table, job and lineage every few seconds."""
    owed = [is_warning_due(story.incident, setup(), after(story, 15))]
    story.says(ReadersNoted(observed=(), unknown=None))
    owed.append(is_warning_due(story.incident, setup(), after(story, 15)))

    assert [True, False] == owed


def test_a_severity_calls_no_planned_work_in_question(story: Story) -> None:
    """It would be told by an update, which says that the table is under review."""
    planned = Story(story.journal, start=story.now).opens(planned=True, table=TableName("sales.refunds"))
    planned.says(told("planned_work"), WORSE)
    before = is_severity_update_due(planned.incident, setup("revenue_daily"))

    planned.answers()

    assert (before, is_severity_update_due(planned.incident, setup("revenue_daily"))) == (False, True)


SETUP = setup("revenue_daily")


def next_told(story: Story, *kinds: str, data: NoticeData | None = None) -> Story:
    """One after the other."""
    for kind in kinds:
        revision = len(story.incident.notices) + 1
        notice = Notice(kind=kind, revision=revision, consumer="revenue_daily", channel="C0", text=kind, data=data)
        story.says(NoticeQueued(notice=notice))
    return story


def due(story: Story) -> datetime | None:
    """When the next word is."""
    return next_word_due(story.incident, SETUP)


def test_what_says_nothing_of_a_next_word_neither_gives_nor_takes_a_promise(story: Story) -> None:
    """A review is no reason to be reminded, nor to forget who waits."""
    promised = due(next_told(story, "warning"))
    kept = due(next_told(story, "review"))
    ended = due(next_told(story, "recovered", "review"))

    assert promised is not None
    assert (promised, None) == (kept, ended)


def test_the_next_word_is_due_when_the_text_says_so(story: Story) -> None:
    """It waited for its approval after it was written: its reader knows only the moment that stands in it."""
    written = story.now - timedelta(minutes=20)
    by = written + timedelta(minutes=SETUP.next_update_minutes)

    next_told(story, "warning", data=NoticeData(stage="investigating", next_word_at=by))

    assert due(story) == by


def test_a_correction_that_promises_nothing_is_the_last_word(story: Story) -> None:
    """As its own text says; one that promises a further word is reminded of."""
    next_told(story, "recovered", "correction", data=NoticeData(stage="proven"))
    last = due(story)
    next_told(
        story,
        "correction",
        data=NoticeData(stage="diagnosed", next_word_at=story.now + timedelta(minutes=30)),
    )

    assert last is None
    assert due(story) is not None


def test_a_last_word_that_was_taken_back_is_none(story: Story) -> None:
    """While the withdrawal waits for approval, or was turned down, people are reminded, and asked before closing."""
    next_told(story.says(WaterlineMoved(snapshot=orders.GOOD, status="trusted")), "warning", "recovered")
    given = due(story)
    story.says(WaterlineMoved(snapshot=orders.GOOD, status="under-review"))
    desk = Closing(IncidentStore(story.journal, Hand()), NoReviews(), {SETUP.name: SETUP})  # type: ignore[arg-type]

    assert given is None
    assert due(story) == story.now + timedelta(minutes=SETUP.next_update_minutes)
    with pytest.raises(Refused, match="Consumers were promised an update by"):
        desk.close(story.id, "Done.", by=ANA)


def test_a_last_word_that_was_overtaken_is_none(story: Story) -> None:
    """It reached nobody: what was promised before it still is."""
    promised = due(next_told(story, "warning"))
    next_told(story, "no_action")
    [*_, last] = story.incident.notices
    story.says(NoticeEnded(key=last, how="overtaken", detail="x"))

    assert promised is not None
    assert due(story) == promised


@pytest.mark.parametrize(("before", "promises"), [("warning", True), ("recovered", False)])
def test_a_correction_of_a_proven_table_promises_only_what_is_to_come(
    story: Story, before: str, promises: bool
) -> None:
    """Who had the closing message waits for nothing; who had not still waits for it."""
    story.says(WaterlineMoved(snapshot=orders.GOOD, status="trusted"))
    next_told(story, before)
    nothing = Seen(source="lineage", values=())

    facts = facts_for(
        story.incident, SETUP.consumers[0], orders.table_state(), nothing, nothing, kind="correction",
        contract=SETUP.contract, now=story.now, next_update_minutes=30, words="x",
    )  # fmt: skip

    assert promises == (facts.next_word_at is not None)


def test_closing_over_a_promise_asks_for_the_last_word(story: Story) -> None:
    """After it, or with a reason that says so, the incident is closed."""
    next_told(story, "warning")
    desk = Closing(IncidentStore(story.journal, Hand()), NoReviews(), {SETUP.name: SETUP})  # type: ignore[arg-type]
    with pytest.raises(Refused, match="Consumers were promised an update by"):
        desk.close(story.id, "Nobody noticed.", by=ANA)

    next_told(story, "no_action")
    closed = desk.close(story.id, "Nobody noticed.", by=ANA)

    assert not closed.is_open


@pytest.fixture
def unconfigured_story(record: Store) -> Story:
    """Consumers were promised word within twenty minutes."""
    unconfigured_story = Story(record.journal).opens()
    data = NoticeData(stage="investigating", next_word_at=unconfigured_story.now + timedelta(minutes=20))
    notice = Notice(kind="warning", revision=1, consumer="a", channel="C0X", text="Wait.", data=data)
    return unconfigured_story.says(NoticeQueued(notice=notice))


def test_consumers_still_wait_for_word_though_their_table_is_configured_no_more(unconfigured_story: Story) -> None:
    """By the time that stands in what they were sent."""
    [reminded] = due_reminders(unconfigured_story.incident, None, unconfigured_story.now + timedelta(minutes=25))

    assert isinstance(reminded, PromiseReminded)
    assert reminded.what == "next-update"


def test_it_is_not_closed_over_a_promise_either(unconfigured_story: Story) -> None:
    """What is advised can be done without a configuration."""
    desk = Closing(IncidentStore(unconfigured_story.journal, Hand()), None, {})  # type: ignore[arg-type]

    with pytest.raises(Refused, match="Notify them yourself"):
        desk.close(unconfigured_story.id, "It is gone.", by=ANA)


CORRECT = "/waterline notify correction WORDS"


def test_who_was_told_that_all_is_well_is_corrected_by_a_command(scene: Scene) -> None:
    """Nobody is warned after an all-clear that holds."""
    scene.queues(scene.mail())

    with pytest.raises(Refused, match=CORRECT):
        left_to_tell(scene.story.incident, setup("revenue_daily"), "warning")


def test_what_is_said_after_the_end_has_a_command(scene: Scene) -> None:
    """Of a new notice, and of one that did not arrive."""
    scene.story.says(told("update")).says(IncidentClosed(reason="Done."), by=ANA)
    incident = scene.story.incident
    [view] = incident.notices.values()

    with pytest.raises(Refused, match=CORRECT):
        refuse_after_close(incident, "update")
    with pytest.raises(Refused, match=CORRECT):
        refuse_outdated(incident, view)


def test_an_all_clear_that_may_not_be_said_names_what_may(scene: Scene) -> None:
    """The table was proven, and came under review again."""
    scene.story.says(WaterlineMoved(snapshot=orders.GOOD, status="under-review"))

    with pytest.raises(Refused, match=f"/waterline notify update, or {CORRECT}"):
        refuse_false_comfort(scene.story.incident, "recovered")
