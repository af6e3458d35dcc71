"""Entries about telling consumers, in plain sentences."""

from typing import assert_never

from bot.domain import notice_entries as n
from bot.domain.notice import WAYS, shown_of
from bot.domain.sentences import counted, full_stop

_SAID = {"acknowledged": "has seen it", "re-ran": "has run again", "needs-help": "asks for help"}


def notice_sentence(body: n.NoticeEntry) -> str:  # noqa: C901 - one case a kind, nothing nested
    """What the entry says; who and when stand beside it."""
    match body:
        case n.NoticeQueued():
            return f"Notice “{_words(body.notice.kind)}” for {body.notice.consumer} is on its way."
        case n.DeliveryTried():
            again = "" if body.number == 1 else f", try {body.number}"
            return f"{_notice(body.key)} is being sent {_way(body.to)}{again}."
        case n.DeliveryDelayed():
            return (
                f"{_notice(body.key)} did not arrive {_way(body.to)}: {full_stop(body.problem)} "
                f"Next try at {body.again_at:%H:%M} UTC."
            )
        case n.NoticeEnded(how="delivered"):
            is_slack = not body.to or body.to.startswith("slack:")
            return f"{_notice(body.key)} was delivered{'' if is_slack else f' {_way(body.to)}'}."
        case n.NoticeEnded(how="overtaken"):
            return f"{_notice(body.key)} is not sent {_way(body.to)}: {full_stop(body.detail)}"
        case n.NoticeEnded():
            asked = f" <@{body.asks}>, please call them." if body.asks else " Somebody must call them."
            again = f" Next try at {body.again_at:%H:%M} UTC." if body.again_at else ""
            return f"{_notice(body.key)} could not be delivered {_way(body.to)}: {full_stop(body.detail)}{asked}{again}"
        case n.NoticeRetried():
            return f"{_notice(body.key)} is sent again {_way(body.to)}, with the same text."
        case n.NoticeAnswered():
            asked = f" <@{body.asks}>, please look." if body.asks else ""
            said = f": {full_stop(body.text)}" if body.text else "."
            return f"Consumer {_consumer(body.key)} {_SAID[body.answer]}{said}{asked}"
        case n.LateRunsSeen():
            asked = f" <@{body.asks}>, please send a correction from the card." if body.asks else ""
            runs = ", ".join(body.runs)
            return f"Lineage now shows that {body.consumer} read wrong rows: {full_stop(runs)}{asked}"
        case n.CorrectionDeclined():
            return f"No correction is sent to {', '.join(body.consumers)}: {full_stop(body.reason)}"
        case n.ReadersNoted():
            return _readers(body)
        case n.SeverityChanged():
            return f"The severity changed from {body.before} to {body.severity}. {full_stop(body.reason)}".strip()
        case n.NoticesHeld():
            return f"Asked for a second person to send the notices {body.name}."
        case _:
            assert_never(body)


def _readers(body: n.ReadersNoted) -> str:
    strangers = [each.consumer for each in body.observed if not each.is_declared]
    seen = f"Seen reading the affected rows: {counted(len(body.observed), 'consumer')}"
    told = f", of them not declared: {', '.join(strangers)}" if strangers else ""
    rest = f" Others may have read it unobserved: {full_stop(body.unknown)}" if body.unknown else ""
    names = ", ".join(f"{each.name} ({each.why})" for each in body.untold)
    untold = f" Cannot be notified: {names}." if names else ""
    return f"{seen}{told}.{rest}{untold}"


def _notice(key: str) -> str:
    _incident, kind, *consumer, _revision = key.split("/")
    return f"Notice “{_words(kind)}” for {'/'.join(consumer)}"


def _consumer(key: str) -> str:
    return key.split("/", 2)[2].rsplit("/", 1)[0]


def _way(to: str) -> str:
    by, _, address = to.partition(":")
    return f"{WAYS[by]} ({shown_of(by, address)})" if by in WAYS else "in Slack"


def _words(kind: str) -> str:
    return kind.replace("_", " ")
