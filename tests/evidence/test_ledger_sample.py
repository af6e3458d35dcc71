"""Which ten commits of a long ledger are shown, and in which cells."""

from datetime import UTC, datetime, timedelta

from bot.domain.flink import CheckpointKind
from bot.domain.ids import CheckpointId, OperatorId, SnapshotId
from bot.domain.ledger import LedgerRow, Sink
from spark_tasks.ledger import COLUMNS, lines_of, telling
from tests.tables import job

NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)


def commit(number: int, run: str) -> LedgerRow:
    """The commit of that number on main, by a run."""
    return LedgerRow(
        snapshot_id=SnapshotId(number),
        parent_id=None,
        sequence_number=number,
        committed_at=NOON + timedelta(seconds=number),
        on_main=True,
        operation="append",
        engine="flink",
        job_id=job(run),
        operator_id=None,
        checkpoint_id=CheckpointId(number),
        checkpoint_kind=CheckpointKind.UNKNOWN,
        attempts=None,
        added_files=1,
        added_rows=10,
        removed_files=0,
        removed_rows=0,
        code_version=None,
        readers=(),
    )


def test_a_long_ledger_shows_where_the_chain_breaks() -> None:
    """Of a hundred commits: the last of one run, the first of the next, and the newest."""
    rows = [commit(n, "a" if n < 60 else "b") for n in range(100)]

    shown = [row.snapshot_id for row in telling(rows)]

    assert shown == [58, 59, 60, 61, *range(94, 100)]


def test_each_lost_commit_that_the_headline_names_is_shown() -> None:
    """Three commits were rolled back: the first of them, too, which no break of the chain is beside."""
    rows = [commit(n, "a").model_copy(update={"on_main": n > 2}) for n in range(100)]

    shown = [row.snapshot_id for row in telling(rows)]

    assert shown == [0, 1, 2, 3, 4, *range(95, 100)]


def test_a_short_ledger_is_shown_whole() -> None:
    """Nothing is left out while there is room."""
    rows = [commit(n, "a") for n in range(7)]

    assert telling(rows) == rows


def cells_of(row: LedgerRow, *, readers_known: bool = True) -> dict[str, str]:
    """The line of one commit, by column."""
    [line] = lines_of([row], readers_known=readers_known, looked_at=NOON)
    return dict(zip(COLUMNS, line, strict=True))


def test_readers_that_nobody_could_ask_for_are_unknown() -> None:
    """An empty cell would say that nobody read it."""
    row = commit(4, "a")

    assert ("", "unknown") == tuple(cells_of(row, readers_known=known)["read by"] for known in (True, False))


def test_a_checkpoint_whose_kind_no_source_tells_is_marked() -> None:
    """It may be a savepoint: only what is known to be a checkpoint bears its number alone."""
    kinds = (CheckpointKind.CHECKPOINT, CheckpointKind.UNKNOWN, CheckpointKind.SAVEPOINT)

    told = [cells_of(commit(4, "a").model_copy(update={"checkpoint_kind": kind}))["checkpoint"] for kind in kinds]

    assert ["4", "4?", "4 savepoint"] == told


def test_a_line_says_by_what_a_commit_was_written() -> None:
    """Operator, subtasks, delete files, what it did and on which commit; within the twenty columns of Slack's table."""
    row = commit(4, "a").model_copy(
        update={
            "operator_id": OperatorId("b0c4849fdea766ab199107cc0073124e"), "subtasks": (0, 3), "attempts": (1,),
            "added_delete_files": 2, "removed_delete_files": 1, "operation": "overwrite", "sink": Sink.FLINK_V2,
            "parent_id": SnapshotId(5130840912223377421), "schema_id": 1, "spec_ids": (0, 1),
        }
    )  # fmt: skip

    told = cells_of(row)

    assert ("b0c484", "0, 3", "1") == (told["operator"], told["subtasks"], told["attempts"])
    assert ("+1", "+2 −1") == (told["files"], told["deletes"])
    assert ("IcebergSink, overwrite", "…377421", "1, 0/1") == (told["writer"], told["parent"], told["schema, spec"])
    assert len(COLUMNS) <= 20


def test_what_a_phone_shows_first_comes_first() -> None:
    """Which checkpoint of which run, when, whether it counts, what is missing before it, how much, and who read it."""
    assert ("checkpoint", "run", "committed", "on main", "no commit before", "rows", "read by") == COLUMNS[:7]


def test_a_flink_commit_without_operator_says_so_and_sparks_has_none() -> None:
    """Iceberg before 1.2 wrote no operator id."""
    flinks = commit(4, "a")
    sparks = flinks.model_copy(update={"job_id": None, "checkpoint_id": None, "engine": "spark"})

    assert ("unknown", "") == (cells_of(flinks)["operator"], cells_of(sparks)["operator"])


def test_the_day_is_told_where_not_all_is_of_the_day_of_the_look() -> None:
    """A commit of last night is not one of this noon."""
    rows = [commit(4, "a")]

    said = [
        lines_of(rows, readers_known=True, looked_at=at)[0][COLUMNS.index("committed")]
        for at in (NOON, NOON + timedelta(days=1))
    ]

    assert ["12:00:04", "2026-11-03 12:00:04"] == said
