"""How a table is partitioned, and which of its partitions one commit touched."""

import re

from bot.domain.record import Record

MOST_PARTITIONS = 20
"""Values of one field that are kept of one commit; how many more there are is counted."""
_WORDS = re.compile(r"(?P<transform>\w+)(?:\[\d+\])?\((?P<inside>.+)\)", re.DOTALL)


class PartitionField(Record):
    """One field of a partition spec."""

    words: str
    """As `day(event_time)`; a column by its name where it is taken as it is."""
    name: str
    """The field's own, as manifests have it: `event_time_day`."""
    type: str
    """Of its values, in Iceberg's words."""

    @property
    def transform(self) -> str:
        """`day`, `bucket`, …, `identity`."""
        return transform_and_column(self.words)[0]

    @property
    def column(self) -> str:
        """From which it is made."""
        return transform_and_column(self.words)[1]


class TouchedPartitions(Record):
    """Where one commit added or removed files, by one field of the partitioning. Never of a column that is hidden."""

    field: str
    """Its `words`."""
    values: tuple[str, ...]
    """As engines show them, at most `MOST_PARTITIONS`; `null` where the column is."""
    more: int = 0
    """How many further ones there are."""


def transform_and_column(words: str) -> tuple[str, str]:
    """`day(event_time)` -> (`day`, `event_time`); `region` -> (`identity`, `region`)."""
    found = _WORDS.fullmatch(words)
    return (found["transform"], found["inside"]) if found else ("identity", words)
