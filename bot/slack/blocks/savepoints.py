"""The form of a planned savepoint, and the catalogue of those that were kept."""

from slack_sdk.models.blocks import PlainTextObject
from slack_sdk.models.views import View

from bot.incident.incident import Incident
from bot.incident.savepoints import KeptSavepoint
from bot.observation.ids import TableName, short
from bot.service.savepoints import Catalogue, SavepointOffer
from bot.slack.blocks.parts import context, section
from bot.slack.forms import SAVEPOINT_TITLE, day, line, modal
from bot.slack.ids import Form
from bot.slack.text import code, mrkdwn

_SHOWN = 10


def savepoint_form(incident: Incident, offer: SavepointOffer) -> View:
    """Why, for which code, until when; with what table and job say now."""
    now = (
        f"*Table* {code(offer.table)}, *job* {code(offer.job)}\n"
        f"Head {short(offer.head)}, newest checkpoint {mrkdwn(offer.checkpoint)}."
    )
    over = line("over", "The work is expected to be over by", "14:10, or 2026-11-24 14:10", optional=True, most=40)
    over.hint = PlainTextObject(
        text="In UTC. The notice to consumers shows it, and Waterline asks you then whether the work is over."
    )
    return modal(
        SAVEPOINT_TITLE,
        section(now),
        line("reason", "Why is the job stopped?", most=200),
        line("before", "Code that runs now", already=offer.code, most=200),
        line("after", "Code that starts from it", most=200),
        day("until", "Kept, and authoritative, until", offer.until),
        over,
        context("This stops nothing yet. The runbook proposes the stop, and somebody else approves it."),
        form=Form.SAVEPOINT,
        submit="Plan it",
        about=f"{incident.id}/{incident.opened.channel}",
    )


def catalogue_text(table: TableName, found: Catalogue) -> str:
    """One savepoint a paragraph, the newest first; which one counts is said before all."""
    kept, counts, left, hidden, not_now = found
    if not kept:
        return f"No savepoint of the job of {table} is kept."
    if counts is not None:
        first = f"Authoritative until {counts.until:%Y-%m-%d}: checkpoint {counts.checkpoint}."
    elif left is not None and kept[0].proposal in left:
        first = "None is authoritative: main was rolled back past the newest one's snapshot."
    else:
        first = "None is authoritative: the newest one has expired."
    if left is None:
        first += " Could not read the table, so it is unknown whether main still has their snapshots."
    more = [f"{len(kept) - _SHOWN} older ones are in the records of their incidents."] if len(kept) > _SHOWN else []
    shown = (
        (_bare if each.proposal in hidden else _entry)(each, each == counts, each.proposal in (left or ()))
        + (f"\n   Do not start from it now: {not_now[each.proposal]}." if each.proposal in not_now else "")
        for each in kept[:_SHOWN]
    )
    return "\n".join([first, *shown, *more])


def _entry(kept: KeptSavepoint, counts: bool, has_left: bool) -> str:
    before = f" Table snapshot at the proposal: {kept.before}." if kept.before is not None else ""
    after = f" for {kept.plan.code_after}" if kept.plan else ""
    why = kept.plan.reason if kept.plan else "Taken without a plan."
    where = f", {kept.incident}" if kept.incident else ""
    return (
        f"{_paired(kept, counts, has_left)}, code {kept.code_before}{after}, "
        f"taken {kept.taken_at:%Y-%m-%d %H:%M} UTC{where}.{before} {why}\n   {kept.path}"
    )


def _bare(kept: KeptSavepoint, counts: bool, has_left: bool) -> str:
    """What a restore needs; its private incident is shown in that incident's channel only."""
    return f"{_paired(kept, counts, has_left)}. Taken in a private incident.\n   {kept.path}"


def _paired(kept: KeptSavepoint, counts: bool, has_left: bool) -> str:
    sign = "→" if counts else "•"
    pairs = "paired, until a rollback removed it from main, with" if has_left else "pairs with"
    return f"{sign} Checkpoint {kept.checkpoint} {pairs} snapshot {kept.snapshot} ({_tag(kept)})"


def _tag(kept: KeptSavepoint) -> str:
    if kept.is_released:
        return f"tag {kept.tag} removed"
    return f"tag {kept.tag} until {kept.until:%Y-%m-%d}"
