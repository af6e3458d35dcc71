"""People who click at random: whoever they are, whatever is shown, twice if they are impatient, all at once."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from bot.workspace import Workspace
from bot.workspace.seen import NotShown
from tests.slack.people import ONCALL, Responder, is_card, is_proposal

FORWARD = ("Run evidence", "Run again", "Propose")
"""Buttons of the card that lead the walk on."""


_PAUSE_S = (0.2, 1.2)
"""Between two acts of one person."""


@dataclass(frozen=True)
class Typed:
    """A note, and whether Slack was told that it arrived."""

    text: str
    acked: bool


class Crowd:
    """Ana, Ben, Cleo and Finn, each in a thread of their own, until they are told to rest."""

    def __init__(self, slack: Workspace, random: Random) -> None:
        self._slack = slack
        self.notes: list[Typed] = []
        self.clicks = 0
        self._counting = threading.Lock()
        self._resting = threading.Event()
        self._threads: list[threading.Thread] = []
        self._random = random
        self.ana = Responder(slack.url, slack.person("ana").person)

    def act(self) -> None:
        """Everybody begins."""
        self._resting.clear()
        for name in ("ana", "ben", "cleo", "finn"):
            person = Responder(self._slack.url, self._slack.person(name).person)
            mine = Random(self._random.getrandbits(64))  # noqa: S311
            self._threads.append(threading.Thread(target=self._live, args=(name, person, mine), name=name))
            self._threads[-1].start()

    def rest(self) -> None:
        """Everybody ends what they are doing."""
        self._resting.set()
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def opens(self) -> None:
        """Ana tries to open an incident; it may fail in any way when the bot is killed."""
        if self.ana.has_modal:
            self.ana.dismisses(whole_stack=True)
        self.ana.types("/waterline open")
        self.ana.reads_form()
        self.ana.fills({"runbook": "duplicate-rows"})
        self.ana.submits()

    def _live(self, name: str, person: Responder, random: Random) -> None:
        acts: list[tuple[float, Callable[[Responder, Random], None]]] = [
            (6, self._goes_forward),
            (3, self._decides),
            (2, self._executes),
            (0.5, self._notes),
            (0.3, self._asks),
            (0.15 if name == "ben" else 0, self._rejects),
            (0.3, self._spoils),
        ]
        while not self._resting.wait(random.uniform(*_PAUSE_S)):
            [do] = random.choices([act for _, act in acts], [weight for weight, _ in acts])
            try:
                do(person, random)
            except AssertionError:
                continue  # what they meant to click is not there (any more)

    def _goes_forward(self, person: Responder, random: Random) -> None:
        card = _newest(person, is_card)
        offered = [label for label in card.buttons if label.startswith(FORWARD) or label == "Diagnose"]
        if offered:
            self._click(person, random.choice(offered), card, random)

    def _decides(self, person: Responder, random: Random) -> None:
        proposal = _newest(person, is_proposal)
        if "Approve" in proposal.buttons:
            self._click(person, "Approve", proposal, random)

    def _executes(self, person: Responder, random: Random) -> None:
        proposal = _newest(person, is_proposal)
        if "Execute" in proposal.buttons:
            self._click(person, "Execute", proposal, random)

    def _rejects(self, person: Responder, random: Random) -> None:
        proposal = _newest(person, is_proposal)
        if "Reject" in proposal.buttons:
            self._click(person, "Reject", proposal, random)
            person.fills_reason("Not convinced.")
            if person.has_modal:
                person.dismisses(whole_stack=True)

    def _notes(self, person: Responder, random: Random) -> None:
        text = f"remark {random.getrandbits(48):012x}"
        outcome = person.types(f"/waterline note {text}")
        self.notes.append(Typed(text, outcome.outcome == "acked"))

    def _asks(self, person: Responder, random: Random) -> None:
        person.types(f"/waterline {random.choice(['status', 'timeline', 'ledger', 'help'])}")

    def _spoils(self, _person: Responder, random: Random) -> None:
        """Slack misbehaves."""
        faults = self._slack.faults
        random.choice(
            [
                faults.doubles_deliveries,
                faults.doubles_clicks,
                faults.redelivers,
                faults.drops_sockets,
                lambda: faults.ratelimits("chat.postMessage"),
                lambda: faults.fails_after_effect("chat.postMessage"),
                lambda: faults.fails("chat.update", "internal_error"),
            ]
        )()

    def _click(self, person: Responder, label: str, place: object, random: Random) -> None:
        for _ in range(random.choice([1, 1, 1, 2])):
            person.clicks(label, place)  # type: ignore[arg-type]
            with self._counting:
                self.clicks += 1


def _newest(person: Responder, kind):  # type: ignore[no-untyped-def]
    found = next((m for m in reversed(person.messages(ONCALL)) if kind(m)), None)
    if found is None:
        raise NotShown("nothing of that kind is there yet")
    return found
