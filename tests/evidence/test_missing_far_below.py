"""What lies far below a window is told at once, and says what a walk over it would say."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from bot.domain.listed import Mark, highest_of, marks_of
from bot.domain.table import Snapshot
from spark_tasks import _missing_between
from tests.adapters.test_listed import commit, histories, packed_from, state
from tests.tables import of_flink


@given(history=histories(), many=some.integers(0, 4), near=some.integers(0, 3), packed=some.booleans())
@settings(max_examples=60, deadline=None)
def test_a_short_walk_finds_what_a_long_one_finds(
    history: tuple[list[dict[str, Any]], list[int]], many: int, near: int, packed: bool
) -> None:
    """The commit before, other runs, the highest id of the operator: whichever commits are asked about."""
    with packed_from(0), pytest.MonkeyPatch.context() as patched:
        chain = state(*history, packed=packed).chain
        ahead = {each.snapshot_id: each for each in chain[:many] if _missing_between._writer_of(each)}
        long = _missing_between._walked(chain, ahead)

        patched.setattr(_missing_between, "_NEAR", near)
        short = _missing_between._walked(chain, ahead)

        assert long == short


@given(history=histories())
@settings(max_examples=60, deadline=None)
def test_a_packed_history_tells_the_highest_ids_of_a_plain_one(
    history: tuple[list[dict[str, Any]], list[int]],
) -> None:
    with packed_from(0):
        plain, packed = (highest_of(state(*history, packed=packed).chain) for packed in (False, True))

        assert plain == packed


def test_a_run_that_began_in_the_window_is_not_looked_for_in_the_whole_history(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fifty thousand commits of another run cost the ledger as little as a hundred."""
    told = [commit(n, n - 1 or None, of_flink("b" if n == 3_000 else "a", n)) for n in range(1, 3_001)]
    chain = state(told, [3_000], packed=True).chain
    looked_at = []

    def counted(snapshots: Sequence[Snapshot]) -> Iterator[Mark]:
        for mark in marks_of(snapshots):
            looked_at.append(mark)
            yield mark

    monkeypatch.setattr(_missing_between, "marks_of", counted)
    with packed_from(0):
        (below,) = _missing_between._walked(chain, {chain[0].snapshot_id: chain[0]})

    assert (None, True, 2_999) == (below.before, below.has_other_runs, below.carried)
    assert len(looked_at) < 150
