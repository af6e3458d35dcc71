"""A program's answer in the response that takes its notice: put on record, or said to be what could not be taken."""

import structlog

from bot.domain.errors import CouldNotKeep, JournalMoved, Refused, UnknownIncident
from bot.domain.ids import IncidentId
from bot.domain.told import NoticeView
from bot.ports.carriers import Receipt
from bot.service.answering import AlreadySaid, Answering

log = structlog.get_logger(__name__)


def taken(answering: Answering, incident_id: IncidentId, view: NoticeView, receipt: Receipt) -> str:
    """Puts its answer on record; returns what of it could not be taken, a sentence or nothing.

    To be called before the delivery's end is on record: a crash in between brings the notice again, and the same answer
    counts once. A defect of ours is logged and said: the notice has arrived, and is not brought again for it. Raises
    CouldNotKeep, JournalMoved, UnknownIncident.
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
    except (CouldNotKeep, JournalMoved, UnknownIncident):
        raise
    except Exception as error:
        log.exception("answer not taken", notice=view.key, by=by)
        return f"It answered {receipt.answer}, which was not taken: a defect of ours, {type(error).__name__}."
    return ""
