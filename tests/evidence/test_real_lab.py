"""The four questions, asked of a table that a real Flink job wrote and a real story broke."""

from datetime import UTC, datetime

import pytest

import spark_tasks
from bot.adapters.checkpoint_files import CheckpointFiles
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.spark import SparkEvidenceRunner
from bot.domain.contract import TableContract
from bot.domain.evidence import Answer, Ask, Observation, Verdict
from bot.domain.findings import DuplicatesFinding, GapsFinding, LedgerFinding, PairingFinding, PairVerdict
from bot.domain.flink import JobRun
from bot.domain.ids import SnapshotId, TableName
from bot.domain.looked import Seen
from bot.domain.reads import ReadRun
from bot.domain.table import TableState, Window
from bot.evidence import check_answer, find_tasks
from bot.lab.lab import Lab
from tests.evidence.test_collecting import TickingClock
from tests.lab_fixtures import FreshLab

pytestmark = pytest.mark.slow
CONTRACT = TableContract(key=("order_id",), position="source_position")


@pytest.fixture
def v2_lab(fresh_lab: FreshLab) -> Lab:
    """A running job with the V2 sink."""
    return fresh_lab("v2")


def table_of(lab: Lab) -> TableState:
    """The lab's table now."""
    state = lab.state
    catalog = PyIcebergCatalog(state.catalog_name, state.catalog_properties, TickingClock())
    try:
        return catalog.load(TableName(state.table))
    finally:
        catalog.close()


def answers(lab: Lab, since: SnapshotId, table: TableState) -> dict[str, Answer]:
    """Every task's answer about the commits after `since`, from the lab's own Spark."""
    stored = CheckpointFiles(lab.state.checkpoint_dir, lab.state.savepoint_dir).stored("orders", ())
    assert table.head is not None
    ask = Ask(
        observation=Observation(
            table=table,
            jobs=Seen[JobRun](source="Flink", values=()),
            checkpoints=Seen(source="the lab's folders", values=stored),
            reads=Seen[ReadRun](source="lineage", values=()),
        ),
        window=Window(since=since, until=table.head),
        contract=CONTRACT,
    )
    modules = find_tasks(spark_tasks)
    runner = SparkEvidenceRunner(modules, lab.state.spark_remote)
    told = {}
    for name, module in modules.items():
        told[name], _ = runner.run(
            module.task, ask, tag=f"{name}-{datetime.now(UTC):%H%M%S%f}", on_progress=lambda _progress: None
        )
        check_answer(module.task, ask, told[name])
        print(told[name].headline)  # noqa: T201 - shown when the test fails
    runner.close()
    return told


def test_a_replay_is_counted_as_the_lab_counts_it(v2_lab: Lab) -> None:
    """Duplicates, chain, restore points and Flink's own attempts, after a restore from an older savepoint."""
    story = v2_lab.tell("restored-from-older-savepoint")
    table = table_of(v2_lab)

    told = answers(v2_lab, SnapshotId(int(story.facts["paired_snapshot"])), table)

    rows = v2_lab.proof()
    ledger, duplicates = told["ledger"].finding, told["duplicate_rows"].finding
    pairing, gaps = told["checkpoint_pairing"].finding, told["missing_positions"].finding
    assert isinstance(ledger, LedgerFinding)
    assert isinstance(duplicates, DuplicatesFinding)
    assert isinstance(pairing, PairingFinding)
    assert isinstance(gaps, GapsFinding)
    assert told["duplicate_rows"].verdict is Verdict.CONFIRMED
    assert told["ledger"].verdict is Verdict.CONFIRMED
    assert 0 < duplicates.extra_rows <= rows.duplicates
    assert all(row.attempts == (0,) for row in ledger.ledger.rows if row.added_files)
    assert {row.code_version for row in ledger.ledger.rows} == {None}
    assert gaps.missing == 0
    good = [p for p in pairing.pairings if p.checkpoint_id == story.facts["good_checkpoint"] and p.is_durable]
    assert [p.verdict for p in good if p.job_id == story.facts["run_a"]].count(PairVerdict.PAIRED) >= 1


@pytest.mark.long
def test_the_hole_of_a_rollback_is_counted_as_the_lab_counts_it(v2_lab: Lab) -> None:
    """Missing positions after a rollback under the running job."""
    story = v2_lab.tell("rolled-back-while-running")
    table = table_of(v2_lab)

    told = answers(v2_lab, SnapshotId(int(story.facts["paired_snapshot"])), table)

    gaps = told["missing_positions"].finding
    assert isinstance(gaps, GapsFinding)
    assert gaps.missing == v2_lab.proof().missing_positions
    assert "rolled back" in told["missing_positions"].headline
