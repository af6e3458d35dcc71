"""The ledger tells each commit of the window, and says whether they are one chain of one run."""

import re
from datetime import UTC, datetime

import pytest

from bot.domain.evidence import Answer, Verdict
from bot.domain.findings import LedgerFinding
from bot.domain.flink import CheckpointKind, CompletedCheckpoint, JobRun
from bot.domain.ids import CheckpointId, SnapshotId
from bot.domain.ledger import Ledger
from bot.domain.reads import ReadRun
from spark_tasks._file_names import ATTEMPT_IN_FILE_NAME, SUBTASK_IN_FILE_NAME
from tests.evidence.conftest import Asks
from tests.tables import OrdersTable, job, rows, unseen

NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)
WRITER = "23ffc85e-5a5f-4f4c-9b43-6a1f2b0c7d11"


def ledger_of(answer: Answer) -> Ledger:
    """The ledger that the answer carries."""
    assert isinstance(answer.finding, LedgerFinding)
    return answer.finding.ledger


def run_of(name: str, *checkpoints: CompletedCheckpoint, code_version: str | None = None) -> JobRun:
    """A run that Flink remembers."""
    return JobRun(
        job_id=job(name),
        name="orders",
        state="RUNNING",
        started_at=NOON,
        ended_at=None,
        checkpoint_interval_ms=3000,
        checkpoints=checkpoints,
        completed_count=len(checkpoints),
        failed_count=0,
        restored_count=0,
        restored=None,
        failures=(),
        vertices=(),
        code_version=code_version,
    )


def completed(checkpoint: int, kind: CheckpointKind) -> CompletedCheckpoint:
    """A checkpoint in Flink's history."""
    return CompletedCheckpoint(
        checkpoint_id=CheckpointId(checkpoint),
        kind=kind,
        status="COMPLETED",
        triggered_at=NOON,
        path=None,
        discarded=False,
    )


def test_one_run_with_rising_checkpoints_is_an_unbroken_chain(orders: OrdersTable, asks: Asks) -> None:
    """`ruled-out` is said when every commit after `since` is the next of the same run."""
    before = orders.commits("a", 3, range(10))
    orders.commits("a", 4, range(10, 20))
    orders.commits("a", 6, range(20, 35))

    answer = asks("ledger", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.headline == "2 commits in the window: one unbroken chain of run aaaaaa."
    assert [(row.checkpoint_id, row.added_files, row.added_rows) for row in ledger_of(answer).rows] == [
        (4, 1, 10),
        (6, 1, 15),
    ]


def test_a_replay_by_a_second_run_breaks_the_chain(orders: OrdersTable, asks: Asks) -> None:
    """A second run whose checkpoint ids fall is confirmed from metadata alone, with every source down."""
    before = orders.commits("a", 3, range(10))
    orders.commits("a", 4, range(10, 20))
    orders.commits("b", 4, range(10, 20))
    jobs, checkpoints, reads = unseen("jobs"), unseen("checkpoints"), unseen("reads")

    answer = asks("ledger", orders.ask(before, jobs=jobs, checkpoints=checkpoints, reads=reads))

    assert answer.verdict is Verdict.CONFIRMED
    assert "2 job runs (aaaaaa, bbbbbb)" in answer.headline
    assert "checkpoint ids repeat or fall once (first at 4 → 4" in answer.headline
    assert [missing.source for missing in answer.could_not_look] == ["jobs", "checkpoints", "reads"]
    assert not ledger_of(answer).readers_known
    assert {row.checkpoint_kind for row in ledger_of(answer).rows} == {CheckpointKind.UNKNOWN}
    assert any(measure.name.endswith("(?)") for measure in answer.measures)


def test_a_replay_that_begins_right_at_the_window_breaks_the_chain(orders: OrdersTable, asks: Asks) -> None:
    """Where the window begins with the second run, its fall shows against the last commit below."""
    orders.commits("a", 9, range(10))
    before = orders.commits("a", 10, range(10, 20))
    orders.commits("b", 7, range(5, 15))
    orders.commits("b", 8, range(15, 25))

    answer = asks("ledger", orders.ask(before))

    assert answer.verdict is Verdict.CONFIRMED
    assert "checkpoint ids repeat or fall once (first at 10 → 7" in answer.headline


def test_a_run_that_goes_on_from_the_last_commit_is_an_unbroken_chain(orders: OrdersTable, asks: Asks) -> None:
    """After a paired rewind or a planned restart another run commits the next checkpoint: that is no fault."""
    before = orders.commits("a", 10, range(10))
    orders.commits("c", 11, range(10, 20))

    answer = asks("ledger", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT


def test_rolled_back_commits_stay_in_the_ledger(orders: OrdersTable, asks: Asks) -> None:
    """A commit that main lost is told with its files, although the head's manifest list does not name it."""
    before = orders.commits("a", 3, range(10))
    lost = orders.commits("a", 4, range(10, 22))
    orders.rolls_back_to(before)
    orders.commits("a", 5, range(22, 30))

    answer = asks("ledger", orders.ask(before))

    assert answer.verdict is Verdict.CONFIRMED
    assert "1 commit rolled back" in answer.headline
    assert [(row.snapshot_id, row.added_rows) for row in ledger_of(answer).rolled_back] == [(lost, 12)]
    assert [row.checkpoint_id for row in ledger_of(answer).main] == [5]


def test_another_writer_is_named_with_what_it_removed(orders: OrdersTable, asks: Asks) -> None:
    """A delete by another engine breaks the chain, and its removed files and rows are counted."""
    before = orders.commits("a", 3, range(10))
    orders.commits("a", 4, range(10, 20))
    foreign = orders.deletes("order_id >= 10")

    answer = asks("ledger", orders.ask(before))

    (row,) = [row for row in ledger_of(answer).rows if row.snapshot_id == foreign]
    assert answer.verdict is Verdict.CONFIRMED
    assert "1 commit by another writer" in answer.headline
    assert (row.engine, row.operation, row.removed_files, row.removed_rows) == ("spark", "delete", 1, 10)


def test_without_flink_an_unbroken_chain_is_not_ruled_out(orders: OrdersTable, asks: Asks) -> None:
    """A job id may be used twice, so `ruled-out` needs Flink; the ledger itself still stands."""
    before = orders.commits("a", 3, range(10))
    orders.commits("a", 4, range(10, 20))

    answer = asks("ledger", orders.ask(before, jobs=unseen("Flink")))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "Flink could not be asked" in answer.headline
    assert len(ledger_of(answer).rows) == 1


def test_a_window_whose_beginning_has_expired_is_not_ruled_out(orders: OrdersTable, asks: Asks) -> None:
    """Where the metadata no longer lists `since`, commits may be missing from the ledger."""
    orders.commits("a", 3, range(10))

    answer = asks("ledger", orders.ask(SnapshotId(404)))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "has expired" in answer.headline


def test_a_window_without_commits_is_told_as_such(orders: OrdersTable, asks: Asks) -> None:
    """Nothing after `since` is a finding, not a failure; when main's last commit was, is told with it."""
    before = orders.commits("a", 3, range(10))

    answer = asks("ledger", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.headline.startswith("No commit in the window, so none breaks the chain. Main's newest is of 20")
    assert ledger_of(answer).rows == ()


def test_kind_code_and_readers_come_from_their_sources(orders: OrdersTable, asks: Asks) -> None:
    """Checkpoint kinds from Flink's history, code from the summary before the job's own word, readers by snapshot."""
    before = orders.commits("a", 3, range(10))
    tagged = orders.commits("a", 4, range(10, 20), summary={"app.git-sha": "9f1c2ab"})
    untagged = orders.commits("a", 5, range(20, 30))
    reader = ReadRun(consumer="revenue_daily", run_id="r-1", at=NOON, snapshot_id=tagged)
    flink = run_of("a", completed(5, CheckpointKind.STOP_SAVEPOINT), code_version="v7")

    answer = asks("ledger", orders.ask(before, jobs=[flink], reads=[reader]))

    told = {row.snapshot_id: row for row in ledger_of(answer).rows}
    assert (told[tagged].code_version, told[untagged].code_version) == ("9f1c2ab", "v7")
    assert told[untagged].checkpoint_kind is CheckpointKind.STOP_SAVEPOINT
    assert (told[tagged].readers, told[untagged].readers) == ((reader,), ())
    assert "code version from snapshot property app.git-sha" in answer.sources


def test_attempts_are_read_from_flinks_file_names(orders: OrdersTable, asks: Asks) -> None:
    """Attempts are told where every added file has Flink's form of name, and not guessed elsewhere."""
    before = orders.commits("a", 3, range(10))
    flinks = orders.commits_files(
        "a", 4, {f"00000-0-{WRITER}-00017.parquet": range(10, 20), f"00001-1-{WRITER}-00001.parquet": range(20, 30)}
    )
    mixed = orders.commits_files(
        "a", 5, {f"00000-2-{WRITER}-00018.parquet": range(30, 40), "part-1.parquet": range(40, 50)}
    )

    answer = asks("ledger", orders.ask(before))

    told = {row.snapshot_id: (row.attempts, row.subtasks) for row in ledger_of(answer).rows}
    assert told == {flinks: ((0, 1), (0, 1)), mixed: (None, None)}


def test_counts_come_from_the_manifests_where_the_summary_is_silent(orders: OrdersTable, asks: Asks) -> None:
    """A writer may leave its counters out; then its manifests are counted."""
    before = orders.commits("a", 3, range(10))
    orders.appends(rows(range(10, 17)))
    ask = orders.ask(before)
    silent = tuple(
        s.model_copy(update={"summary": {k: v for k, v in s.summary.items() if not k.startswith("added-")}})
        for s in ask.observation.table.snapshots
    )
    table = ask.observation.table.model_copy(update={"snapshots": silent})
    ask = ask.model_copy(update={"observation": ask.observation.model_copy(update={"table": table})})

    answer = asks("ledger", ask)

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
