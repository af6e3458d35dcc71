"""What can wait gives way to deliveries that arrive, and not for ever."""

import threading
import time

from bot.slack.arrivals import Arrivals


def test_nothing_waits_while_nothing_arrives() -> None:
    """Who works alone loses no time."""
    began = time.monotonic()

    Arrivals().give_way()

    assert time.monotonic() - began < 0.2


def test_work_waits_for_the_end_of_a_burst() -> None:
    """The last of a burst is stored before the first of it is worked on."""
    arrivals, stored = Arrivals(), []
    arrivals.arrived()
    burst = threading.Thread(target=lambda: [(stored.append(number), arrivals.arrived()) for number in range(5)])
    burst.start()

    arrivals.give_way()

    burst.join()
    assert stored == [0, 1, 2, 3, 4]


def test_a_burst_without_end_is_worked_on_all_the_same() -> None:
    """Half a second, and it is somebody else's turn."""
    arrivals, ended = Arrivals(), threading.Event()

    def keeps_arriving() -> None:
        while not ended.wait(0.001):
            arrivals.arrived()

    endless = threading.Thread(target=keeps_arriving)
    endless.start()
    began = time.monotonic()

    arrivals.give_way()

    ended.set()
    endless.join()
    assert time.monotonic() - began < 5
