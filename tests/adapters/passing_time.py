"""A time that passes only while somebody waits for the next look: how long a test's computer takes does not count."""

import pytest

from bot.adapters import flink_http


class PassingTime:
    """What `polled` needs of the module `time`."""

    def __init__(self) -> None:
        self._now = 0.0

    def monotonic(self) -> float:
        """Seconds that were slept so far."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """So much time passes at once."""
        self._now += seconds


@pytest.fixture
def passing_time(monkeypatch: pytest.MonkeyPatch) -> PassingTime:
    """A limit of 30 s that is looked at every second is thirty looks, however slow each of them is."""
    made = PassingTime()
    monkeypatch.setattr(flink_http, "time", made)
    return made
