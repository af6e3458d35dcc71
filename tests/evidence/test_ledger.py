"""The ledger tells each commit of the window, and says whether they are one chain of one run."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from bot.observation.evidence import Answer, Verdict
from bot.observation.flink import CheckpointKind, CompletedCheckpoint, JobRun
from bot.observation.ids import CheckpointId, OperatorId, SnapshotId
from bot.observation.ledger import Ledger, LedgerRow, Sink
from bot.observation.readers import ReadRun
from spark_tasks._support.storage import ATTEMPT_IN_FILE_NAME, SUBTASK_IN_FILE_NAME
from spark_tasks.ledger import COLUMNS, lines_of, telling
from tests.evidence.conftest import Asks
from tests.evidence.histories import write
from tests.tables import OrdersTable, job, of_table, unseen

NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)
WRITER = "23ffc85e-5a5f-4f4c-9b43-6a1f2b0c7d11"


def ledger_of(answer: Answer) -> Ledger:
    """The ledger that the answer carries."""
    return answer.finding.ledger


def run_of(name: str, *checkpoints: CompletedCheckpoint, code_version: str | None = None) -> JobRun:
    """A run that Flink remembers."""
    return JobRun(
        job_id=job(name),
        name="orders",
        state="RUNNING",
        started_at=NOON,
        checkpoint_interval_ms=3000,
        checkpoints=checkpoints,
        completed_count=len(checkpoints),
        code_version=code_version,
    )


def completed(checkpoint: int, kind: CheckpointKind) -> CompletedCheckpoint:
    """A checkpoint in Flink's history."""
    return CompletedCheckpoint(
        checkpoint_id=CheckpointId(checkpoint),
        kind=kind,
        status="COMPLETED",
        triggered_at=NOON,
    )


CHAINS: Mapping[str, tuple[str, Verdict, str]] = {
    "each commit is the next of the same run": (
        "a3[0:10] | a4[10:20] a6[20:35]", Verdict.RULED_OUT,
        "2 commits in the window: one unbroken chain of run aaaaaa.",
    ),
    "another run goes on from the last commit, as after a paired rewind or a planned restart": (
        "a10[0:10] | c11[10:20]", Verdict.RULED_OUT, "1 commit in the window",
    ),
    "the window begins with the second run: its fall shows against the last commit below": (
        "a9[0:10] a10[10:20] | b7[5:15] b8[15:25]", Verdict.CONFIRMED,
        "checkpoint ids repeat or fall once (first at 10 → 7",
    ),
    "nothing came: a finding, and when main's last commit was is told with it": (
        "a3[0:10] |", Verdict.RULED_OUT,
        "No commit in the window, so none breaks the chain. Main's newest is of 20",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("line", "verdict", "said"), CHAINS.values(), ids=CHAINS)
def test_whether_commits_are_one_chain(
    orders: OrdersTable, judges: Asks, line: str, verdict: Verdict, said: str
) -> None:
    """`ruled-out` is said when every commit after `since` follows the one before it."""
    answer = judges("ledger", orders.ask(write(orders, line).before))

    assert answer.verdict is verdict
    assert said in answer.headline


def test_a_replay_by_a_second_run_breaks_the_chain(orders: OrdersTable, judges: Asks) -> None:
    """A second run whose checkpoint ids fall is confirmed from metadata alone, with every source down."""
    before, _ = write(orders, "a3[0:10] | a4[10:20] b4[10:20]")
    jobs, checkpoints, reads = unseen("jobs"), unseen("checkpoints"), unseen("reads")

    answer = judges("ledger", orders.ask(before, jobs=jobs, checkpoints=checkpoints, reads=reads))

    assert answer.verdict is Verdict.CONFIRMED
    assert "2 job runs (aaaaaa, bbbbbb)" in answer.headline
    assert "checkpoint ids repeat or fall once (first at 4 → 4" in answer.headline
    assert [missing.source for missing in answer.could_not_look] == ["jobs", "checkpoints", "reads"]
    assert not ledger_of(answer).readers_known
    assert {row.checkpoint_kind for row in ledger_of(answer).rows} == {CheckpointKind.UNKNOWN}
    assert any(measure.name.endswith("(?)") for measure in answer.measures)


def test_rolled_back_commits_stay_in_the_ledger(orders: OrdersTable, judges: Asks) -> None:
    """A commit that main lost is told with its files, although the head's manifest list does not name it."""
    before, [_, lost, _] = write(orders, "a3[0:10] | a4[10:22] back a5[22:30]")

    answer = judges("ledger", orders.ask(before))

    assert answer.verdict is Verdict.CONFIRMED
    assert "1 commit rolled back" in answer.headline
    assert [(row.snapshot_id, row.added_rows) for row in ledger_of(answer).rolled_back] == [(lost, 12)]
    assert [row.checkpoint_id for row in ledger_of(answer).main] == [5]


def test_another_writer_is_named_with_what_it_removed(orders: OrdersTable, judges: Asks) -> None:
    """A delete by another engine breaks the chain, and its removed files and rows are counted."""
    before, _ = write(orders, "a3[0:10] | a4[10:20]")
    foreign = orders.deletes("order_id >= 10")

    answer = judges("ledger", orders.ask(before))

    (row,) = [row for row in ledger_of(answer).rows if row.snapshot_id == foreign]
    assert answer.verdict is Verdict.CONFIRMED
    assert "1 commit by another writer" in answer.headline
    assert (row.engine, row.operation, row.removed_files, row.removed_rows) == ("spark", "delete", 1, 10)


def test_without_flink_an_unbroken_chain_is_not_ruled_out(orders: OrdersTable, judges: Asks) -> None:
    """A job id may be used twice, so `ruled-out` needs Flink; the ledger itself still stands."""
    before, _ = write(orders, "a3[0:10] | a4[10:20]")

    answer = judges("ledger", orders.ask(before, jobs=unseen("Flink")))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "Flink could not be asked" in answer.headline
    assert len(ledger_of(answer).rows) == 1


def test_a_window_whose_beginning_has_expired_is_not_ruled_out(orders: OrdersTable, judges: Asks) -> None:
    """Where the metadata no longer lists `since`, commits may be missing from the ledger."""
    orders.commits("a", 3, range(10))

    answer = judges("ledger", orders.ask(SnapshotId(404)))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "has expired" in answer.headline


def test_kind_code_and_readers_come_from_their_sources(orders: OrdersTable, judges: Asks) -> None:
    """Checkpoint kinds from Flink's history, code from the summary before the job's own word, readers by snapshot."""
    before = orders.commits("a", 3, range(10))
    tagged = orders.commits("a", 4, range(10, 20), summary={"app.git-sha": "9f1c2ab"})
    untagged = orders.commits("a", 5, range(20, 30))
    reader = ReadRun(consumer="revenue_daily", run_id="r-1", at=NOON, snapshot_id=tagged)
    flink = run_of("a", completed(5, CheckpointKind.STOP_SAVEPOINT), code_version="v7")

    answer = judges("ledger", orders.ask(before, jobs=[flink], reads=[reader]))

    told = {row.snapshot_id: row for row in ledger_of(answer).rows}
    assert (told[tagged].code_version, told[untagged].code_version) == ("9f1c2ab", "v7")
    assert told[untagged].checkpoint_kind is CheckpointKind.STOP_SAVEPOINT
    assert (told[tagged].readers, told[untagged].readers) == ((reader,), ())
    assert "code version from snapshot property app.git-sha" in answer.sources


def test_attempts_are_read_from_flinks_file_names(orders: OrdersTable, judges: Asks) -> None:
    """Attempts are told where every added file has Flink's form of name, and not guessed elsewhere."""
    before = orders.commits("a", 3, range(10))
    flinks = orders.commits_files(
        "a", 4, {f"00000-0-{WRITER}-00017.parquet": range(10, 20), f"00001-1-{WRITER}-00001.parquet": range(20, 30)}
    )
    mixed = orders.commits_files(
        "a", 5, {f"00000-2-{WRITER}-00018.parquet": range(30, 40), "part-1.parquet": range(40, 50)}
    )

    answer = judges("ledger", orders.ask(before))

    told = {row.snapshot_id: (row.attempts, row.subtasks) for row in ledger_of(answer).rows}
    assert told == {flinks: ((0, 1), (0, 1)), mixed: (None, None)}


def test_counts_come_from_the_manifests_where_the_summary_is_silent(orders: OrdersTable, judges: Asks) -> None:
    """A writer may leave its counters out; then its manifests are counted."""
    before, _ = write(orders, "a3[0:10] | +[10:17]")
    ask = orders.ask(before)
    silent = tuple(
        s.model_copy(update={"summary": {k: v for k, v in s.summary.items() if not k.startswith("added-")}})
        for s in ask.observation.table.snapshots
    )

    answer = judges("ledger", of_table(ask, snapshots=silent))

    assert [(row.added_files, row.added_rows) for row in ledger_of(answer).rows] == [(1, 7)]


@pytest.mark.parametrize(
    ("name", "writer"),
    [
        (f"00000-0-{WRITER}-00017.parquet", ("00000", "0")),
        (f"00001-12-{WRITER}-00001-deletes.parquet", ("00001", "12")),
        (f"00001-3-{WRITER}-00001.avro", ("00001", "3")),
        (f"00002-0-{WRITER}-00004-deletes.puffin", ("00002", "0")),
        (f"00000-9-{WRITER}-0-00001.parquet", None),
        ("part-00000.parquet", None),
    ],
)
def test_subtask_and_attempt_are_told_only_by_flinks_form_of_name(name: str, writer: tuple[str, str] | None) -> None:
    """Spark's names carry one number more and tell neither."""
    found = [re.search(form, name) for form in (SUBTASK_IN_FILE_NAME, ATTEMPT_IN_FILE_NAME)]

    assert (tuple(match[1] for match in found if match) or None) == writer


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
        added_files=1,
        added_rows=10,
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


OTHER = OperatorId("0f" * 16)


def commits(orders: OrdersTable, *turns: tuple[str, int]) -> list[SnapshotId]:
    """One commit a turn: the sink (`one` or `other`) of run `a`, and the checkpoint."""
    of_other: Mapping[str, str] = {"flink.operator-id": OTHER}
    return [
        orders.commits("a", checkpoint, range(10 * at, 10 * at + 10), summary=of_other if sink == "other" else None)
        for at, (sink, checkpoint) in enumerate(turns)
    ]


@pytest.mark.parametrize(
    "turns",
    [
        [("one", 1), ("other", 1), ("one", 2), ("other", 2), ("one", 3), ("other", 3)],
        [("one", 1), ("other", 1), ("one", 2), ("one", 3), ("other", 2), ("other", 3)],
        [("one", 1), ("one", 2), ("one", 3), ("other", 3), ("other", 4), ("one", 4)],
    ],
    ids=["in turn", "one is a little later", "one was idle"],
)
def test_checkpoints_of_two_sinks_do_not_fall(orders: OrdersTable, judges: Asks, turns: list[tuple[str, int]]) -> None:
    """Both carry the id of the one checkpoint; which commits first is chance."""
    made = commits(orders, *turns)

    answer = judges("ledger", orders.ask(made[1]))

    assert answer.verdict is Verdict.RULED_OUT
    assert "one unbroken chain of run aaaaaa" in answer.headline


@pytest.mark.parametrize(
    ("turns", "fall"),
    [
        ([("one", 5), ("other", 5), ("one", 6), ("other", 5)], "5 → 5"),
        ([("one", 5), ("one", 6), ("one", 9), ("other", 4)], "9 → 4"),
    ],
    ids=["a sink commits again", "another sink begins far below"],
)
def test_a_sink_that_goes_back_breaks_the_chain(
    orders: OrdersTable, judges: Asks, turns: list[tuple[str, int]], fall: str
) -> None:
    """What it committed itself, or long ago, comes again."""
    made = commits(orders, *turns)

    answer = judges("ledger", orders.ask(made[1]))

    assert answer.verdict is Verdict.CONFIRMED
    assert f"checkpoint ids repeat or fall once (first at {fall}," in answer.headline
