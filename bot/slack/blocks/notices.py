"""Who was told, on the incident's card: what did not arrive first, with the button that tries it again.

Who reads the table, beside those who were told: declared, seen, not known, and channels that cannot be told.

A notice in its consumer's channel.
"""

from collections.abc import Sequence

from slack_sdk.models.blocks import Block, ButtonElement, SectionBlock

from bot.incident.delivery import AnswerView, DeliveryView, NoticeView
from bot.incident.incident import Incident
from bot.incident.notice import Answer, ObservedReader
from bot.incident.setup import TableSetup
from bot.incident.trust_claims import Why, corrections_due
from bot.observation.findings import LedgerFinding
from bot.observation.readers import WAYS, Untold
from bot.observation.sentences import counted
from bot.service.notices.policy import still_holds
from bot.slack.blocks.parts import actions, button, clock, context, section
from bot.slack.ids import Click
from bot.slack.limits import pages
from bot.slack.text import addressed, clipped, code, mrkdwn, person, read_at, room, written

_LABELS: dict[Answer, tuple[str, Click]] = {
    "acknowledged": ("Acknowledge", Click.ACKNOWLEDGE),
    "re-ran": ("I re-ran", Click.RE_RAN),
    "needs-help": ("I need help…", Click.HELP),
}
_SAID: dict[Answer, str] = {
    "acknowledged": ":eyes: seen by",
    "re-ran": ":repeat: run again by",
    "needs-help": ":sos: help wanted by",
}
_ANSWERS_SHOWN = 6


def notice_message(incident: Incident, view: NoticeView) -> tuple[str, list[Block]]:
    """The very text, who has answered, and the buttons by which they do."""
    with read_at(view.queued_at):
        blocks: list[Block] = [section(part) for part in pages(view.notice.text)]
    shown = view.answers[-_ANSWERS_SHOWN:]
    if shown:
        blocks.append(context(*(f"{answered(each)} at {clock(each.at)}" for each in shown)))
    if view.notice.answers:
        blocks.append(actions([_button(incident, view, answer) for answer in view.notice.answers]))
    return view.notice.text, blocks


def answered(each: AnswerView) -> str:
    text = f": {mrkdwn(clipped(each.text, 200))}" if each.text else ""
    return f"{_SAID[each.answer]} {person(each.by)}{text}"


def _button(incident: Incident, view: NoticeView, answer: Answer) -> ButtonElement:
    label, click = _LABELS[answer]
    return button(label, click, incident.id, str(view.seq))


_NAMED = 8
_UNTOLD = 5


def reader_lines(incident: Incident, setup: TableSetup | None) -> list[str]:
    """Declared and seen kept apart, each as far as one can take it in. `setup` None: the table is configured no more.

    Before anybody previewed a notice, what was seen is what the ledger says of its commits.
    """
    untold = setup.untold if setup is not None else untold_of(incident)
    return [*_declared(incident, setup), *_seen(incident, setup), *([untold_line(untold)] if untold else [])]


def untold_of(incident: Incident) -> tuple[Untold, ...]:
    """As the newest preview has put them on record."""
    return incident.readers.untold if incident.readers is not None else ()


def untold_line(untold: Sequence[Untold]) -> str:
    """Escaped; there is at least one."""
    named = ", ".join(f"{code(each.name)} ({mrkdwn(clipped(each.why, 200))})" for each in untold[:_UNTOLD])
    many = counted(len(untold), "channel")
    return f":warning: {many} of the data contract cannot be notified: {named}{_more(untold, _UNTOLD)}"


def _declared(incident: Incident, setup: TableSetup | None) -> list[str]:
    if setup is None:
        return [":grey_question: The table is no longer configured, so its declared consumers are unknown"]
    if not setup.consumers:
        return ["No declared consumers"]
    told = {view.notice.consumer for view in incident.notices.values()}
    left = [each.name for each in setup.consumers if each.name not in told]
    return [f"Declared, not notified{' yet' if incident.is_open else ''}: {_names(left)}"] if left else []


def _seen(incident: Incident, setup: TableSetup | None) -> list[str]:
    noted = incident.readers
    if noted is None:
        return _in_the_ledger(incident, setup)
    told = {view.notice.consumer for view in incident.notices.values()}
    declared = [_reader(each) for each in noted.observed if each.is_declared and each.consumer not in told]
    strangers = [_reader(each) for each in noted.observed if not each.is_declared]
    lines = _by_declaration(declared, strangers)
    if noted.unknown:
        lines.append(f":grey_question: Others may have read it unobserved. {mrkdwn(clipped(noted.unknown, 300))}")
    return lines


def _in_the_ledger(incident: Incident, setup: TableSetup | None) -> list[str]:
    run = incident.latest.get("ledger")
    finding = run.evidence.finding if run is not None and run.evidence is not None else None
    if not isinstance(finding, LedgerFinding):
        return [":grey_question: Readers not checked yet"]
    if not finding.ledger.readers_known:
        return [":grey_question: Readers unknown: the lineage source did not answer"]
    seen = dict.fromkeys(run.consumer for row in finding.ledger.rows for run in row.readers)
    known = {each.name for each in setup.consumers} if setup is not None else set()
    declared, strangers = [n for n in seen if n in known], [n for n in seen if n not in known]
    return _by_declaration([code(name) for name in declared], [code(name) for name in strangers]) or [
        "Lineage shows no reader of the newest commits"
    ]


def _by_declaration(declared: Sequence[str], strangers: Sequence[str]) -> list[str]:
    lines = []
    if declared:
        lines.append(f"Seen reading and declared: {', '.join(declared[:_NAMED])}{_more(declared, _NAMED)}")
    if strangers:
        names = f"{', '.join(strangers[:_NAMED])}{_more(strangers, _NAMED)}"
        lines.append(f":warning: Seen reading but not declared, so not notified: {names}")
    return lines


def _names(names: Sequence[str]) -> str:
    return ", ".join(code(name) for name in names[:_NAMED]) + _more(names, _NAMED)


def _more(all_of: Sequence[object], shown: int) -> str:
    return f" and {len(all_of) - shown} more" if len(all_of) > shown else ""


def _reader(each: ObservedReader) -> str:
    return code(each.consumer) if each.distance == 1 else f"{code(each.consumer)} ({each.distance} runs away)"


_SHOWN = 12
_LINE = 600


def told_blocks(incident: Incident, setup: TableSetup | None) -> list[Block]:
    """What each consumer was told last, by which ways it went, whether it arrived and was answered; and whatever else
    did not reach them and still holds. Then who reads the table beside them. `setup` None: it is configured no more."""
    views, lost = _shown(incident), _unreached(incident)[:_SHOWN]
    others = [view for view in views if view not in lost]
    rest = [clipped(_told(view), _LINE) for view in others[: _SHOWN - len(lost)]]
    hidden = len(views) - len(lost) - len(rest)
    if hidden > 0:
        rest.append(f"and {hidden} more consumers; the record lists all")
    rest += reader_lines(incident, setup)
    blocks: list[Block] = []
    for view in lost:
        blocks += _lost(incident, view)
    blocks += [section(part) for part in pages("\n".join(rest))]
    blocks += _due(incident)
    return [section("*Notified*" if views else "*Readers*"), *blocks] if blocks else []


def to_do_blocks(incident: Incident) -> list[Block]:
    """Of an incident that is closed: what did not reach a consumer and still holds, and who needs a correction."""
    blocks = [block for view in _unreached(incident)[:_SHOWN] for block in _lost(incident, view)]
    return [*blocks, *_due(incident)]


_WHY: dict[Why, str] = {
    "taken-back": "their last notice calls the table trusted, but it is under review again",
    "proven-again": "their last notice names a state that was rolled back; another one is verified now",
    "moved": "their last notice names a snapshot that is no longer the trusted one",
    "late-run": "lineage now shows a run that read wrong rows",
}


def _due(incident: Incident) -> list[Block]:
    """Who is due for a correction, and the button that previews it."""
    due = corrections_due(incident)
    if not due:
        return []
    lines = []
    for why, words in _WHY.items():
        names = [code(each.consumer) for each in due if each.why == why]
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            lines.append(f"{', '.join(names[:_SHOWN])}{more}: {words}")
    send = button("Send a correction…", Click.CORRECT, incident.id, style="primary")
    none = button("No correction…", Click.DECLINE_CORRECTION, incident.id)
    text = "\n".join([":warning: *Need a correction*", *lines])
    return [*(section(part) for part in pages(text)), actions([send, none])]


def _shown(incident: Incident) -> list[NoticeView]:
    """The newest of each consumer, and before it those that failed and that nothing newer has overtaken."""
    newest = {view.notice.consumer: view for view in incident.notices.values()}
    unreached = _unreached(incident)
    return [view for view in incident.notices.values() if newest[view.notice.consumer] is view or view in unreached]


def _unreached(incident: Incident) -> list[NoticeView]:
    return [view for view in incident.notices.values() if view.unreached and still_holds(incident, view)]


def _lost(incident: Incident, view: NoticeView) -> list[Block]:
    """One way that failed: the button stands beside its line. More of them: one button each, below."""
    ways = list(view.deliveries.values())
    found = [(number, delivery) for number, delivery in enumerate(ways) if delivery.has_failed]
    text = written(clipped(_told(view), _LINE))
    if len(found) == 1:
        return [SectionBlock(text=text, accessory=_again(incident, view, found[0][0], "Try again"))]
    buttons = [_again(incident, view, number, f"Try again {WAYS[each.address.by]}") for number, each in found]
    return [SectionBlock(text=text), actions(buttons[:10])]


def _again(incident: Incident, view: NoticeView, way: int, label: str) -> ButtonElement:
    return button(label, Click.TELL_AGAIN, incident.id, str(view.seq), str(way))


def _told(view: NoticeView) -> str:
    deliveries = list(view.deliveries.values())
    failed = view.unreached
    is_sent = all(each.ended is not None for each in deliveries)
    is_over = is_sent and not any(each.ended is not None and each.ended.how == "delivered" for each in deliveries)
    is_settled = bool(view.answers) and view.answers[-1].answer != "needs-help"
    sent = ":heavy_minus_sign:" if is_over else (":white_check_mark:" if is_settled else ":mega:")
    mark = ":x:" if failed else (sent if is_sent else ":hourglass_flowing_sand:")
    title = mrkdwn((view.notice.title or view.notice.kind.replace("_", " ")).lower())
    line = f"{mark} {code(view.notice.consumer)} {title}: {', '.join(_delivery(each) for each in deliveries)}"
    answers = "; ".join(answered(each) for each in view.answers[-3:])
    return f"{line}. {answers or 'Not acknowledged yet'}"


def _delivery(delivery: DeliveryView) -> str:
    where = room(delivery.address.to) if delivery.address.by == "slack" else WAYS[delivery.address.by]
    if delivery.ended is not None and delivery.ended_at is not None:
        if delivery.ended.how == "delivered":
            return f"{where} {clock(delivery.ended_at)}"
        if delivery.ended.how == "overtaken":
            return f"{where} not sent: {mrkdwn(clipped(delivery.ended.detail, 300))}"
        return f"{where} *could not be reached, call them* ({mrkdwn(clipped(delivery.ended.detail, 160))})"
    if delivery.delayed is not None and delivery.address.by == "slack":
        waits = "takes no messages from the bot: it waits, call them if they must know now"
        return f"{where} *{waits}*. {addressed(delivery.delayed.problem, ())}"
    if delivery.delayed is not None:
        count = delivery.delayed.number - delivery.tries_before
        return f"{where} failed {count} times, next try at {clock(delivery.delayed.again_at)}"
    return f"{where} on its way{' once more' if delivery.retried else ''}"
