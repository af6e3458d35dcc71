"""Whether two jobs read different sources, as far as Flink's graphs name these."""

import re
from collections.abc import Iterable

from bot.domain.flink import JobRun

_NUMBER = re.compile(r"\[\d+\]$")
"""What SQL puts behind a table's name: another one in each version of a job."""


def read_apart(one: Iterable[JobRun], other: Iterable[JobRun]) -> bool:
    """Whether Flink shows sources of both, and none of one name. Where a graph is not shown, and where both have the
    name that everybody gives (`Source: Kafka Source`), they may read the same."""
    mine, theirs = _sources(one), _sources(other)
    return bool(mine and theirs) and not mine & theirs


def _sources(runs: Iterable[JobRun]) -> frozenset[str]:
    heads = (vertex.name.partition(" -> ")[0] for run in runs for vertex in run.vertices)
    return frozenset(_NUMBER.sub("", head) for head in heads if head.startswith("Source"))
