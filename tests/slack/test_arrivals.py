"""What can wait gives way to deliveries that arrive, and not for ever."""

import threading
from collections.abc import Sequence

import pytest

from bot.slack import surface
from bot.slack.front_door import Arrivals
from tests.slack.little_bot import LittleBot
from tests.slack.people import PATIENCE_S, Responder, eventually
from tests.slack.test_faults_of_slack import nothing_waits


class Time:
    """Seconds that pass only while somebody sleeps; deliveries arrive at some of them."""

    def __init__(self, arrive: Sequence[float]) -> None:
        self._arrive = sorted(arrive)
        self.now = 100.0
        self.arrivals = Arrivals(lambda: self.now, self._sleep)

    def gives_way(self) -> float:
        """After how many seconds, from the first arrival, work begins."""
        began = self.now
        self._sleep(0)
        self.arrivals.give_way()
        return round(self.now - began, 3)

    def _sleep(self, seconds: float) -> None:
        until = self.now + seconds
        while self._arrive and 100.0 + self._arrive[0] <= until:
            self.now = 100.0 + self._arrive.pop(0)
            self.arrivals.arrived()
        self.now = until


def test_nothing_waits_while_nothing_arrives() -> None:
    """Who works alone loses no time."""
    assert Time([]).gives_way() == 0


def test_one_click_is_worked_on_at_once() -> None:
    """A hundredth of a second is not noticed."""
    assert Time([0]).gives_way() == 0.01


def test_work_waits_for_the_end_of_a_burst() -> None:
    """It begins when the last delivery is stored, also where they come a little apart."""
    assert Time([0, 0.002, 0.004, 0.006, 0.03, 0.06]).gives_way() == 0.11


def test_a_burst_without_end_is_worked_on_all_the_same() -> None:
    """Half a second, and it is the turn of who has waited."""
    assert Time([number / 200 for number in range(2000)]).gives_way() == 0.5


class EndlessBurst(Arrivals):
    """Whoever sends gives way until it is over; whoever works on what was asked does not."""

    def __init__(self) -> None:
        super().__init__()
        self.gives_way = threading.Event()
        self.is_over = threading.Event()

    def give_way(self) -> None:
        """See the class."""
        if threading.current_thread().name == "outbox" and not self.is_over.is_set():
            self.gives_way.set()
            self.is_over.wait()


def test_messages_are_sent_when_the_burst_is_over(
    ana: Responder, bot: LittleBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command is acknowledged and worked on; its answer waits in the outbox until Slack's deliveries have ended."""
    burst = EndlessBurst()
    monkeypatch.setattr(surface, "Arrivals", lambda: burst)
    bot.restart()
    assert burst.gives_way.wait(PATIENCE_S)

    asked = ana.types("/waterline status")
    eventually(lambda: not nothing_waits(bot))
    told = [m.plain for m in ana.messages()]
    burst.is_over.set()

    assert asked.outcome == "acked"
    assert told == []
    ana.sees("No incident is open")
