"""Modals. Those that need a look at the world open at once as a placeholder, and are filled by the worker."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from slack_sdk.models.blocks import (
    Block,
    CheckboxesElement,
    ContextBlock,
    DatePickerElement,
    DividerBlock,
    InputBlock,
    Option,
    PlainTextInputElement,
    PlainTextObject,
    SectionBlock,
    StaticSelectElement,
)
from slack_sdk.models.views import View

from bot.incident.runbook import Runbook
from bot.observation.ids import short
from bot.observation.sentences import visible
from bot.slack.ids import COMMAND, Click, Form
from bot.slack.limits import MODAL_TITLE, MOST_OPTIONS, OPTION_TEXT, SECTION_TEXT
from bot.slack.requests import AGAIN, Clicked, Command, MessageChosen, Request
from bot.slack.text import addressed, clipped, code, mrkdwn, plain, written

if TYPE_CHECKING:
    from bot.service.opening import Offer  # behind the gateway: what is asked of catalogs takes long to import

PREVIEW_TITLE = "Preview the notices"
PLANNED_TITLE = "This was planned"
SAVEPOINT_TITLE = "Plan a savepoint"
REASONS: dict[str, tuple[Form, str, str, str]] = {
    Click.SKIP: (Form.SKIP, "Skip this step", "Why is it not needed?", "Skip"),
    Click.NOTE: (Form.NOTE, "Add a note", "What should the record say?", "Add"),
    Click.REJECT: (Form.REJECT, "Reject the proposal", "What should change?", "Reject"),
    Click.VETO: (Form.VETO, "Veto the proposal", "Why should it not run?", "Veto"),
    Click.BREAK_GLASS: (Form.BREAK_GLASS, "Emergency approval", "Why can it not wait for the others?", "Approve alone"),
    Click.SETTLE_HAPPENED: (Form.SETTLE_HAPPENED, "It happened", "What did you look at and see?", "It happened"),
    Click.SETTLE_NOT: (Form.SETTLE_NOT, "It did not happen", "What did you look at and see?", "It did not happen"),
    Click.WITHDRAW_PLAN: (Form.WITHDRAW_PLAN, "Withdraw the plan", "Why was it not planned?", "Withdraw"),
    Click.HELP: (Form.HELP, "Ask for help", "What do you need?", "Ask"),
    Click.DECLINE_CORRECTION: (Form.DECLINE_CORRECTION, "No correction", "Why do they need none?", "Send none"),
    Click.CLOSE: (Form.CLOSE, "Close the incident", "How did it end?", "Close it"),
}


_SEVERITIES = (
    Option(value="sev1", text="Sev 1: consumers act on wrong data now"),
    Option(value="sev2", text="Sev 2: wrong or missing data, contained"),
    Option(value="sev3", text="Sev 3: something to look into"),
)
_PRIVATE = Option(
    value="private",
    text="Private",
    description="Visible only in this channel, which must be private. No automatic notices.",
)


_ASKS = {
    "planned_work": "When is it, and what will be done?",
    "planned_work off": "Why not, and what comes next?",
}
"""Kind of notice -> what its words answer."""
_OPEN_TITLE = "Open an incident"
_FIRST: dict[str, tuple[str, str]] = {
    Click.OPEN: (_OPEN_TITLE, "Checking the table…"),
    Click.SAVEPOINT: (SAVEPOINT_TITLE, "Checking the table and the job…"),
    Click.TERM: ("Review item", "Reading the review…"),
    Click.PLANNED: (PLANNED_TITLE, "Reading the diagnosis…"),
    Click.PREVIEW_NOTICE: (PREVIEW_TITLE, "Preparing the notices…"),
    Click.CORRECT: (PREVIEW_TITLE, "Preparing the notices…"),
    Click.READ_NOTICES: (PREVIEW_TITLE, "Loading the notices…"),
}
"""Click -> title and sentence of the placeholder, until the worker fills it."""
_FOLLOWED: dict[str, tuple[str, str]] = {
    Form.TABLE: (_OPEN_TITLE, "Checking the table…"),
    Form.OPEN: (PREVIEW_TITLE, "Opening the incident and preparing the warning…"),
    Form.WORDS: (PREVIEW_TITLE, "Preparing the notices…"),
}
_MEANS = {
    Form.SEVERITY: "Consumers who still wait for an all-clear get an update.",
    Form.WORDS: "Each consumer gets this text in the notice. You see every notice before it is sent.",
    Form.HELP: "This notifies the responders now. They answer in this channel.",
    Form.PLANNED: "The record keeps your name and the reason, and the diagnosis is made again. Wrong rows stay wrong.",
    Form.VETO: "A veto ends the proposal, even after approval. You can propose another one.",
    Form.SETTLE_HAPPENED: "The execution continues with the next step. The record keeps your answer, and the review "
    "asks about it.",
    Form.SETTLE_NOT: "The execution ends here; nothing is repeated. The record keeps your answer, and the review asks "
    "about it.",
    Form.BREAK_GLASS: "You approve this alone. The owners are notified now with your reason, and the review asks about "
    "it.",
}
"""What submitting does, where the title does not say it."""


def form_for(request: Request) -> View | None:
    """The modal that a request opens at once; None when it opens none."""
    match request:
        case Command(verb="open") | MessageChosen():
            return _first(Click.OPEN, request.trigger)
        case Command(verb="notify") if request.rest.split(" ")[0] != AGAIN:
            return _first(Click.PREVIEW_NOTICE, request.trigger)
        case Clicked() if request.action in _FIRST:
            return _first(request.action, request.trigger)
        case Clicked(action=Click.SEVERITY):
            return _severity_form(f"{request.value}/{request.channel}")
        case Clicked(action=Click.TELL_IN_WORDS):
            label = _ASKS.get(request.parts[1], "What do you want to say?")
            about = f"{request.value}/{request.channel}"
            return _reason(
                Form.WORDS, "Notify the consumers", label, "Preview", about=about, hint="The text for the notice"
            )
        case Clicked() if request.action in REASONS:
            form, title, label, submit = REASONS[request.action]
            return _reason(form, title, label, submit, about=f"{request.value}/{request.channel}")
        case _:
            return None


def _first(click: str, trigger: str) -> View:
    title, sentence = _FIRST[click]
    return placeholder(title, open_form_id(trigger), sentence)


def following_form(form: str, trigger: str) -> View | None:
    """What takes a form's place when it is submitted: the chosen table's form, the preview of the first warning, or of
    the notice that words are for."""
    if form not in _FOLLOWED:
        return None
    title, sentence = _FOLLOWED[form]
    return placeholder(title, open_form_id(trigger), sentence)


def open_form_id(trigger: str) -> str:
    """external_id of a placeholder, so that the worker can fill it without its view id."""
    return f"form-{trigger}"


def modal(
    title: str,
    *blocks: Block,
    form: Form | None = None,
    submit: str | None = None,
    about: str = "",
    close: str = "Cancel",
    external_id: str | None = None,
) -> View:
    """`about`: ids that travel with the form; the last one is the channel in which its answer appears."""
    return View(
        type="modal",
        callback_id=form,
        title=clipped(title, MODAL_TITLE),
        submit=submit,
        close=close,
        private_metadata=about or None,
        external_id=external_id,
        blocks=list(blocks),
    )


def placeholder(title: str, external_id: str, sentence: str) -> View:
    """A modal that says what is being looked at."""
    text = written(f":hourglass_flowing_sand: {mrkdwn(sentence)}")
    return modal(title, SectionBlock(text=text), external_id=external_id)


def problem_form(title: str, sentence: str, typed: str = "") -> View:
    """What a placeholder becomes when the look failed; with what was typed, so that it can be taken along."""
    problem = written(f":warning: {clipped(addressed(visible(sentence)), SECTION_TEXT - 20)}")
    yours = [SectionBlock(text=written(f"*Your text*\n{mrkdwn(typed)}"))] if typed else []
    return modal(title, SectionBlock(text=problem), *yours, close="Close")


def planned_form(kinds: Sequence[str], about: str) -> View:
    """Asks as what something was planned, and why. `about`: incident/code/channel."""
    options = [Option(value=kind, text=kind) for kind in kinds]
    what = select("what", "What was planned?", options, options[0])
    return _reason(Form.PLANNED, PLANNED_TITLE, "Who planned it, and why?", "Declare", what, about=about)


def _severity_form(about: str) -> View:
    """Asks how bad it is, and why. `about`: incident/channel."""
    return _reason(Form.SEVERITY, "Change the severity", "Why?", "Change", _severity(None), about=about)


def opened_form(sentence: str, icon: str = ":lock:") -> View:
    """What the opening form becomes when nothing follows it."""
    return modal(_OPEN_TITLE, SectionBlock(text=written(f"{icon} {mrkdwn(sentence)}")), close="Close")


class Filled(NamedTuple):
    """What the form of an incident holds before anybody fills it in."""

    runbook: str | None = None
    """The symptom; None: nothing fits for sure, so the responder chooses."""
    severity: str = "sev2"
    summary: str = ""


def table_form(tables: Sequence[str], channel: str, source: str, summary: str) -> View:
    """Asks for the table first. `source`: ts of the message that it is opened from; empty without one."""
    options = [Option(value=table, text=plain(table, OPTION_TEXT)) for table in tables[:MOST_OPTIONS]]
    more = f"Type {COMMAND} open TABLE for one of the {len(tables) - MOST_OPTIONS} others."
    return modal(
        _OPEN_TITLE,
        select("table", "Which table?", options, None),
        _summary(summary),
        *([ContextBlock(elements=[written(more)])] if len(tables) > MOST_OPTIONS else []),
        form=Form.TABLE,
        submit="Next",
        about=f"{source}/{channel}",
    )


def open_form(offer: "Offer", runbooks: Sequence[Runbook], channel: str, filled: Filled, source: str = "") -> View:
    """Symptom, severity and the proposed window of a table. `source`: as in `table_form`."""
    symptoms = [Option(value=book.id, text=plain(book.title, OPTION_TEXT)) for book in runbooks]
    proposed = (
        f"*Proposed window:* {offer.window_in_words}. "
        f"*Last snapshot with no known problem:* {short(offer.trusted)}\n{mrkdwn(offer.because)}"
    )
    means = (
        "Opening marks the table as under review. Next, you see the warning to its consumers. "
        "Planned work does neither."
    )
    private = CheckboxesElement(action_id="private", options=[_PRIVATE])
    return modal(
        _OPEN_TITLE,
        SectionBlock(text=written(f"*Table* {code(offer.table)}")),
        select("runbook", "What do you see?", symptoms, _chosen(symptoms, filled.runbook)),
        _severity(filled.severity),
        _summary(filled.summary),
        InputBlock(block_id="private", label="Visibility", optional=True, element=private),
        DividerBlock(),
        SectionBlock(text=written(proposed)),
        line("since", "Another last good snapshot", "Its id, or the last six digits", optional=True),
        ContextBlock(elements=[written(means)]),
        form=Form.OPEN,
        submit="Open",
        about=f"{offer.table}/{source}/{channel}",
    )


def _reason(
    form: Form, title: str, label: str, submit: str, *first: Block, about: str, hint: str = "A sentence for the record"
) -> View:
    means = [ContextBlock(elements=[written(_MEANS[form])])] if form in _MEANS else []
    asked = line("reason", label, hint, lines=True)
    return modal(title, *first, asked, *means, form=form, submit=submit, about=about)


def _severity(initial: str | None) -> InputBlock:
    return select("severity", "How bad is it?", _SEVERITIES, _chosen(_SEVERITIES, initial))


def _summary(already: str) -> InputBlock:
    hint = "What you noticed, and since when"
    return line("summary", "In your words (consumers read this)", hint, optional=True, lines=True, already=already)


def select(block_id: str, label: str, options: Sequence[Option], initial: Option | None) -> InputBlock:
    element = StaticSelectElement(action_id=block_id, options=list(options), initial_option=initial)
    return InputBlock(block_id=block_id, label=label, element=element)


def day(block_id: str, label: str, initial: datetime) -> InputBlock:
    element = DatePickerElement(action_id=block_id, initial_date=f"{initial:%Y-%m-%d}")
    return InputBlock(block_id=block_id, label=label, element=element)


def _chosen(options: Sequence[Option], value: str | None) -> Option | None:
    return next((option for option in options if option.value == value), None)


def line(
    block_id: str,
    label: str,
    hint: str | None = None,
    *,
    optional: bool = False,
    lines: bool = False,
    already: str = "",
    most: int = 1000,
) -> InputBlock:
    """Asks for a text of at most `most` characters, of one line or several."""
    element = PlainTextInputElement(
        action_id=block_id,
        multiline=lines,
        placeholder=hint,
        max_length=most,
        initial_value=clipped("\n".join(map(visible, already.split("\n"))), most) or None,
    )
    return InputBlock(block_id=block_id, label=PlainTextObject(text=label), optional=optional, element=element)
