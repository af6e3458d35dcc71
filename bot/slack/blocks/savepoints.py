"""The form of a planned savepoint, and the catalogue of those that were kept."""

from slack_sdk.models.blocks import Block, DatePickerElement, InputBlock, PlainTextInputElement
from slack_sdk.models.views import View

from bot.incident.incident import Incident
from bot.incident.savepoints import KeptSavepoint
from bot.observation.ids import TableName, short
from bot.service.savepoints import Catalogue, SavepointOffer
from bot.slack.blocks.parts import context, section
from bot.slack.forms import SAVEPOINT_TITLE
from bot.slack.ids import Form
from bot.slack.text import code, mrkdwn

_SHOWN = 10


def savepoint_form(incident: Incident, offer: SavepointOffer) -> View:
    """Why, for which code, until when; with what table and job say now."""
    blocks: list[Block] = [
        section(
            f"*Table* {code(offer.table)}, *job* {code(offer.job)}\n"
            f"Head {short(offer.head)}, newest checkpoint {mrkdwn(offer.checkpoint)}."
        ),
        _line("reason", "Why is the job stopped?", ""),
        _line("before", "Code that runs now", offer.code),
        _line("after", "Code that starts from it", ""),
        InputBlock(
            block_id="until",
            label="Kept, and authoritative, until",
            element=DatePickerElement(action_id="until", initial_date=f"{offer.until:%Y-%m-%d}"),
        ),
        InputBlock(
            block_id="over",
            label="The work is expected to be over by",
            hint="In UTC. The notice to consumers shows it, and Waterline asks you then whether the work is over.",
            optional=True,
            element=PlainTextInputElement(action_id="over", placeholder="14:10, or 2026-11-24 14:10", max_length=40),
        ),
        context("This stops nothing yet. The runbook proposes the stop, and somebody else approves it."),
    ]
    return View(
        type="modal",
        callback_id=Form.SAVEPOINT,
        title=SAVEPOINT_TITLE,
        submit="Plan it",
        close="Cancel",
        private_metadata=f"{incident.id}/{incident.opened.channel}",
        blocks=blocks,
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


def _line(name: str, label: str, value: str) -> InputBlock:
    element = PlainTextInputElement(action_id=name, initial_value=value or None, max_length=200)
    return InputBlock(block_id=name, label=label, element=element)
