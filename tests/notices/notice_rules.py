"""What holds of each notice whatever happened: it fits each way, hides what is hidden, and the record denies none."""

import json
from datetime import UTC, datetime

from slack_sdk.models.blocks import Block

from bot.adapters.notify import NoticePayload, mail_of, payload_of
from bot.domain.doubt import mended_by_others
from bot.domain.effects import MoveTable, PublishBranch, StartJob, StopJob
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState
from bot.domain.incident import Incident
from bot.domain.notice import Address, Notice
from bot.domain.planned_work import asked_state, refuse_unseen_end, refuse_untimely
from bot.domain.record import Record
from bot.domain.table import TableState
from bot.domain.told import NoticeView
from bot.notices import NoticeFacts
from bot.notices.lint import MOST_CHARACTERS
from bot.ports.carriers import Parcel
from bot.service.telling_rules import AFTER_CLOSE, refuse_false_comfort
from bot.slack.blocks.told import notice_message
from bot.slack.limits import MESSAGE_BLOCKS, SECTION_TEXT, is_cut
from tests import orders_table as orders
from tests.notices.course_entries import SECRET
from tests.notices.generated import Course

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
    parcel = Parcel(
        key="k", notice=notice, address=Address(by="email", to="a@acme.example"), incident=incident.id,
        table=orders.TABLE, private=False, number=1, may_be_there=False, at=NOW,
    )  # fmt: skip
    mail, payload = mail_of(parcel, "waterline@acme.example"), payload_of(parcel)
    plain = mail.get_body(("plain",))
    assert plain is not None
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
    if "You need not do anything" in text and kind != "review_published":
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
