"""F18 where the source has several partitions: bounds of a commit's files are of all of them together."""

from bot.diagnosis import source_positions_skipped
from bot.domain.diagnosis import CannotTell, Case, Matches
from bot.domain.findings import GapsFinding, PositionGap
from bot.domain.ledger import Ledger
from tests.cases import Tale


def of_partitions(
    case: Case, bounds: tuple[tuple[int, int] | None, ...], *gaps: PositionGap, missing: int | None = None
) -> Case:
    """The source has several partitions, whose positions the bounds of each commit's files hold together."""
    assert case.ledger is not None
    told = [{} if each is None else {"position_from": each[0], "position_until": each[1]} for each in bounds]
    rows = tuple(row.model_copy(update=its) for row, its in zip(case.ledger.rows, told, strict=True))
    count = sum(gap.size for gap in gaps) if missing is None else missing
    found = GapsFinding(lowest=0, highest=600, positions=581, missing=count, gaps=gaps)
    contract = case.contract.model_copy(update={"position_partition": "source_partition"})
    ledger = Ledger(rows=rows, readers_known=False)
    return case.model_copy(update={"contract": contract, "ledger": ledger, "gaps": found})


IN_0 = PositionGap(first=500, last=509, partition="0")
IN_1 = PositionGap(first=100, last=109, partition="1")


def test_the_last_good_snapshot_lies_below_the_gaps_of_every_source_partition() -> None:
    """Partition 0 is whole up to 499, and partition 1 up to 99: what lies below the first is not below the second."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    case = tale.looked_at()

    mixed = source_positions_skipped.examine(of_partitions(case, ((0, 300), (110, 499), (201, 600)), IN_0, IN_1))
    told = source_positions_skipped.examine(of_partitions(case, ((0, 99), (80, 300), (201, 600)), IN_0, IN_1))
    since = source_positions_skipped.examine(
        of_partitions(tale.looked_at(since=tale.at("a", 1)), ((110, 499), (201, 600)), IN_0, IN_1)
    )

    assert isinstance(mixed, Matches)
    assert isinstance(told, Matches)
    assert isinstance(since, Matches)
    assert (None, tale.at("a", 1), tale.at("a", 1)) == (mixed.last_good, told.last_good, since.last_good)


def test_gaps_that_are_not_named_may_lie_lower() -> None:
    """Twenty are named, partition after partition."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    bounds = ((0, 99), (80, 300), (201, 600))

    found = source_positions_skipped.examine(of_partitions(tale.looked_at(), bounds, IN_0, IN_1, missing=30))

    assert isinstance(found, Matches)
    assert found.last_good is None


def test_a_commit_whose_bounds_nobody_knows_may_hold_a_hole() -> None:
    """What it holds may lie above the gap."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)

    found = source_positions_skipped.examine(of_partitions(tale.looked_at(), ((0, 90), None, (201, 600)), IN_0, IN_1))

    assert isinstance(found, Matches)
    assert tale.at("a", 1) == found.last_good


def test_bounds_of_several_partitions_acquit_no_source_and_name_no_seam() -> None:
    """That a commit which was rolled back lies around a gap, or two commits beside one, says nothing of a partition."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).rolls_back_to("a", 1).flink_runs("b", restored=1).commits("b", 2)
    touching = Tale().flink_runs("a").commits("a", 1, 2)

    around = source_positions_skipped.examine(of_partitions(tale.looked_at(), ((0, 99), (100, 400), (110, 600)), IN_1))
    beside = source_positions_skipped.examine(of_partitions(touching.looked_at(), ((0, 99), (110, 600)), IN_1))

    assert isinstance(around, CannotTell)
    assert "was rolled back, had brought" in around.missing[0]
    assert isinstance(beside, Matches)
    assert () == beside.rows
