"""How soon a killed bot takes Slack's deliveries again: the longest and the middle, and how often it was too late."""

import os
import statistics
from dataclasses import dataclass, field

LIMIT_S = 5.0
"""From the start of the process to its connection. It is looked at on an idle machine only: elsewhere it tells of the
others' work. For a fork it is a rule; a cold start, which imports everything anew, is a figure and no rule."""


@dataclass(frozen=True)
class Resume:
    """One start after a kill."""

    took_s: float
    is_cold: bool
    """A new interpreter, as an operator's; else a fork of one that has imported everything."""
    is_idle: bool
    """Whether no more than the machine's processors were wanted when it began and when it ended."""


@dataclass
class Resumes:
    """All of an experiment."""

    all: list[Resume] = field(default_factory=list)

    def add(self, took_s: float, *, is_cold: bool, is_idle: bool) -> None:
        self.all.append(Resume(took_s, is_cold, is_idle))

    @property
    def late(self) -> int:
        """Those that took longer than `LIMIT_S` on an idle machine."""
        return sum(each.is_idle and each.took_s > LIMIT_S for each in self.all)

    def violations(self) -> list[str]:
        """The rule: a fork is back within `LIMIT_S`, where the machine had nothing else to do."""
        late = (each for each in self.all if not each.is_cold and each.is_idle and each.took_s > LIMIT_S)
        return [f"resumes: connected again only after {each.took_s:.1f} s, on an idle machine" for each in late]

    def told(self) -> str:
        idle = sum(each.is_idle for each in self.all)
        late = f"{self.late} of {idle}" if idle else "none was tried"
        return (
            f"connected again after a cold start: {self._span(is_cold=True)}; after a fork: "
            f"{self._span(is_cold=False)}; later than {LIMIT_S:g} s on an idle machine: {late}"
        )

    def _span(self, *, is_cold: bool) -> str:
        took = [each.took_s for each in self.all if each.is_cold is is_cold]
        return f"median {statistics.median(took):.2f} s, longest {max(took):.2f} s" if took else "none"


def is_idle() -> bool:
    """Whether, over the last minute, no more was to be done at once than there are processors."""
    return os.getloadavg()[0] <= (os.cpu_count() or 1)
