"""The scripted walk: people who read the card and click what it offers, printed as a transcript.

They drive the same workspace as the page, through what is rendered; nothing of the bot is called directly.
"""

import re
import time
from collections.abc import Callable

from bot.workspace import Actor, NotShown, SeenMessage, Workspace
from bot.workspace.seen import SeenView

CHANNEL = "orders-oncall"
_LOOK_EVERY_S = 0.25
_AT_MOST = 12
"""Lines of a message: what it says, what to do, until when, and its buttons."""
_FIGURE = re.compile(r"…?\b[\d.,:]*\d\b")
_ONE_MORE = "Needs 1 more approval"
"""On a proposal whose policy asks for two, after the first yes."""
_MAIN = ("Run all", "Propose", "Preview and send…", "Done", "Open the review", "Close…")
"""What a responder does with each kind of step, by the button that the card offers."""


class Transcript:
    """Prints what each person did, and what Waterline said: each line once, and of a long message its beginning."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self._began = time.monotonic()
        self._lines: set[str] = set()
        """Every line that messages had so far. One in which only figures changed is no new one."""

    def person(self, name: str, action: str) -> None:
        self.say(f"[{time.monotonic() - self._began:6.1f} s] {name} {action}")

    def show(self, messages: list[SeenMessage], where: str) -> None:
        """What is new in them, whether they are new or were edited."""
        for message in messages:
            new = [line for line in _lines_of(message) if _FIGURE.sub("0", line) not in self._lines]
            self._lines.update(_FIGURE.sub("0", line) for line in new)
            left = len(new) - _AT_MOST
            shown = [*new[:_AT_MOST], f"… {left} more lines"] if left > 1 else new
            if shown:
                self.say(f"  {message.author} in #{where}: " + "\n    ".join(shown))


def _lines_of(message: SeenMessage) -> list[str]:
    """Each once: the same button stands beside each item of a list. Buttons of a row are on one line."""
    lines: list[str] = []
    was_button = False
    for line in dict.fromkeys(line for line in message.at_first.splitlines() if line.strip()):
        is_button = line in message.buttons
        if is_button and was_button:
            lines[-1] += f" [{line}]"
        else:
            lines.append(f"[{line}]" if is_button else line)
        was_button = is_button
    return lines


class Walk:
    """One incident from the first command to the closed record."""

    patience_s = 240.0
    """How long a whole walk may take, on a machine that has nothing else to do."""
    click_patience_s = 120.0
    """How long the card may take to change after a click."""

    def __init__(self, workspace: Workspace, runbook: str, say: Callable[[str], None]) -> None:
        self._ana, self._ben, self._cleo = (workspace.person(name) for name in ("ana", "ben", "cleo"))
        self._consumers = {"revenue-analytics": workspace.person("dana"), "fraud-ml": workspace.person("eli")}
        self._runbook = runbook
        self._transcript = Transcript(say)
        self._steps: list[str] = []

    def run(self) -> list[str]:
        """Walk to the end; returns the titles of the buttons in the order in which they were clicked. Raises NotShown
        where it does not come to its end, or a button is clicked in vain."""
        self._open()
        in_vain: tuple[str, str] | None = None
        deadline = time.monotonic() + self.patience_s
        while time.monotonic() < deadline:
            card = self._card()
            if "Closed by" in card.plain:
                self._show_everything()
                return self._steps
            label = next((wanted for wanted in _MAIN if wanted in card.buttons), None)
            if label is None:
                time.sleep(_LOOK_EVERY_S)
                continue
            before = card.plain
            if in_vain == (label, before):
                raise NotShown(f"[{label}] changes nothing. The form shows: {self._ana.modal.plain} The card: {before}")
            self._steps.append(label)
            getattr(self, _ACTIONS.get(label, "_click"))(label, card)
            in_vain = None if self._has_changed(before) else (label, before)
        raise NotShown(
            f"The scripted incident did not end within {self.patience_s:.0f} s. The card shows: {self._card().plain}"
        )

    def _open(self) -> None:
        self._transcript.person("Ana", "types /waterline open")
        self._ana.types("/waterline open", CHANNEL)
        form = self._form()
        words = [line for line in form.plain.splitlines() if line not in form.fields]
        self._transcript.say("\n    ".join([f"    Asked for: {', '.join(form.fields)}", *words]))
        self._ana.fills({"runbook": self._runbook, "summary": "The on-call alert woke me up: look at sales.orders"})
        self._transcript.person("Ana", f"chooses “{self._runbook}” and opens the incident")
        self._ana.submits()
        self._ana.waits_for(_is_card, CHANNEL, timeout=30)
        self._submit_preview()

    def _click(self, label: str, card: SeenMessage) -> None:
        self._transcript.person("Ana", f"clicks [{label}]")
        self._ana.clicks(label, card)

    def _propose(self, label: str, card: SeenMessage) -> None:
        self._click(label, card)
        self._wait_for("Approve", self._ben)
        self._transcript.person("Ben", "reads the proposal and clicks [Approve]")
        self._ben.clicks("Approve")
        decided = self._ana.waits_for(lambda m: "Execute" in m.buttons or _ONE_MORE in m.plain, CHANNEL, timeout=60)
        if _ONE_MORE in decided.plain:
            self._transcript.person("Cleo", "reads it, too, and clicks [Approve]")
            self._cleo.clicks("Approve", decided)
        self._wait_for("Execute", self._ana)
        self._transcript.person("Ana", "clicks [Execute]")
        self._ana.clicks("Execute")
        self._ana.waits_for(lambda m: "Verified at head" in m.plain or "Refused" in m.plain, CHANNEL, timeout=180)

    def _send(self, label: str, card: SeenMessage) -> None:
        self._click(label, card)
        self._submit_preview()

    def _form(self) -> SeenView:
        """What Ana has to fill in or to send, once the bot has filled its placeholder."""
        deadline = time.monotonic() + 30
        while (form := self._ana.modal).submit is None:
            if time.monotonic() > deadline:
                raise NotShown(f"The form did not come. The modal shows: {form.plain}")
            time.sleep(_LOOK_EVERY_S)
        return form

    def _submit_preview(self) -> None:
        self._form()
        self._transcript.person("Ana", "reads the preview and sends it")
        self._ana.submits()

    def _close(self, label: str, card: SeenMessage) -> None:
        self._click(label, card)
        self._ana.fills({"reason": "Recovered and verified; consumers are notified."})
        self._ana.submits()

    def _wait_for(self, button: str, who: Actor) -> None:
        who.waits_for(lambda m: button in m.buttons, CHANNEL, timeout=60)
        self._show_everything()

    def _has_changed(self, before: str) -> bool:
        deadline = time.monotonic() + self.click_patience_s
        while time.monotonic() < deadline:
            self._show_everything()
            now = self._card()
            moved = now.plain != before and "Stop collecting" not in now.buttons
            time.sleep(_LOOK_EVERY_S)
            if moved:
                return True
        return False

    def _card(self) -> SeenMessage:
        return next(m for m in reversed(self._ana.messages(CHANNEL)) if _is_card(m))

    def _show_everything(self) -> None:
        for message in self._ana.messages(CHANNEL):
            if not _is_card(message):
                self._transcript.show([message], CHANNEL)
            self._transcript.show(message.replies, f"{CHANNEL} (thread)")
        for channel, consumer in self._consumers.items():
            self._transcript.show(consumer.messages(channel), channel)


def _is_card(message: SeenMessage) -> bool:
    return "Add a note…" in message.buttons or "Closed by" in message.plain


_ACTIONS = {"Propose": "_propose", "Preview and send…": "_send", "Close…": "_close"}
"""Button -> the method that does more than click it."""
