"""A table of the terminal that cuts no cell short: a column that does not fit is left out, and named below it."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from rich.table import Table as Grid
from rich.text import Text

from bot.observation.flink import CheckpointKind
from bot.observation.ids import short, short_job, short_operator
from bot.observation.ledger import Ledger, LedgerRow, event_range
from bot.observation.sentences import column_times

_COLUMNS = (
    "at (UTC)", "snapshot", "parent", "op", "writer", "run", "checkpoint", "no commit before", "att", "sub", "files",
    "deletes", "rows", "event time", "positions", "schema", "spec", "operator", "refs", "code", "read by",
)  # fmt: skip
_BY_WEIGHT = (
    "snapshot", "at (UTC)", "checkpoint", "run", "no commit before", "rows", "read by", "positions", "refs", "deletes",
    "event time", "writer", "op", "files", "code", "parent", "att", "sub", "operator", "schema", "spec",
)  # fmt: skip


def ledger_grid(ledger: Ledger, looked_at: datetime, width: int | None = None) -> Grid:
    """Oldest first; times with their day where not all are of the day of the look. A column in which nothing stands
    is left out; `width` as in `fitted_grid`."""
    said = column_times((looked_at, *(row.committed_at for row in ledger.rows)))
    lines = [_line(row, said(row.committed_at), readers_known=ledger.readers_known) for row in ledger.rows]
    kept = [n for n in range(len(_COLUMNS)) if any(line[n] for line in lines)]
    return fitted_grid([_COLUMNS[n] for n in kept], [[line[n] for n in kept] for line in lines], width, _BY_WEIGHT)


def missing_grid(ledger: Ledger) -> Grid | None:
    """Checkpoint ids that have no commit on main, each with its reason; None without any."""
    between = [each for row in ledger.rows for each in row.skipped]
    if not between and not ledger.trailing:
        return None
    grid = Grid("run", "checkpoints", "why", "what shows it", title="without a commit on main", title_justify="left")
    for each in (*between, *ledger.trailing):
        style = "bold" if each.is_fault else None
        grid.add_row(short_job(each.job_id), each.ids, each.reason.value, each.detail, style=style)
    return grid


def _line(row: LedgerRow, committed: str, *, readers_known: bool) -> tuple[str, ...]:
    """As many cells as `_COLUMNS`; `?` where no source tells."""
    return (
        committed,
        ("" if row.on_main else "rolled back ") + str(row.snapshot_id),
        short(row.parent_id),
        row.operation,
        row.sink.value,
        short_job(row.job_id) if row.job_id else row.engine,
        "" if row.checkpoint_id is None else f"{row.checkpoint_id}{_kind(row)}",
        ", ".join(each.words for each in row.skipped),
        _numbers(row.attempts),
        _numbers(row.subtasks),
        _change(row.added_files, row.removed_files),
        _change(row.added_delete_files, row.removed_delete_files) if row.has_deletes else "",
        _change(row.added_rows, row.removed_rows),
        event_range(row.event_from, row.event_until),
        "" if row.position_from is None else f"{row.position_from}–{row.position_until}",
        "" if row.schema_id is None else str(row.schema_id),
        ",".join(map(str, row.spec_ids)),
        "" if row.job_id is None else short_operator(row.operator_id) if row.operator_id else "?",
        ", ".join(row.refs),
        row.code_version or "?",
        ", ".join(sorted({reader.consumer for reader in row.readers})) if readers_known else "?",
    )


def _kind(row: LedgerRow) -> str:
    return "?" if row.checkpoint_kind is CheckpointKind.UNKNOWN else f" {row.checkpoint_kind.value}"


def _numbers(told: tuple[int, ...] | None) -> str:
    return "?" if told is None else ",".join(map(str, told))


def _change(added: int, removed: int) -> str:
    return f"{added} -{removed}" if removed else str(added)


_BESIDE = 3
"""What a column takes beside its text: a blank on either side, and a line."""
_FOLD_FROM = 3
_ALWAYS = 2


class _Column(NamedTuple):
    name: str
    cells: tuple[str, ...]

    @property
    def whole(self) -> int:
        return max(map(len, (self.name, *self.cells)))

    @property
    def least(self) -> int:
        """The longest word: narrower would cut it in two."""
        return max(len(word) for text in (self.name, *self.cells) for word in (text.split() or [""]))


def fitted_grid(
    columns: Sequence[str], lines: Sequence[Sequence[str]], width: int | None, first: Sequence[str] = ()
) -> Grid:
    """The lines in `width` characters, all of them where it is None, as in a file. `first`: the columns by how much
    they matter; without it as they stand. The caption names what is the same in every row, and what is left out."""
    all_of = [_Column(name, tuple(line[n] for line in lines)) for n, name in enumerate(columns)]
    order = [name for name in first or columns if name in columns]
    kept = {each.name: each for each in all_of}
    same: list[str] = []
    left_out: list[str] = []
    if width is not None and _taken(each.whole for each in all_of) > width:
        for name in order[_ALWAYS:]:
            if len(lines) >= _FOLD_FROM and len(set(kept[name].cells)) == 1:
                same.append(f"{name} {kept.pop(name).cells[0] or '–'}")
        for name in reversed(order[_ALWAYS:]):
            if name in kept and _taken(each.least for each in kept.values()) > width:
                left_out.append(name)
                del kept[name]
    caption = ". ".join(
        [
            *([f"The same in every row: {' · '.join(same)}"] if same else []),
            *([f"Too wide for here: {', '.join(reversed(left_out))}; --json has them"] if left_out else []),
        ]
    )
    grid = Grid(caption=Text(f"{caption}.") if caption else None, caption_justify="left")
    widths = _widths([kept[name] for name in order if name in kept], width)
    shown = [each for each in all_of if each.name in kept]
    for each in shown:
        grid.add_column(Text(each.name), width=widths[each.name], overflow="fold")
    for n in range(len(lines)):
        grid.add_row(*(Text(each.cells[n]) for each in shown))
    return grid


def _taken(widths: Iterable[int]) -> int:
    told = list(widths)
    return sum(told) + _BESIDE * len(told) + 1


def _widths(by_weight: list[_Column], width: int | None) -> dict[str, int]:
    """Each column's longest word, and what is to spare to those that matter most."""
    if width is None:
        return {each.name: each.whole for each in by_weight}
    spare = max(0, width - _taken([each.least for each in by_weight]))
    found = {}
    for each in by_weight:
        more = min(spare, each.whole - each.least)
        spare -= more
        found[each.name] = each.least + more
    return found
