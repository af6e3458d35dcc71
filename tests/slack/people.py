"""What the responders of the scenarios do: read the newest card, click what it offers, read the answer."""

import time
from collections.abc import Callable

from bot.workspace import Actor, SeenMessage
from bot.workspace.seen import SeenView

ONCALL = "orders-oncall"
PATIENCE_S = 45.0


class Responder(Actor):
    """One person in the incident channel."""

    def home(self, within_s: float = PATIENCE_S) -> SeenView:
        """The Home as it is published anew whenever somebody opens it."""
        return super().home(within_s)

    def asks(self, command: str, channel: str = ONCALL) -> str:
        """What `/waterline COMMAND` answers, to this person only."""
        return self.answer_to(lambda: self.types(f"/waterline {command}".strip(), channel), channel)

    def answer_to(self, do: Callable[[], object], channel: str = ONCALL) -> str:
        """What this person alone is told after doing something."""
        before = self.messages(channel)
        newest = before[-1] if before else None
        do()
        told = self.waits_for(lambda m: m.is_ephemeral, channel, timeout=PATIENCE_S, after=newest)
        return told.plain

    def was_told(self, text: str) -> int:
        """How often this person alone was told so, in the incident's channel."""
        return sum(text in message.plain for message in self.messages(ONCALL) if message.is_ephemeral)

    @property
    def card(self) -> SeenMessage:
        """The newest incident's card as it is now."""
        return next(m for m in reversed(self.messages(ONCALL)) if is_card(m))

    @property
    def proposal(self) -> SeenMessage:
        """The newest proposal as it is now."""
        return next(m for m in reversed(self.messages(ONCALL)) if is_proposal(m))

    def sees(self, text: str, channel: str = ONCALL) -> SeenMessage:
        """Waits for a message or reply that shows it."""
        return self.waits_for(text, channel, timeout=PATIENCE_S)

    def sees_on_card(self, text: str) -> SeenMessage:
        """Waits until the card shows it, text or button."""
        return self.waits_for(lambda m: is_card(m) and (text in m.plain or text in m.buttons), timeout=PATIENCE_S)

    def sees_on_proposal(self, text: str) -> SeenMessage:
        """Waits until the newest proposal shows it, text or button."""

        def shows(message: SeenMessage) -> bool:
            return is_proposal(message) and (text in message.plain or text in message.buttons)

        return self.waits_for(shows, timeout=PATIENCE_S)

    def opens_form(self, command: str = "open") -> None:
        """Types the command and waits until the form is filled; chooses a symptom, where it asks for one."""
        self.types(f"/waterline {command}")
        self.reads_form()
        if "runbook" in (control.block_id for control in self.modal.controls):
            self.fills({"runbook": "duplicate-rows"})

    def opens(self, runbook: str = "duplicate-rows") -> SeenMessage:
        """Opens an incident, leaves the preview of the first warning for later, and returns the card."""
        self.opens_form()
        self.fills({"runbook": runbook})
        self.submits()
        self.reads_form()
        self.dismisses()
        return self.sees_on_card("under review")

    def opens_and_warns(self) -> None:
        """Opens an incident as the form is filled, and sends the first warning as its preview shows it."""
        self.opens_form()
        self.submits()
        self.reads_form()
        self.submits()

    def opens_planned_work(self) -> SeenMessage:
        """Opens the work of a planned savepoint, of which nobody is warned, and returns the card."""
        self.opens_form()
        self.fills({"runbook": "planned-savepoint"})
        self.submits()
        self.reads_form()
        self.dismisses()
        return self.sees_on_card("Plan a savepoint…")

    def reads_form(self) -> str:
        """What the form on top says, once it is filled."""
        eventually(lambda: "hourglass" not in str(self.modal.blocks))
        return self.modal.plain

    def collects_evidence(self) -> SeenMessage:
        """Runs the evidence where it waits; the walk comes to the proposal by itself."""
        card = self.waits_for(lambda m: is_card(m) and {"Run all", "Propose"} & set(m.buttons), timeout=PATIENCE_S)
        if "Run all" in card.buttons:
            self.clicks("Run all", card)
        return self.sees_on_card("Propose")

    def proposes(self) -> SeenMessage:
        """Clicks Propose on the card and returns the proposal."""
        self.clicks("Propose", self.sees_on_card("Propose"))
        return self.sees_on_proposal("Approve")

    def fills_reason(self, reason: str) -> None:
        """Fills the form on top and submits it."""
        self.fills({"reason": reason})
        self.submits()


def is_card(message: SeenMessage) -> bool:
    """Whether it is an incident's card."""
    return "Add a note…" in message.buttons or "Closed by" in message.plain


def is_proposal(message: SeenMessage) -> bool:
    """Whether it is a proposal, in any state."""
    return " · proposed by " in message.plain


def eventually(holds: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
    """Waits until something holds; fails at the deadline."""
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline, "what was awaited did not come"
        time.sleep(0.02)
