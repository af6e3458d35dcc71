"""Plain words: no sentence above 25 words, 14 on average, and none of the words that only this house understands."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Self

import pytest

from tests.words.measure import AVERAGE, LONGEST, Measured, Text, measure
from tests.words.sources import everything

_FILE = Path(__file__).with_name("not_yet.json")


class Left(NamedTuple):
    """What is not yet reached of one kind of text. It may only shrink."""

    too_long: int
    average: float
    forbidden: int

    @classmethod
    def of(cls, found: Measured) -> Self:
        """As it is now."""
        return cls(len(found.too_long), max(AVERAGE, found.average), len(found.forbidden))

    def lowest(self, other: Self | None) -> "Left":
        """The smaller of each."""
        if other is None:
            return self
        fewer = min(self.too_long, other.too_long), min(self.forbidden, other.forbidden)
        return Left(fewer[0], min(self.average, other.average), fewer[1])


_REACHED = Left(0, AVERAGE, 0)
NOT_YET: Mapping[str, Left] = {kind: Left(**left) for kind, left in json.loads(_FILE.read_text()).items()}


def keep(left: Mapping[str, Left]) -> None:
    """`python -m tests.words --tighten` does: what is reached is not in the list any more."""
    lines = [f"  {json.dumps(kind)}: {json.dumps(each._asdict())}" for kind, each in left.items() if each != _REACHED]
    _FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


@pytest.fixture(scope="module")
def measured() -> Mapping[str, Measured]:
    """Each kind, measured."""
    return {kind: measure(texts) for kind, texts in everything().items()}


def test_no_kind_of_text_is_longer_or_stranger_than_it_may_be(measured: Mapping[str, Measured]) -> None:
    """`python -m tests.words KIND` names each place."""
    allowed = {kind: NOT_YET.get(kind, _REACHED) for kind in measured}

    grown = {kind: (Left.of(found), allowed[kind]) for kind, found in measured.items()
             if Left.of(found).lowest(allowed[kind]) != Left.of(found)}  # fmt: skip

    assert {} == grown, f"(found, allowed): see `python -m tests.words {' '.join(grown)}`"


def test_each_kind_has_sentences(measured: Mapping[str, Measured]) -> None:
    """A kind that is not read any more would be held by nothing."""
    assert [] == [kind for kind, found in measured.items() if found.sentences < 5]
    assert set(NOT_YET) <= set(measured)


@pytest.mark.parametrize(
    ("text", "sentences", "words"),
    [
        ("One two three four. Five six seven eight nine!", 2, 9),
        ("Too short. | Two words | One two three four.", 1, 4),
        ("Snapshot 5130840912223377421 of `sales.orders` and run_id a3f is the one.", 1, 6),
    ],
)
def test_a_sentence_is_measured_without_code_and_ids(text: str, sentences: int, words: int) -> None:
    """Labels, code and ids do not count."""
    found = measure([Text("here", text)])

    assert (sentences, words) == (found.sentences, found.words)


def test_what_must_not_be_written_is_found() -> None:
    """A long sentence and a word of the old house, each with its place; in code they are names."""
    found = measure([Text("here", "word " * (LONGEST + 1)), Text("there", "Ben was told; `make walk` ran.")])

    assert [(LONGEST + 1, "here")] == [each[:2] for each in found.too_long]
    assert [("told", "there")] == [each[:2] for each in found.forbidden]
