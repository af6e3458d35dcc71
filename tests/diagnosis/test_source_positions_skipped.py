"""F18: positions that nobody ever wrote, apart from those that were written and taken away again."""

import pytest

from bot.diagnosis import source_positions_skipped
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches, Remedy
from bot.domain.findings import GapsFinding, LeakStanding, PositionGap
from bot.domain.ledger import Ledger
from tests.cases import Tale
from tests.found import hole, leaks, orphans

GAP = GapsFinding(lowest=0, highest=99, positions=80, missing=20, gaps=(PositionGap(first=50, last=69),))


def jumped() -> Tale:
    """Run a commits up to position 49; run b starts without state and goes on at 70."""
    return Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "FAILED").flink_runs("b").commits("b", 1, 2)


def with_bounds(case: Case) -> Case:
    """The ledger's rows hold 25 positions each, with 20 left out in the middle."""
    assert case.ledger is not None
    starts = (0, 25, 70, 95)
    rows = tuple(
        row.model_copy(update={"position_from": start, "position_until": start + 24})
        for row, start in zip(case.ledger.rows, starts, strict=True)
    )
    return case.model_copy(update={"ledger": Ledger(rows=rows, readers_known=False)})


def test_a_jump_of_the_source_is_replayed_from_below_it() -> None:
    """The two commits beside the gap show it, and the run that began too late is named."""
    tale = jumped()

    found = source_positions_skipped.examine(with_bounds(tale.looked_at(gaps=GAP)))

    assert isinstance(found, Matches)
    assert ((tale.at("a", 2), tale.at("b", 1)), tale.at("a", 2)) == (found.rows, found.last_good)
    assert found.remedy is Remedy.REPLAY_SOURCE_RANGE
    assert "first commit of run bbbbbb, which started without state (F15)" in found.reasons[2]


@pytest.mark.parametrize("count", [0, 3])
def test_files_that_no_commit_names_are_to_be_looked_into_first(count: int) -> None:
    """Of a commit that went with every trace in the metadata they are the only copy."""
    found = source_positions_skipped.examine(with_bounds(jumped().looked_at(gaps=GAP, orphans=orphans(count))))

    assert isinstance(found, Matches)
    assert any("3 files on storage that no commit names" in reason for reason in found.reasons) is bool(count)


def test_without_bounds_only_the_windows_edge_is_trusted() -> None:
    """No bound tells which commit is the first above the gap."""
    tale = jumped()

    found = source_positions_skipped.examine(tale.looked_at(gaps=GAP, since=tale.at("a", 1)))

    assert isinstance(found, Matches)
    assert (tale.at("a", 1), ()) == (found.last_good, found.rows)


def test_rows_that_were_rolled_back_were_not_skipped() -> None:
    """They were written once, and the rollback is the fault (F6)."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 6)).rolls_back_to("a", 2).commits("a", 6)

    found = source_positions_skipped.examine(tale.looked_at(missing=30))

    assert isinstance(found, Excluded)
    assert "(F6)" in found.reason


def test_rows_that_another_writer_deleted_were_not_skipped() -> None:
    """They were written once, and the deletion is the fault (F21)."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits(None, operation="delete").commits("a", 3)

    found = source_positions_skipped.examine(tale.looked_at(missing=30))

    assert isinstance(found, Excluded)
    assert "(F21)" in found.reason


def test_rows_in_a_dropped_manifest_were_not_skipped() -> None:
    """The source gave them, and the sink lost them."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).leaves_manifest("a", 2).commits("a", 3)

    found = source_positions_skipped.examine(
        tale.looked_at(missing=30, leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED))
    )

    assert isinstance(found, Excluded)
    assert "never committed" in found.reason


def test_what_an_untold_manifest_holds_may_be_what_is_missing() -> None:
    """Nobody can tell whether its rows were read again: then they may have been written after all."""
    tale = jumped().leaves_manifest("a", 2)

    found = source_positions_skipped.examine(
        tale.looked_at(gaps=GAP, leaked=leaks(*tale.manifests, standing=LeakStanding.UNTOLD))
    )

    assert isinstance(found, CannotTell)
    assert "whether the missing rows are those of 1 Flink manifest" in found.missing[0]


@pytest.mark.parametrize(
    ("run", "positions", "answer"),
    [("a", (50, 59), CannotTell), ("a", (70, 79), Matches), ("b", (50, 59), Matches)],
    ids=["in the gap", "beside it", "of the living run"],
)
def test_rows_that_a_restore_would_commit_were_not_skipped(run: str, positions: tuple[int, int], answer: type) -> None:
    """Run a is over, and a savepoint lists its manifest: to say that nobody wrote these rows would be false."""
    tale = jumped().leaves_manifest(run, 3)

    found = source_positions_skipped.examine(
        tale.looked_at(gaps=GAP, leaked=leaks(*tale.manifests, positions=positions))
    )

    assert isinstance(found, answer)


def test_before_manifests_were_listed_it_stays_open() -> None:
    """The missing rows may wait in files on storage."""
    found = source_positions_skipped.examine(jumped().looked_at(gaps=GAP, leaked=None))

    assert isinstance(found, CannotTell)
    assert ("leaked_manifests",) == found.missing


def test_complete_positions_exclude_it() -> None:
    """Evidence that looked and found none missing."""
    found = source_positions_skipped.examine(jumped().looked_at(gaps=hole(0)))

    assert isinstance(found, Excluded)
