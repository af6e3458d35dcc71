"""How long Flink's sink may stay silent while it has nothing to commit."""

from collections.abc import Mapping

PROPERTY = "flink.max-continuous-empty-commits"
_BY_DEFAULT = 10


def empty_commits_allowed(properties: Mapping[str, str]) -> int:
    """Checkpoints without files in a row that rightly have no commit, as a table's properties say."""
    told = properties.get(PROPERTY, "")
    return int(told) if told.isdigit() else _BY_DEFAULT
