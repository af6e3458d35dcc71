"""F18 in a table that is written by key: a row that was replaced takes its position along."""

import pytest

from bot.diagnosis import recovered_by_itself, source_positions_skipped
from bot.domain.diagnosis import CannotTell, Case, Matches
from bot.domain.ledger import Ledger
from tests.cases import Tale
from tests.diagnosis.test_source_positions_skipped import GAP, jumped


def by_key(case: Case, starts: tuple[int, ...]) -> Case:
    """The same of an upsert table whose commits begin at these positions, 25 in each."""
    assert case.ledger is not None
    rows = tuple(
        row.model_copy(update={"position_from": start, "position_until": start + 24})
        for row, start in zip(case.ledger.rows, starts, strict=True)
    )
    world = case.observation
    table = world.table.model_copy(update={"properties": {**world.table.properties, "write.upsert.enabled": "true"}})
    told = {"ledger": Ledger(rows=rows, readers_known=False), "observation": world.model_copy(update={"table": table})}
    return case.model_copy(update=told)


def test_a_row_that_was_replaced_takes_its_position_along() -> None:
    """Seen on a real upsert table: every position of a replaced row is missing, and no row is."""
    case = by_key(jumped().looked_at(gaps=GAP), (0, 25, 50, 75))

    found = source_positions_skipped.examine(case)

    assert isinstance(found, CannotTell)
    assert "replaced by a newer row" in found.missing[0]


def test_replaced_rows_are_no_wrong_rows_and_no_all_clear() -> None:
    """They neither speak against the table, nor let it be called complete."""
    going_on = Tale().flink_runs("a").commits("a", 1, 2, 3, 4)
    case = by_key(going_on.looked_at(gaps=GAP), (0, 25, 50, 75))

    found = recovered_by_itself.examine(case)

    assert isinstance(found, CannotTell)
    assert "replaced by a newer row" in " ".join(found.missing)


def test_a_jump_shows_in_an_upsert_table_too() -> None:
    """What lies between all commits was written by none: only these positions count."""
    case = by_key(jumped().looked_at(gaps=GAP), (0, 25, 60, 85))

    found = source_positions_skipped.examine(case)

    assert isinstance(found, Matches)
    assert found.headline.startswith("10 source positions")
    assert "the first gap is 50 to 59" in found.reasons[0]


def test_bounds_of_several_source_partitions_show_no_jump() -> None:
    """The bounds of a file are of all partitions together."""
    case = by_key(jumped().looked_at(gaps=GAP), (0, 25, 60, 85))
    contract = case.contract.model_copy(update={"position_partition": "source_partition"})

    found = source_positions_skipped.examine(case.model_copy(update={"contract": contract}))

    assert isinstance(found, CannotTell)


def deleting(*counts: tuple[int, int]) -> Tale:
    """The commits carry so many (equality deletes, position deletes) each."""
    tale = jumped()
    told = [{"added-equality-deletes": str(one), "added-position-deletes": str(other)} for one, other in counts]
    tale.snapshots = [
        each.model_copy(update={"summary": {**each.summary, **its}})
        for each, its in zip(tale.snapshots, told, strict=True)
    ]
    return tale


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (((10, 0), (10, 0), (10, 0), (10, 0)), Matches),
        (((11, 0), (8, 2), (7, 3), (12, 0)), Matches),
        (((10, 0), (11, 0), (10, 0), (10, 0)), CannotTell),
        (((10, 0), (10, 0), (8, 3), (10, 0)), CannotTell),
        (((10, 0), (4, 0), (10, 0), (10, 0)), CannotTell),
    ],
    ids=["a delete a row", "deletes elsewhere", "one more below", "one more above", "not told"],
)
def test_a_deleted_key_leaves_no_position_either(counts: tuple[tuple[int, int], ...], expected: type) -> None:
    """An upsert writes a delete with each of its ten rows; one more is a deletion that may be what the seam held."""
    found = source_positions_skipped.examine(by_key(deleting(*counts).looked_at(gaps=GAP), (0, 25, 60, 85)))

    assert isinstance(found, expected)
    if isinstance(found, CannotTell):
        assert "whether the source skipped positions 50 to 59 or had deletes there" in found.missing[0]


def of_changelog(*counts: tuple[int, int], bounds: tuple[tuple[int, int] | None, ...]) -> Case:
    """The job writes by key without upserts."""
    case = deleting(*counts).looked_at(gaps=GAP)
    assert case.ledger is not None
    told = [{} if each is None else {"position_from": each[0], "position_until": each[1]} for each in bounds]
    rows = tuple(row.model_copy(update=its) for row, its in zip(case.ledger.rows, told, strict=True))
    return case.model_copy(update={"ledger": Ledger(rows=rows, readers_known=False)})


def test_deletes_of_a_changelog_may_have_been_the_whole_commit() -> None:
    """Without upserts each delete may stand alone; a commit of deletes between the two has no position at all."""
    apart = of_changelog((1, 0), (0, 0), (0, 0), (1, 0), bounds=((0, 24), (25, 49), (60, 84), (85, 109)))
    between = of_changelog((0, 0), (30, 0), (0, 0), (0, 0), bounds=((0, 49), None, (60, 84), (85, 109)))

    assert isinstance(source_positions_skipped.examine(apart), Matches)
    assert isinstance(source_positions_skipped.examine(between), CannotTell)


def test_where_replaced_rows_were_told_apart_what_is_left_was_skipped() -> None:
    """The task looked into what the commits brought: bounds of files need not tell."""
    found = GAP.model_copy(update={"replaced": 7})
    case = by_key(jumped().looked_at(gaps=found), (0, 25, 50, 75))

    examined = source_positions_skipped.examine(case)

    assert isinstance(examined, Matches)
    assert examined.headline.startswith(f"{GAP.missing} source position")


def test_where_deletes_may_account_for_all_that_is_left_nobody_can_tell() -> None:
    """Neither skipped for sure nor complete, and it is said from where on."""
    found = GAP.model_copy(update={"replaced": 7, "is_untold": True})
    case = by_key(jumped().looked_at(gaps=found), (0, 25, 60, 85))

    examined = source_positions_skipped.examine(case)

    assert isinstance(examined, CannotTell)
    assert "of which no commit brought a row held deletes" in examined.missing[0]
