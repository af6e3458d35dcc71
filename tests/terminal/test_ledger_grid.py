"""`waterline ledger` in the terminal: one line a commit, and every checkpoint id that has none."""

from datetime import timedelta

import pytest
from rich.console import Console
from rich.table import Table

from bot.cli.grid import fitted_grid, ledger_grid, missing_grid
from bot.domain.flink import CheckpointKind
from bot.domain.ids import CheckpointId
from bot.domain.ledger import Ledger, SkippedCheckpoint, SkipReason
from tests import orders_table as orders


def printed(grid: Table | None) -> str:
    """What a wide terminal shows."""
    wide = Console(width=300, highlight=False)
    with wide.capture() as told:
        wide.print(grid)
    return told.get()


def with_gaps() -> Ledger:
    """Run B's checkpoint 8 leaked, and Flink completed 12 to 13 that the sink refuses."""
    leaked = SkippedCheckpoint(
        first=CheckpointId(8), last=CheckpointId(8), reason=SkipReason.LEAKED, detail="its manifest is there",
        job_id=orders.RUN_B,
    )  # fmt: skip
    refused = leaked.model_copy(
        update={"first": 12, "last": 13, "reason": SkipReason.SKIPPED, "detail": "the table carries more"}
    )
    plain = orders.ledger()
    newest = plain.rows[-1].model_copy(update={"skipped": (leaked,), "refs": ("main", "wl-1-left")})
    return Ledger(rows=(*plain.rows[:-1], newest), readers_known=True, trailing=(refused,))


def test_missing_checkpoints_stand_beside_their_commit_and_by_themselves() -> None:
    """With the reason, with what showed it, and with the run; refs are named."""
    ledger = with_gaps()

    rows, missing = printed(ledger_grid(ledger, orders.NINE)), printed(missing_grid(ledger))

    assert "8 leaked" in rows
    assert "main, wl-1-left" in rows
    assert ["b92e04", "8", "leaked", "its manifest is there"] == _cells(missing, "leaked")
    assert ["b92e04", "12–13", "skipped", "the table carries more"] == _cells(missing, "skipped")


def test_a_chain_without_gaps_has_no_second_table() -> None:
    """And no empty columns."""
    ledger = orders.ledger()

    assert missing_grid(ledger) is None
    assert "no commit before" not in printed(ledger_grid(ledger, orders.NINE))


def test_a_checkpoint_of_unknown_kind_is_marked() -> None:
    """Neither Flink's history nor storage tells whether it was a savepoint."""
    plain = orders.ledger()
    told = plain.rows[-1].model_copy(update={"checkpoint_kind": CheckpointKind.UNKNOWN})
    ledger = plain.model_copy(update={"rows": (*plain.rows[:-1], told)})

    cells = [_cells(printed(ledger_grid(each, orders.NINE)), str(told.snapshot_id)[-6:]) for each in (ledger, plain)]

    assert [f"{told.checkpoint_id}?" in cells[0], f"{told.checkpoint_id} checkpoint" in cells[1]] == [True, True]


def test_readers_that_nobody_could_ask_for_are_not_told_as_none() -> None:
    """A question mark is not an empty cell."""
    assert "?" in _cells(printed(ledger_grid(orders.ledger(readers_known=False), orders.NINE)), "377421")[-1]


def test_the_operator_that_wrote_is_named() -> None:
    """Two operators of one job share its run: only their ids tell them apart."""
    assert "b0c484" in _cells(printed(ledger_grid(orders.ledger(), orders.NINE)), "377421")


def test_times_carry_their_day_where_not_all_are_of_one() -> None:
    """Of the commits and of the look; a range of event time always does."""
    ledger = orders.ledger()
    last = ledger.rows[-1].model_copy(
        update={"event_from": orders.NINE - timedelta(hours=10), "event_until": orders.NINE - timedelta(hours=9)}
    )
    ledger = ledger.model_copy(update={"rows": (*ledger.rows[:-1], last)})

    same, later = (printed(ledger_grid(ledger, at)) for at in (orders.NINE, orders.NINE + timedelta(days=1)))

    assert ("08:50:00", "2026-11-03 08:50:00") == (_cells(same, "377421")[0], _cells(later, "377421")[0])
    assert "2026-11-02 23:00:00 – 2026-11-03 00:00:00" in _cells(same, "209903")


def _cells(table: str, holding: str) -> list[str]:
    """The cells of the one line that holds the text."""
    [line] = [line for line in table.splitlines() if holding in line.split("…")[0]]
    return [cell.strip() for cell in line.strip("│┃ ").split("│")]


@pytest.mark.parametrize(("width", "left_out"), [(80, "refs, parent"), (120, "")])
def test_a_terminal_cuts_no_snapshot_id(width: int, left_out: str) -> None:
    """Ids are copied from here: what does not fit is left out as a whole, and named."""
    ledger = with_gaps()
    terminal = Console(width=width, highlight=False)

    with terminal.capture() as told:
        terminal.print(ledger_grid(ledger, orders.NINE, width))

    words = told.get().split()
    assert [str(row.snapshot_id) in words for row in ledger.rows] == [True] * len(ledger.rows)
    assert max(map(len, told.get().splitlines())) <= width
    assert "The same in every row: rows 100" in told.get()
    assert ("Too wide for here: " + left_out in told.get()) == bool(left_out)


def test_a_cell_is_text_and_no_markup() -> None:
    """A path in brackets is shown as it is."""
    assert "[/chk-7]" in printed(fitted_grid(("path",), (("[/chk-7]",),), 80))
