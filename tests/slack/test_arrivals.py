"""What can wait gives way to deliveries that arrive, and not for ever."""

from collections.abc import Sequence

from bot.slack.arrivals import Arrivals


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
