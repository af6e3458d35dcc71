"""The form of a planned savepoint, and the catalogue of those that were kept."""

from collections.abc import Sequence

from slack_sdk.models.blocks import (
    Block,
    CheckboxesElement,
    DatePickerElement,
    InputBlock,
    InputInteractiveElement,
    Option,
    OptionGroup,
    PlainTextInputElement,
    StaticMultiSelectElement,
    UserMultiSelectElement,
)
from slack_sdk.models.views import View

from bot.domain.ids import TableName, short
from bot.domain.savepoint_terms import restorers
from bot.domain.savepoints import KeptSavepoint
from bot.service.savepoints import Catalogue, SavepointOffer
from bot.slack.blocks.parts import context, section
from bot.slack.ids import Form
from bot.slack.text import code, mrkdwn, plain

_SHOWN = 10
_BOXES, _OPTIONS, _GROUPS = 10, 100, 100
"""Slack takes so many checkboxes; options of a select, or of one of its groups; and groups."""


def savepoint_form(offer: SavepointOffer, channel: str) -> View:
    """Why, for which code, who was told, who may restore it, until when; with what table and job say now."""
    blocks: list[Block] = [
        section(
            f"*Table* {code(offer.table)}, *job* {code(offer.job)}\n"
            f"Head {short(offer.head)}, newest checkpoint {mrkdwn(offer.checkpoint)}. {mrkdwn(offer.keeps)}"
        ),
        _line("reason", "Why is the job stopped?", ""),
        _line("before", "Code that runs now", offer.code),
        _line("after", "Code that is started from it", ""),
        *_told(offer.consumers),
        InputBlock(
            block_id="restorers",
            label="Who may restore it?",
            hint="Empty: whoever may carry out a proposal.",
            optional=True,
            element=UserMultiSelectElement(action_id="restorers"),
        ),
        InputBlock(
            block_id="until",
            label="Kept, and the one that counts, until",
            element=DatePickerElement(action_id="until", initial_date=f"{offer.until:%Y-%m-%d}"),
        ),
        InputBlock(
            block_id="over",
            label="The work is expected to be over by",
            hint="The announcement says so, and you are asked for its end then. In UTC.",
            optional=True,
            element=PlainTextInputElement(action_id="over", placeholder="14:10, or 2026-11-24 14:10", max_length=40),
        ),
        context("Nothing is stopped yet: the runbook looks first, and the stop is approved by somebody else."),
    ]
    return View(
        type="modal",
        callback_id=Form.SAVEPOINT,
        title="Plan a savepoint",
        submit="Plan it",
        close="Cancel",
        private_metadata=f"{offer.table}/{channel}",
        blocks=blocks,
    )


def catalogue_text(table: TableName, found: Catalogue) -> str:
    """One savepoint a paragraph, the newest first; which one counts is said before all."""
    kept, counts, left, hidden = found
    if not kept:
        return f"No savepoint of the job that writes {table} was kept yet. Plan one with /waterline savepoint {table}."
    if counts is not None:
        first = f"Authoritative until {counts.until:%Y-%m-%d}: checkpoint {counts.checkpoint}."
    elif left is not None and kept[0].proposal in left:
        first = "None counts now: main was set back to below the newest one's snapshot."
    else:
        first = "None counts now: the newest has passed its day."
    if left is None:
        first += " Whether main still holds their snapshots is not known: the table could not be looked at."
    more = [f"{len(kept) - _SHOWN} older ones are in the records of their incidents."] if len(kept) > _SHOWN else []
    shown = (
        (_bare if each.proposal in hidden else _entry)(each, each == counts, each.proposal in (left or ()))
        for each in kept[:_SHOWN]
    )
    return "\n".join([first, *shown, *more])


def _entry(kept: KeptSavepoint, counts: bool, has_left: bool) -> str:
    before = f" When it was proposed the table was at snapshot {kept.before}." if kept.before is not None else ""
    after = f" for {kept.plan.code_after}" if kept.plan else ""
    why = kept.plan.reason if kept.plan else "Taken without a plan."
    where = f", {kept.incident}" if kept.incident else ""
    told = f" Told: {', '.join(kept.plan.told) or 'nobody'}." if kept.plan else ""
    return (
        f"{_paired(kept, counts, has_left)}, code {kept.code_before}{after}, "
        f"taken {kept.taken_at:%Y-%m-%d %H:%M} UTC{where}.{before} {why}\n"
        f"   May restore it: {restorers(kept.plan)}.{told}\n   {kept.path}"
    )


def _bare(kept: KeptSavepoint, counts: bool, has_left: bool) -> str:
    """What a restore needs: for those who may not know of the incident that took it."""
    return f"{_paired(kept, counts, has_left)}. Taken in a private incident.\n   {kept.path}"


def _paired(kept: KeptSavepoint, counts: bool, has_left: bool) -> str:
    sign = "→" if counts else "•"
    pairs = "paired, until main left it, with" if has_left else "pairs with"
    return f"{sign} Checkpoint {kept.checkpoint} {pairs} snapshot {kept.snapshot} ({_tag(kept)})"


def _tag(kept: KeptSavepoint) -> str:
    if kept.is_released:
        return f"tag {kept.tag} removed"
    stays = f"until {kept.until:%Y-%m-%d}" if kept.goes_by_itself else "until somebody removes it"
    return f"tag {kept.tag} {stays}"


def _told(consumers: Sequence[str]) -> list[Block]:
    if not consumers:
        return [context("No consumer is declared: nobody has to be told.")]
    options = [Option(value=str(n), text=plain(name, 70)) for n, name in enumerate(consumers)]
    block = InputBlock(
        block_id="told",
        label="Which consumers were told of it?",
        hint="By other ways: whom the notice “planned work” reaches is added by itself.",
        optional=True,
        element=_choice(options),
    )  # fmt: skip
    beyond = len(options) - _OPTIONS * _GROUPS
    return [block, context(f"{beyond} more do not fit into this form.")] if beyond > 0 else [block]


def _choice(options: Sequence[Option]) -> InputInteractiveElement:
    """Boxes while they fit; else a list to choose from, in groups where one list is too short."""
    if len(options) <= _BOXES:
        return CheckboxesElement(action_id="told", options=options)
    if len(options) <= _OPTIONS:
        return StaticMultiSelectElement(action_id="told", options=options)
    cut = [options[start : start + _OPTIONS] for start in range(0, len(options), _OPTIONS)][:_GROUPS]
    groups = [
        OptionGroup(label=f"{number * _OPTIONS + 1} to {number * _OPTIONS + len(part)}", options=part)
        for number, part in enumerate(cut)
    ]
    return StaticMultiSelectElement(action_id="told", option_groups=groups)


def _line(name: str, label: str, value: str) -> InputBlock:
    element = PlainTextInputElement(action_id=name, initial_value=value or None, max_length=200)
    return InputBlock(block_id=name, label=label, element=element)
