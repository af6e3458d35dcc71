"""Every notice, over incidents that went any way the record allows: in each form within its limits, and never two
words that cannot both be true."""

from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bot.domain.incident import Incident
from bot.domain.looked import NotSeen, Seen
from bot.domain.notice import PLANNED, Notice
from bot.domain.planned_work import asked_state
from bot.domain.reads import Consumer, FarRead, Kind, ReadRun
from bot.domain.table import TableState
from bot.notices import data_of, facts_for, render, scan
from tests import orders_table as orders
from tests.decisions import HEAD_AFTER
from tests.notices.course_entries import Writes
from tests.notices.generated import CONTRACT, PLANNED_WORK, Course
from tests.notices.notice_rules import (
    NOW,
    assert_agrees_with_the_record,
    assert_asks_for_one_thing,
    assert_fits_slack,
    assert_same_by_other_ways,
    may_be_sent,
    spared_after_a_request,
)

ANNOUNCED = ("tells planned_work planned",)
TAKEN = (*ANNOUNCED, "proposes savepoint", "approves", "is done")
RIGHT = ("clean", "no gaps")
PROVEN = (*ANNOUNCED, "twice", "proposes rewind", "approves", "is done", "proven")
ASKED = (PROVEN[1:], (*PROVEN[1:], "tells recovered"))
"""Whoever has read what was wrong is to run again."""
BEGINNINGS = ((), ANNOUNCED, TAKEN, (*TAKEN, *RIGHT), PROVEN, (*PROVEN, "tells recovered"))
"""Of planned work; from each of them it goes on as it may."""
TEMPLATES = scan(Path(__file__).parents[2] / "messages")
TITLES = {kind: template.title for kind, template in TEMPLATES.items()}
AWAY = NotSeen(source="Lineage", reason="it did not answer", remedy="Look.")
KINDS: list[Kind] = ["job", "agent", "dashboard", "person", "channel"]


def read(snapshot: int | None, run: str = "run-1", consumer: str = "revenue_daily") -> ReadRun:
    """Of this snapshot; None: the event does not say."""
    return ReadRun.model_validate({"consumer": consumer, "run_id": run, "at": orders.NINE, "snapshot_id": snapshot})


def far(snapshot: int) -> FarRead:
    """Of what another run had computed from this snapshot."""
    path = ("fraud_model", "scores")
    told = {"consumer": "revenue_daily", "run_id": "far-1", "at": orders.NINE, "origin": "x", "path": path}
    return FarRead.model_validate({**told, "snapshot_id": snapshot})


READS = {
    "nobody": Seen[ReadRun](source="Lineage", values=()),
    "wrong": Seen[ReadRun](source="Lineage", values=(read(orders.HEAD), read(orders.HEAD - 1000))),
    "right": Seen[ReadRun](source="Lineage", values=(read(orders.GOOD), read(HEAD_AFTER))),
    "another": Seen[ReadRun](source="Lineage", values=(read(orders.HEAD, consumer="fraud_model"),)),
    "silent": Seen[ReadRun](source="Lineage", values=(read(None),)),
    "away": AWAY,
}
FAR = {
    "nobody": Seen[FarRead](source="Lineage", values=()),
    "wrong": Seen[FarRead](source="Lineage", values=(far(orders.HEAD),)),
    "away": AWAY,
}


@st.composite
def courses(draw: st.DrawFn) -> Course:
    """An incident after some steps, each of which may follow the one before."""
    if draw(st.integers(0, 2)) == 0:
        course = Course(planned=True).goes(*draw(st.sampled_from(BEGINNINGS)))
    else:
        course = Course(trusted=draw(st.integers(0, 4)) > 0)
    for _ in range(draw(st.integers(0, 16))):
        goes_on(course, draw)
    return course


def goes_on(course: Course, draw: st.DrawFn) -> None:
    """One step more."""
    acts = course.acts()
    moves = acts if acts and draw(st.booleans()) else course.moves()
    course.goes(draw(st.sampled_from(sorted(moves))))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    course=courses(),
    reads=st.sampled_from(sorted(READS)),
    through=st.sampled_from(sorted(FAR)),
    audience=st.sampled_from(KINDS),
)
@example(course=Course(planned=True), reads="wrong", through="wrong", audience="job")
@example(course=Course(planned=True).goes(*ANNOUNCED), reads="wrong", through="wrong", audience="channel")
@example(course=Course(planned=True).goes(*TAKEN, *RIGHT), reads="wrong", through="nobody", audience="job")
@example(course=Course(planned=True).goes(*PROVEN), reads="wrong", through="nobody", audience="job")
def test_every_notice_of_every_incident_holds(course: Course, reads: str, through: str, audience: Kind) -> None:
    """Rendered without an unknown variable, within each way's limits, without a hidden value or a contradiction."""
    incident, table = course.story.incident, course.table
    consumer = Consumer(name="revenue_daily", channel="C0REVENUE1", kind=audience)
    for asked in (*(TEMPLATES.keys() - {PLANNED}), *PLANNED_WORK):
        if not may_be_sent(incident, asked, table):
            continue
        kind, work = asked_state(incident, asked)
        facts = facts_for(
            incident, consumer, table, READS[reads], FAR[through], kind=kind, contract=CONTRACT, now=NOW,
            next_update_minutes=30, words="Words of a <responder>.", titles=TITLES, work=work,
        )  # fmt: skip
        text = render(TEMPLATES[kind], facts)
        notice = Notice(
            kind=kind, revision=1, consumer=consumer.name, channel="C0REVENUE1", text=text,
            title=TEMPLATES[kind].title, answers=TEMPLATES[kind].answers, severity=incident.severity,
            data=data_of(facts, kind),
        )  # fmt: skip

        assert_fits_slack(incident, notice)
        assert_same_by_other_ways(incident, notice)
        assert_agrees_with_the_record(kind, text, incident)
        assert_asks_for_one_thing(kind, text, facts)


def may_say(course: Course) -> set[str]:
    """Which notices of planned work can be told now."""
    return {kind for kind in PLANNED_WORK if may_be_sent(course.story.incident, kind, course.table)}


def test_each_notice_of_planned_work_has_its_time() -> None:
    """So that the courses above render each of them."""
    over, proven = Course(planned=True).goes(*TAKEN, *RIGHT), Course(planned=True).goes(*PROVEN)

    assert may_say(Course(planned=True).goes(*ANNOUNCED)) == {"planned_work planned", "planned_work off"}
    assert may_say(over) == {"planned_work planned", "planned_work over"}
    assert may_say(over.goes("tells planned_work over", "closes")) == {"planned_work over"}
    assert may_say(proven) == set()


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), reads=st.sampled_from(sorted(READS)), planned=st.booleans())
def test_nobody_who_was_asked_to_run_again_is_told_later_that_nothing_is_to_be_done(
    data: st.DataObject, reads: str, planned: bool
) -> None:
    """Of all that reached one consumer, unless a correction stands between."""
    course = Course(planned=planned, writes=writer(reads))
    course.goes(*data.draw(st.sampled_from(BEGINNINGS if planned else ((), *ASKED))))
    for _ in range(data.draw(st.integers(0, 16))):
        goes_on(course, data.draw)
        if not course.story.incident.is_open:
            break
    course.goes(*data.draw(st.permutations(sorted(name for name in course.moves() if name.startswith("tells ")))))

    assert [] == spared_after_a_request(course)


def test_a_planned_incident_that_asked_to_run_again_says_nothing_of_planned_work_after_it() -> None:
    """The course that once did."""
    course = Course(planned=True, writes=writer("wrong")).goes(*PROVEN, "tells recovered")
    assert "lease run again" in [*course.story.incident.notices.values()][-1].notice.text

    course.goes(*(f"tells {kind}" for kind in PLANNED_WORK))

    assert [] == spared_after_a_request(course)


def writer(reads: str) -> Writes:
    """Renders what one consumer, seen reading so, is told."""
    consumer = Consumer(name="revenue_daily", channel="C0REVENUE1")

    def writes(incident: Incident, table: TableState, kind: str) -> str:
        kind, work = asked_state(incident, kind)
        facts = facts_for(
            incident, consumer, table, READS[reads], FAR["nobody"], kind=kind, contract=CONTRACT, now=NOW,
            next_update_minutes=30, words="Words.", titles=TITLES, work=work,
        )  # fmt: skip
        return render(TEMPLATES[kind], facts)

    return writes
