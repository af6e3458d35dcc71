"""Real metadata files that Flink 1.20.3 and Iceberg 1.10.2 left behind; what Flink said then is told in words."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from pyiceberg.table import StaticTable

import bot.diagnosis
from bot.adapters.flink_bodies import Exceptions
from bot.adapters.flink_parsing import _failures
from bot.adapters.iceberg.reading import table_state
from bot.diagnosis._examine import diagnose
from bot.diagnosis._scan import scan
from bot.domain.diagnosis import Case, Diagnosis, Matches, Remedy
from bot.domain.evidence import Observation
from bot.domain.flink import Failure, JobRun
from bot.domain.ids import DRAINED, JobId, SnapshotId, TableName
from bot.domain.looked import Seen
from bot.domain.table import TableState, Window
from tests.cases import Tale
from tests.found import ledger_of

MODES = scan(bot.diagnosis)
TESTS = Path(__file__).parents[1]
MOMENT = timedelta(seconds=1)


def metadata(name: str) -> TableState:
    """One of the kept files."""
    path = str(TESTS / "data/table_metadata" / f"{name}.metadata.json")
    table = StaticTable.from_metadata(path)
    read_at = Tale().now.replace(year=2030)
    return table_state(TableName(f"lab.{name}"), table.metadata, path, read_at)


def at(table: TableState, checkpoint: int) -> SnapshotId:
    """The newest snapshot of that checkpoint."""
    return next(s.snapshot_id for s in reversed(table.snapshots) if s.checkpoint_id == checkpoint)


def run(
    table: TableState,
    job: str,
    started_at: datetime,
    *,
    restored: int | None = None,
    restored_at: datetime | None = None,
    state: str = "RUNNING",
    v1: bool = True,
    completed: Sequence[int] = (),
    failures: tuple[Failure, ...] = (),
) -> JobRun:
    """The run as Flink would have listed it, its committer under the id that the table's commits carry."""
    tale = Tale().flink_runs("a", restored, v1=v1, state=state).completes("a", *completed)
    told = tale.runs["a"]
    operator = next(s.operator_id for s in table.snapshots if s.operator_id)
    since = restored_at or started_at
    return told.model_copy(
        update={
            "job_id": JobId(job),
            "started_at": started_at,
            "restored": told.restored.model_copy(update={"at": since}) if told.restored else None,
            "checkpoints": tuple(c.model_copy(update={"triggered_at": since + MOMENT}) for c in told.checkpoints),
            "failures": failures,
            "vertices": (told.vertices[0], told.vertices[1].model_copy(update={"vertex_id": operator})),
        }
    )


def told(table: TableState, *runs: JobRun) -> tuple[Case, Diagnosis]:
    """The whole table as the window, and what every mode says."""
    case = Tale().commits("a", 1).looked_at()
    assert table.head is not None
    window = Window(since=None, until=table.head)
    seen = Observation(
        table=table,
        jobs=Seen[JobRun](source="Flink REST", values=runs),
        checkpoints=case.observation.checkpoints,
        reads=case.observation.reads,
        flink_manifests=case.observation.flink_manifests,
    )
    case = case.model_copy(update={"observation": seen, "window": window, "ledger": ledger_of(table, window)})
    return case, diagnose(case, MODES)


def match(diagnosis: Diagnosis, code: str) -> Matches:
    """The mode's match."""
    return next(found for mode, found in diagnosis.matches if mode.code == code)


def test_a_rollback_and_a_failover_on_v1() -> None:
    """Rolled back from 27 to 3, then NotFoundException until Flink gave up: the real exception bodies name 27."""
    table = metadata("v1a")
    body = (TESTS / "adapters/fixtures/flink_rest_1_20/exceptions2_after_rollback.json").read_text(encoding="utf-8")
    failures = _failures(Exceptions.model_validate_json(body))
    job = table.snapshots[0].job_id or ""

    _, diagnosis = told(table, run(table, job, table.snapshots[0].committed_at - MOMENT, state="FAILED",
                                   failures=failures))  # fmt: skip

    found = match(diagnosis, "F7")
    assert (Remedy.RESTORE_LOST_COMMITS, at(table, 3)) == (found.remedy, found.last_good)
    assert len(found.rows) == 24
    assert not {"F8", "F9", "no-advance", "healthy"} & set(diagnosis.codes)


def test_a_drained_v1_job_that_was_restored() -> None:
    """Long.MAX_VALUE at the head; 4 to 7 completed afterwards, and nothing was committed."""
    table = metadata("v1f")
    head = table.chain[0]
    after = run(table, "b" * 32, head.committed_at + MOMENT, restored=3, completed=(4, 5, 6, 7))

    _, diagnosis = told(table, after)

    assert DRAINED == head.checkpoint_id
    assert ("F5",) == diagnosis.codes
    assert head.snapshot_id == match(diagnosis, "F5").last_good


def test_an_empty_start_under_a_fixed_id_on_v2() -> None:
    """5 is at the head; 1 to 4 completed once more, and nothing was committed."""
    table = metadata("v2g")
    head = table.chain[0]
    again = run(table, head.job_id or "", head.committed_at + MOMENT, v1=False, completed=(1, 2, 3, 4))

    _, diagnosis = told(table, again)

    assert match(diagnosis, "F4").last_good == at(table, 5)
    assert not {"F3", "F15", "healthy"} & set(diagnosis.codes)


def test_an_empty_start_under_a_fixed_id_on_v1() -> None:
    """5, then 1 to 4 again with other rows: the V1 sink drops nothing, and it is the start that was wrong."""
    table = metadata("v1g")
    before, first = table.chain[4], table.chain[3]
    again = run(table, before.job_id or "", before.committed_at + (first.committed_at - before.committed_at) / 2)

    _, diagnosis = told(table, again)

    assert (5, 1) == (before.checkpoint_id, first.checkpoint_id)
    assert not {"F1", "F4", "healthy"} & set(diagnosis.codes)
    assert "F15" in diagnosis.codes


def test_an_older_savepoint_under_a_fixed_id_on_v1() -> None:
    """Restored to 4 and, by a failover, to 7 after 10 was committed: 8 to 11 came as one commit of 232 rows."""
    table = metadata("v1c")
    before = table.by_id[at(table, 10)]
    back = run(table, before.job_id or "", before.committed_at + MOMENT, restored=7, completed=(8, 9, 10, 11))

    _, diagnosis = told(table, back)

    assert ("F3",) == tuple(code for code in diagnosis.codes if code != "F14")
    assert before.snapshot_id == match(diagnosis, "F3").last_good
    assert any("232 rows at once" in reason for reason in match(diagnosis, "F3").reasons)


def test_a_stop_savepoint_that_pairs_is_no_fault() -> None:
    """505 rows of 505: stopped at 8, restored from 8 under a new id, 9 to 11 on top."""
    table = metadata("v1d")
    stopped, first = table.by_id[at(table, 8)], table.by_id[at(table, 9)]
    new = run(table, first.job_id or "", stopped.committed_at + MOMENT, restored=8, completed=(9, 10, 11))

    _, diagnosis = told(table, new)

    faults = {f"F{number}" for number in range(1, 14)}
    assert set() == faults & set(diagnosis.codes)
