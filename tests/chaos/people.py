"""People who click at random: whoever they are, whatever is shown, twice if they are impatient, all at once."""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from bot.workspace import Workspace
from bot.workspace.people import CannotDo
from bot.workspace.seen import NotShown
from tests.slack.people import ONCALL, Responder, is_card, is_proposal

FORWARD = ("Run all", "Stop collecting", "Propose", "Done")
"""Buttons of the card that lead the walk on."""
APPROVE, EXECUTE, REJECT, VERIFY = "Approve", "Execute", "Reject…", "Verify again"
"""Buttons of a proposal; `test_people` holds them against the bot's."""
_ENOUGH_TRIES = 40
"""An act that was tried so often and never done could never be done."""

_PAUSE_S = (0.2, 1.2)
"""Between two acts of one person."""


@dataclass(frozen=True)
class Typed:
    """A note, and whether Slack was told that it arrived."""

    text: str
    acked: bool


class Crowd:
    """Ana, Ben, Cleo and Finn, each in a thread of their own, until they are told to rest."""

    def __init__(self, slack: Workspace, random: Random, spoil_catalog: Callable[[Random], None]) -> None:
        """`spoil_catalog`: makes the table's catalog misbehave, for a moment."""
        self._slack = slack
        self._spoil_catalog = spoil_catalog
        self.notes: list[Typed] = []
        self.clicks = 0
        self._tried: Counter[str] = Counter()
        self._done: Counter[str] = Counter()
        self._counting = threading.Lock()
        self._resting = threading.Event()
        self._threads: list[threading.Thread] = []
        self._random = random
        self.ana = Responder(slack.url, slack.person("ana").person)

    def act(self) -> None:
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

    def never_done(self) -> list[str]:
        """Acts that were tried often enough, and not done once: then their script is wrong, not the bot lucky."""
        return [act for act, tries in self._tried.items() if tries >= _ENOUGH_TRIES and not self._done[act]]

    def opens(self) -> None:
        """Ana tries to open an incident; it may fail in any way when the bot is killed."""
        if self.ana.has_modal:
            self.ana.dismisses()
        self.ana.types("/waterline open")
        self.ana.reads_form()
        self.ana.fills({"runbook": "duplicate-rows"})
        self.ana.submits()

    def _live(self, name: str, person: Responder, random: Random) -> None:
        acts: list[tuple[float, Callable[[Responder, Random], bool]]] = [
            (6, self._goes_forward),
            (3, self._decides),
            (2, self._executes),
            (0.5, self._notes),
            (0.3, self._asks),
            (0.3 if name == "ben" else 0, self._rejects),
            (0.5 if name == "ana" else 0, self._gives_up),
            (0.3, self._spoils),
            (0.5 if name == "finn" else 0, self._spoils_catalog),
        ]
        while not self._resting.wait(random.uniform(*_PAUSE_S)):
            [do] = random.choices([act for _, act in acts], [weight for weight, _ in acts])
            self._does(do, person, random)

    def _does(self, do: Callable[[Responder, Random], bool], person: Responder, random: Random) -> None:
        try:
            is_done = do(person, random)
        except (AssertionError, CannotDo):
            is_done = False  # what they meant to click, or the form that they were filling in, is not there (any more)
        with self._counting:
            self._tried[do.__name__] += 1
            self._done[do.__name__] += is_done

    def _goes_forward(self, person: Responder, random: Random) -> bool:
        card = _newest(person, is_card)
        offered = [label for label in card.buttons if label.startswith(FORWARD) or label == "Diagnose"]
        if offered:
            self._click(person, random.choice(offered), card, random)
        return bool(offered)

    def _decides(self, person: Responder, random: Random) -> bool:
        return self._clicks_if_there(person, APPROVE, random) or self._clicks_if_there(person, VERIFY, random)

    def _executes(self, person: Responder, random: Random) -> bool:
        return self._clicks_if_there(person, EXECUTE, random)

    def _rejects(self, person: Responder, random: Random) -> bool:
        if not self._clicks_if_there(person, REJECT, random):
            return False
        try:
            person.fills_reason("Not convinced.")
        finally:
            if person.has_modal:
                person.dismisses()
        return True

    def _clicks_if_there(self, person: Responder, label: str, random: Random) -> bool:
        proposal = _newest(person, is_proposal)
        if label in proposal.buttons:
            self._click(person, label, proposal, random)
        return label in proposal.buttons

    def _notes(self, person: Responder, random: Random) -> bool:
        text = f"remark {random.getrandbits(48):012x}"
        outcome = person.types(f"/waterline note {text}")
        self.notes.append(Typed(text, outcome.outcome == "acked"))
        return True

    def _asks(self, person: Responder, random: Random) -> bool:
        person.types(f"/waterline {random.choice(['status', 'timeline', 'commits', 'help'])}")
        return True

    def _gives_up(self, person: Responder, _random: Random) -> bool:
        """The bot says no where no repair is on its branch, or while another proposal is open."""
        person.types("/waterline propose drop_repair_branch")
        return True

    def _spoils_catalog(self, _person: Responder, random: Random) -> bool:
        self._spoil_catalog(random)
        return True

    def _spoils(self, _person: Responder, random: Random) -> bool:
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
        return True

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
