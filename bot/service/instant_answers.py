"""A program's answer in the response that takes its notice: put on record, or said to be what could not be taken."""

from bot.domain.errors import Refused
from bot.domain.ids import IncidentId
from bot.domain.told import NoticeView
from bot.ports.carriers import Receipt
from bot.service.answering import AlreadySaid, Answering


def taken(answering: Answering, incident_id: IncidentId, view: NoticeView, receipt: Receipt) -> str:
    """Puts its answer on record; returns what of it could not be taken, a sentence or nothing.

    To be called before the delivery's end is on record: a crash in between brings the notice again, and the same answer
    counts once.
    """
    if receipt.answer is None:
        return receipt.unread
    by = view.notice.consumer
    try:
        answering.answer(incident_id, view.seq, receipt.answer, by=by, text=receipt.words, via="webhook")
    except AlreadySaid:
        return ""
    except Refused as refused:
        return f"It answered {receipt.answer}, which was not taken: {refused.happened}"
    return ""
