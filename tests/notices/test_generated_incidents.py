"""Every notice, over incidents that went any way the record allows: in each form within its limits, and never two
words that cannot both be true.

What holds of each notice whatever happened: it fits each way, hides what is hidden, and the record denies none.
"""

import json
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from slack_sdk.models.blocks import Block

from bot.adapters.notify import NoticePayload, mail_of, payload_of
from bot.incident.delivery import NoticeView
from bot.incident.doubt import mended_by_others
from bot.incident.effects import MoveTable, PublishBranch, StartJob, StopJob
from bot.incident.execution import ProposalState
from bot.incident.incident import Incident
from bot.incident.notice import AFTER_CLOSE, PLANNED, Notice
from bot.incident.savepoints import asked_state, refuse_unseen_end, refuse_untimely
from bot.notices import NoticeFacts, data_of, facts_for, render, scan
from bot.notices.lint import MOST_CHARACTERS
from bot.observation.errors import Refused
from bot.observation.looked import NotSeen, Seen
from bot.observation.readers import Address, Consumer, FarRead, Kind, ReadRun
from bot.observation.record import Record
from bot.observation.table import TableState
from bot.ports import NoticeDelivery
from bot.service.notices.policy import refuse_false_comfort
from bot.slack.blocks.notices import notice_message
from bot.slack.limits import MESSAGE_BLOCKS, SECTION_TEXT, is_cut
from tests import orders_table as orders
from tests.decisions import HEAD_AFTER
from tests.notices.course_entries import SECRET, Writes
from tests.notices.generated import CONTRACT, PLANNED_WORK, Course

NOW = datetime(2026, 11, 3, 12, tzinfo=UTC)


def may_be_sent(incident: Incident, kind: str, table: TableState) -> bool:
    """Whether the rules of telling allow it now; run B runs."""
    kind, work = asked_state(incident, kind)
    seen = orders.observation().model_copy(update={"table": table})
    try:
        refuse_false_comfort(incident, kind)
        refuse_untimely(incident, work)
        refuse_unseen_end(incident, work, seen)
    except Refused:
        return False
    return incident.is_open or kind in AFTER_CLOSE


def spared_after_a_request(course: Course) -> list[str]:
    """Texts that tell who was asked to run again that nothing to do; a correction may say so."""
    is_asked, texts = False, []
    for view in course.story.incident.notices.values():
        kind, text = view.notice.kind, view.notice.text
        if is_asked and kind != "correction" and "You need not do anything" in text:
            texts.append(text)
        is_asked = "lease run again" in text or (is_asked and kind != "correction")
    return texts


def assert_fits_slack(incident: Incident, notice: Notice) -> None:
    """Whole, in one message."""
    text, blocks = notice_message(incident, NoticeView(notice=notice, key="k", queued_at=NOW, seq=1))
    assert text == notice.text
    assert len(text) <= MOST_CHARACTERS
    assert len(blocks) <= MESSAGE_BLOCKS
    assert not is_cut(blocks)
    assert all(len(each) <= SECTION_TEXT for each in sections(blocks))


def sections(blocks: list[Block]) -> list[str]:
    """Texts of the sections."""
    return [block["text"]["text"] for block in map(Block.to_dict, blocks) if block["type"] == "section"]


def assert_same_by_other_ways(incident: Incident, notice: Notice) -> None:
    """The same words by mail, webhook and file; no hidden value anywhere."""
    outgoing = NoticeDelivery(
        key="k", notice=notice, address=Address(by="email", to="a@acme.example"), incident=incident.id,
        table=orders.TABLE, private=False, number=1, may_be_there=False, at=NOW,
    )  # fmt: skip
    mail, payload = mail_of(outgoing, "waterline@acme.example"), payload_of(outgoing)
    plain = mail.get_body(("plain",))
    assert plain.get_content().strip()
    assert "\n" not in mail["Subject"]
    assert NoticePayload.model_validate_json(payload.model_dump_json()) == payload
    assert SECRET not in str(mail) + payload.model_dump_json() + json.dumps(notice.text)
    assert "<responder>" not in notice.text


def assert_agrees_with_the_record(kind: str, text: str, incident: Incident) -> None:
    """No sentence that the record denies."""
    view = incident.current_proposal
    is_proven = incident.waterline is not None and incident.waterline.status == "trusted"
    if is_proven:
        assert "under review" not in text.replace("was under review", ""), (kind, text)
        assert "do not rely" not in text, (kind, text)
        assert "We are verifying" not in text, (kind, text)
    else:
        assert "verified again" not in text, (kind, text)
        assert "read the table as usual" not in text
    if carried_out(incident, MoveTable, PublishBranch, StopJob, StartJob):
        assert "Nothing has been changed" not in text, (kind, text)
        assert "Nothing is changed yet" not in text, (kind, text)
    if carried_out(incident, MoveTable, PublishBranch):
        assert "No row was changed or removed" not in text, (kind, text)
    if mended_by_others(incident):
        assert "are right; keep them" not in text, (kind, text)
    if view is not None and view.verified is not None:
        assert "We are verifying" not in text, (kind, text)
    if view is None or view.state not in (ProposalState.PROPOSED, ProposalState.HELD):
        assert "waits for approval" not in text, (kind, text)
        assert "before it is approved" not in text, (kind, text)


def assert_asks_for_one_thing(kind: str, text: str, facts: NoticeFacts) -> None:
    """Nobody is asked to run again and told to do nothing; nothing follows a last word."""
    if "You need not do anything" in text and kind != "review":
        assert facts.rerun.needed is False
        assert "lease run again" not in text
        assert "What to run again" not in text
    if "Please run again" in text:
        assert facts.rerun.needed is True
    if "We do not know the cause yet" in text:
        assert "We know what happened" not in text
    if "last message" in text:
        assert "*Next update:*" not in text
        assert facts.next_word_at is None
    if facts.trusted is not None and facts.affected is not None and facts.stage == "proven":
        assert facts.trusted.snapshot_id not in facts.affected.snapshots or not facts.affected.taken_back


def carried_out(incident: Incident, *kinds: type[Record]) -> bool:
    """Whether any effect of these kinds was done."""
    return any(
        ended.how == "done" and isinstance(view.proposal.effects[index], kinds)
        for view in incident.proposals.values()
        for index, ended in view.done.items()
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
