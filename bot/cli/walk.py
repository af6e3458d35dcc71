"""The scripted walk: people who read the card and click what it offers, printed as a transcript.

They drive the same workspace as the page, through what is rendered; nothing of the bot is called directly.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.workspace import Actor, NotShown, SeenMessage, Workspace

CHANNEL = "orders-oncall"
_LOOK_EVERY_S = 0.25
_EXCLUDED = "Why not the others"
_ROWS = 3
"""Of a table, its head among them."""
_HEAD = 2
"""Lines: title and result, of a message whose title was printed before."""
_AT_MOST = 4
"""Lines of a message that nobody decides on: what it means, what to do, until when, the first of the details."""
_DECISIVE = ("[Approve]", "Verified at", "What to do: ")
"""What is printed to its end."""
_FIGURE = re.compile(r"…?\b[\d.,:]*\d\b")
_VERDICT = re.compile(r"^:\w+: |: (confirmed|ruled out|inconclusive)$")
_ID = re.compile(r"[\w…/-]*\d[\w-]*")
_ONE_MORE = "Needs 1 more approval"
"""On a proposal whose policy asks for two, after the first yes."""
_MAIN = ("Run all", "Propose", "Preview and send…", "Done", "Open the review", "Close…")
"""What a responder does with each kind of step, by the button that the card offers."""


@dataclass
class Transcript:
    """Prints what each person did and what Waterline said: once, and of a long list its beginning."""

    say: Callable[[str], None]
    began: float = field(default_factory=time.monotonic)
    _shown: dict[str, str] = field(default_factory=dict)
    """Channel and time stamp of a message -> its text when it was printed last."""
    _edited: dict[str, tuple[SeenMessage, str]] = field(default_factory=dict)
    """What has changed since: it is printed before the next action, as it is then."""
    _lines: set[str] = field(default_factory=set)
    """Every line that messages had so far."""
    _titles: set[str] = field(default_factory=set)
    """Of messages: what they are about, whatever they say of it."""

    def person(self, name: str, action: str) -> None:
        self.flush()
        self.say(f"[{time.monotonic() - self.began:6.1f} s] {name} {action}")

    def show(self, messages: list[SeenMessage], where: str) -> None:
        """New messages now, what has changed in others before the next action."""
        for message in messages:
            key = message.channel + message.ts
            if self._shown.get(key) == message.plain:
                self._edited.pop(key, None)
            elif key in self._shown:
                self._edited[key] = (message, where)
            else:
                self._shown[key] = message.plain
                body = _lines_of(message)
                if self._lines.issuperset(body):
                    continue  # the same drawing once more
                is_repeated = _title(body[0]) in self._titles
                self._titles.add(_title(body[0]))
                at_most = _HEAD if is_repeated else _AT_MOST
                self._print(message, f"{where}{' (only to you)' if message.is_ephemeral else ''}", body, at_most)

    def flush(self) -> None:
        """Print the new lines of messages that were edited. A line in which only figures changed is no new one."""
        for key, (message, where) in self._edited.items():
            known = set(map(_without_figures, self._shown[key].splitlines()))
            self._shown[key] = message.plain
            new = [line for line in _lines_of(message) if _without_figures(line) not in known]
            if new:
                self._print(message, f"{where} (edited)", new, _AT_MOST)
        self._edited.clear()

    def _print(self, message: SeenMessage, where: str, lines: list[str], at_most: int) -> None:
        self._lines.update(lines)
        is_decisive = any(mark in line for mark in _DECISIVE for line in lines)
        shown = "\n    ".join(_decided_on(lines) if is_decisive else _folded(lines, at_most))
        self.say(f"  {message.author} in #{where}: {shown}")


def _lines_of(message: SeenMessage) -> list[str]:
    """Each once: the same button stands beside each item of a list. Buttons of a row are on one line."""
    lines: list[str] = []
    was_button = False
    for line in dict.fromkeys(line for line in message.plain.splitlines() if line.strip()):
        is_button = line in message.buttons
        if is_button and was_button:
            lines[-1] += f" [{line}]"
        else:
            lines.append(f"[{line}]" if is_button else line)
        was_button = is_button
    return lines


def _title(line: str) -> str:
    return _VERDICT.sub("", _without_figures(line))


def _without_figures(line: str) -> str:
    return _FIGURE.sub("0", line)


def _decided_on(lines: list[str]) -> list[str]:
    """Everything but why other causes are excluded."""
    end = lines.index(_EXCLUDED) if _EXCLUDED in lines else len(lines)
    return [*lines[:end], *([f"{_EXCLUDED}: {len(lines) - end - 1} more lines"] if end < len(lines) else [])]


def _folded(lines: list[str], at_most: int) -> list[str]:
    """The first `at_most` lines, of a message with a table its result and the first rows; the rest is counted."""
    rows = [line for line in lines if line.count(" | ") > 1 or _ID.fullmatch(line)]
    has_table = len(rows) > _ROWS and at_most > _HEAD
    kept = [*lines[:_HEAD], *rows[:_ROWS]] if has_table else lines[:at_most]
    left = len(lines) - len(kept)
    if left < 2:
        return lines
    return [*kept, f"… {left} more lines"] if at_most > _HEAD else kept


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
                self._transcript.flush()
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
        deadline = time.monotonic() + 30
        while self._ana.modal.submit is None and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY_S)
        if self._ana.modal.submit is None:
            raise NotShown(f"The form did not come. The modal shows: {self._ana.modal.plain}")
        form = self._ana.modal
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

    def _submit_preview(self) -> None:
        deadline = time.monotonic() + 30
        while self._ana.modal.submit is None and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY_S)
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
            moved = now.plain != before and "Stop" not in now.buttons
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
