"""Who was told, on the incident's card: what did not arrive first, with the button that tries it again."""

from slack_sdk.models.blocks import Block, ButtonElement, SectionBlock

from bot.domain.corrections import Why, corrections_due
from bot.domain.incident import Incident
from bot.domain.notice import WAYS
from bot.domain.setup import TableSetup
from bot.domain.told import DeliveryView, NoticeView
from bot.service.outdated import still_holds
from bot.slack.blocks.notice import answered
from bot.slack.blocks.parts import actions, button, clock, section
from bot.slack.blocks.readers import reader_lines
from bot.slack.ids import Click
from bot.slack.pages import pages
from bot.slack.text import clipped, code, mrkdwn, room, written

_SHOWN = 12
_LINE = 600


def told_blocks(incident: Incident, setup: TableSetup | None) -> list[Block]:
    """What each consumer was told last, by which ways it went, whether it arrived and was answered; and whatever else
    did not reach them and still holds. Then who reads the table beside them. `setup` None: it is configured no more."""
    views = _shown(incident)
    lost = [view for view in views if view.unreached and still_holds(incident, view)][:_SHOWN]
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
    return [
        view
        for view in incident.notices.values()
        if newest[view.notice.consumer] is view or (view.unreached and still_holds(incident, view))
    ]


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
    sent = ":heavy_minus_sign:" if is_over else ":white_check_mark:"
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
        again = f", next try at {clock(delivery.ended.again_at)}" if delivery.ended.again_at is not None else ""
        return f"{where} *could not be reached, call them*{again} ({mrkdwn(clipped(delivery.ended.detail, 160))})"
    if delivery.delayed is not None:
        count = delivery.delayed.number - delivery.tries_before
        return f"{where} failed {count} times, next try at {clock(delivery.delayed.again_at)}"
    return f"{where} on its way{' once more' if delivery.retried else ''}"
