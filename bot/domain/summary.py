"""A commit's summary in little memory: what neighbouring commits say alike is kept once for all of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import PlainSerializer

PARTITIONS = "partitions."
"""How the keys begin under which a commit tells of each partition that it changed, with the partition's values, where
the table's `write.summary.partition-limit` asks for it."""
_BETWEEN = "\0"
_MAX_ALIKE = 1_000
"""Kinds of summaries that are remembered to be shared; a writer has one or two."""


@dataclass(frozen=True, slots=True)
class Alike:
    """What many summaries have in common."""

    said: Mapping[str, str]
    """Keys with one value in all of them."""
    places: Mapping[str, int]
    """Keys with a value of each commit's own -> its place among these values."""


class Summary(Mapping[str, str]):
    """The summary of one commit; equal to a dictionary with the same content."""

    __slots__ = ("_alike", "_own")

    def __init__(self, alike: Alike, own: str) -> None:
        self._alike = alike
        self._own = own

    def __getitem__(self, key: str) -> str:
        said = self._alike.said.get(key)
        return self._own.split(_BETWEEN)[self._alike.places[key]] if said is None else said

    def __contains__(self, key: object) -> bool:
        return key in self._alike.said or key in self._alike.places

    def __iter__(self) -> Iterator[str]:
        yield from self._alike.said
        yield from self._alike.places

    def __len__(self) -> int:
        return len(self._alike.said) + len(self._alike.places)

    def __repr__(self) -> str:
        return repr(dict(self))


Told = Annotated[Mapping[str, str], PlainSerializer(dict, return_type=dict[str, str])]
"""A summary in a record: packed or plain; JSON knows no difference."""


@dataclass
class Summaries:
    """Packs the summaries of one table, in the order of its commits."""

    _alike: dict[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]], Alike] = field(default_factory=dict)
    _before: Mapping[str, str] = field(default_factory=dict)

    def packed(self, told: Mapping[str, str]) -> tuple[Alike | None, Mapping[str, str] | str]:
        """What `unpacked` takes. Numbers are a commit's own; words are shared if the commit before said the same."""
        before, self._before = self._before, told
        own = {name: value for name, value in told.items() if value.isdecimal() or before.get(name) != value}
        if any(_BETWEEN in value for value in own.values()):
            return None, dict(told)
        said = {name: value for name, value in told.items() if name not in own}
        kind = (tuple(said), tuple(said.values()), tuple(own))
        alike = self._alike.get(kind)
        if alike is None:
            alike = Alike(said, {name: place for place, name in enumerate(own)})
            if len(self._alike) < _MAX_ALIKE:
                self._alike[kind] = alike
        return alike, _BETWEEN.join(own.values())


def without_partitions(told: Mapping[str, str]) -> dict[str, str]:
    """A summary without what it tells of single partitions."""
    return {key: value for key, value in told.items() if not key.startswith(PARTITIONS)}


def unpacked(alike: Alike | None, own: str | Mapping[str, str]) -> Mapping[str, str]:
    """The summary that was packed; without anything alike, it is all its own."""
    if not isinstance(own, str):
        return own
    assert alike is not None
    return Summary(alike, own)
