"""What evidence would have found, without running it."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from bot.history.case import Case
from bot.observation.evidence import Evidence, Verdict
from bot.observation.findings import (
    DuplicateCommitsFinding,
    DuplicateFile,
    DuplicateFilesFinding,
    DuplicatePair,
    DuplicatesFinding,
    FreshnessFinding,
    GapsFinding,
    LastCommit,
    LeakedManifest,
    LeakedManifestsFinding,
    LeakStanding,
    OrphanFilesFinding,
    Pairing,
    PairingFinding,
    PairVerdict,
    RepeatedCommit,
    SchemaDifference,
    SchemaDriftFinding,
    TableHealthFinding,
    UnreadableFile,
    UnreadableFilesFinding,
)
from bot.observation.flink import CheckpointKind, FlinkManifest
from bot.observation.ids import CheckpointId, EvidenceId, JobId, SnapshotId
from bot.observation.ledger import Ledger, row_of
from bot.observation.table import TableState, Window


def ledger_of(table: TableState, window: Window) -> Ledger:
    """The ledger as the evidence task would find it."""
    told = {"checkpoint_kind": CheckpointKind.CHECKPOINT, "attempts": (0,), "added_files": 1}
    rows = tuple(row_of(table, each).model_copy(update=told) for each in window.of(table))
    return Ledger(rows=rows, readers_known=False)


def with_positions(case: Case, bounds: Mapping[SnapshotId, tuple[int, int] | None]) -> Case:
    """The same, where the ledger knows these bounds of what the commits hold; None: it knows none."""
    rows = []
    for row in case.ledger.rows:
        low, high = bounds.get(row.snapshot_id, (row.position_from, row.position_until)) or (None, None)
        rows.append(row.model_copy(update={"position_from": low, "position_until": high}))
    return case.model_copy(update={"ledger": case.ledger.model_copy(update={"rows": tuple(rows)})})


def ten_each(case: Case) -> dict[SnapshotId, tuple[int, int]]:
    """Bounds of ten positions for each commit, up to ten times its checkpoint id."""
    numbers = {row.snapshot_id: row.checkpoint_id or 0 for row in case.ledger.rows}
    return {snapshot: (10 * number - 10, 10 * number - 1) for snapshot, number in numbers.items()}


def twice(keys: int, pairs: Iterable[tuple[SnapshotId, SnapshotId]] = ()) -> DuplicatesFinding:
    """So many keys live twice."""
    return DuplicatesFinding(
        rows_checked=100,
        keys=keys,
        extra_rows=keys,
        pairs=tuple(DuplicatePair(first=first, second=second, keys=keys) for first, second in pairs),
    )


def hole(missing: int) -> GapsFinding:
    """So many source positions are missing."""
    return GapsFinding(lowest=0, highest=99, positions=100 - missing, missing=missing, gaps=())


def leaks(
    *manifests: FlinkManifest,
    standing: LeakStanding = LeakStanding.PENDING,
    rows: int | None = 10,
    deletes: int = 0,
    missing_files: int = 0,
    positions: tuple[int, int] | None = None,
) -> LeakedManifestsFinding:
    """These Flink manifests, all of one standing, one file each; none: nothing is leaked. `positions`: the first and
    the last that each of them holds."""
    told = tuple(
        LeakedManifest(
            path=each.path,
            job_id=each.job_id,
            operator_id=each.operator_id,
            checkpoint_id=each.checkpoint_id,
            attempt=each.attempt,
            standing=standing,
            files=None if rows is None else 1,
            rows=rows,
            deletes=deletes,
            missing_files=missing_files,
            position_from=positions[0] if positions else None,
            position_until=positions[1] if positions else None,
            reason="As the test says.",
        )
        for each in manifests
    )
    lost = len(told) if standing in {LeakStanding.DROPPED, LeakStanding.LOST_STATE} else 0
    return LeakedManifestsFinding(
        manifests=told, lost_files=lost, lost_rows=lost * (rows or 0), lost_deletes=lost * deletes
    )


def unreadable(*files: UnreadableFile, checked: int = 40) -> UnreadableFilesFinding:
    """These files cannot be read; of so many data and delete files that were looked for."""
    return UnreadableFilesFinding(
        files_checked=checked + 2,
        count=len(files),
        rows=sum(file.rows for file in files),
        files=files,
        content_checked=checked,
        content_gone=sum(file.what in ("data", "deletes") for file in files),
        commits=_adders(file for file in files if file.what in ("manifest", "data", "deletes")),
        lists=_adders(file for file in files if file.what == "manifest-list"),
    )


def _adders(files: Iterable[UnreadableFile]) -> tuple[SnapshotId, ...]:
    return tuple(dict.fromkeys(file.snapshot_id for file in files if file.snapshot_id is not None))


def repeats(*repeated: RepeatedCommit) -> DuplicateCommitsFinding:
    """These commits repeat others."""
    return DuplicateCommitsFinding(commits_checked=10, repeated=repeated)


def files_twice(rows: int = 0, *snapshots: SnapshotId) -> DuplicateFilesFinding:
    """One path with so many rows that these commits added, oldest first; none: no path is live twice."""
    files = (DuplicateFile(path="s3://lake/sales/orders/data/one.parquet", snapshots=snapshots, rows=rows),)
    return DuplicateFilesFinding(
        files_checked=10,
        count=1 if snapshots else 0,
        extra_rows=rows * (len(snapshots) - 1) if snapshots else 0,
        files=files if snapshots else (),
        again=snapshots[1:],
    )


def retention(*last_commits: LastCommit) -> TableHealthFinding:
    """What the metadata still lists of each run's newest commit; nothing else is wrong."""
    return TableHealthFinding(
        snapshots=10,
        last_commits=last_commits,
        problems=(),
    )


def point(
    job_id: JobId,
    checkpoint: int,
    snapshot: SnapshotId | None,
    verdict: PairVerdict = PairVerdict.PAIRED,
    kind: CheckpointKind = CheckpointKind.STOP_SAVEPOINT,
) -> Pairing:
    """A readable restore point on storage that Flink will not drop."""
    return Pairing(
        path=f"s3://state/savepoint-{job_id[:6]}-{checkpoint}",
        checkpoint_kind=kind,
        checkpoint_id=CheckpointId(checkpoint),
        job_id=job_id,
        verdict=verdict,
        snapshot_id=snapshot,
        reason="As the test says.",
        digest="ab" * 32,
        is_durable=True,
    )


def points(*pairings: Pairing) -> PairingFinding:
    """What checkpoint storage holds, newest first."""
    return PairingFinding(pairings=pairings)


def orphans(
    count: int = 0, *, young: int = 0, of_other_attempts: int = 0, newest_at: datetime | None = None
) -> OrphanFilesFinding:
    """So many data files that nothing names."""
    return OrphanFilesFinding(
        files_listed=50,
        orphans=count,
        bytes=count * 1000,
        young=young,
        of_other_attempts=of_other_attempts,
        paths=(),
        newest_at=newest_at,
    )


def schema(
    *differences: SchemaDifference, all_null: tuple[str, ...] = (), added_at: SnapshotId | None = None
) -> SchemaDriftFinding:
    """Table, contract and files agree, apart from these."""
    return SchemaDriftFinding(differences=differences, all_null=all_null, added_at=added_at)


def newest_event(age_s: float | None = 5.0, **told: Any) -> FreshnessFinding:
    """The newest event is so old; commits come every few seconds."""
    words: dict[str, Any] = {
        "newest_commit": None,
        "commit_age_s": 3.0,
        "promised_s": 900.0,
        "promised_cadence_s": 60.0,
        "commits_checked": 10,
        "is_event_time_stuck": False,
    }
    return FreshnessFinding(event_age_s=age_s, **(words | told))


def evidence(task: str, window: Window, at: datetime, **told: Any) -> Evidence:
    """An answer, of the window's end, that rules out what was asked, but for what is told."""
    words = {
        "id": EvidenceId(task),
        "task": task,
        "task_version": 1,
        "question": "Is it?",
        "verdict": Verdict.RULED_OUT,
        "headline": "It is not.",
        "metadata_location": "s3://lake/sales/orders/metadata/00009.metadata.json",
        "head": window.until,
        "window": window,
        "at": at,
        "took_ms": 1,
        "bytes_read": 0,
    }
    return Evidence(**(words | told))


def ruled_out(case: Case, task: str, head: SnapshotId, since: SnapshotId | None = None) -> Evidence:
    """The task has answered just now, of the table as it stood at this head."""
    return evidence(task, Window(since=since, until=head), case.observation.table.read_at)
