"""What a failure mode may reason over: the world at one moment, and what evidence found in it."""

from collections.abc import Callable
from functools import wraps
from typing import Annotated, TypeVar
from weakref import ref

from pydantic import AfterValidator, Field

from bot.observation import findings as f
from bot.observation.contract import TableContract
from bot.observation.evidence import Evidence, Observation, begun_on_main
from bot.observation.flink import JobRun
from bot.observation.ids import JobId, SnapshotId, UserId
from bot.observation.ledger import Ledger
from bot.observation.record import Record
from bot.observation.table import Window


class PlannedChange(Record):
    """A person says that what a mode found was planned, or is meant to be. That makes no row right."""

    code: str
    """Of the mode."""
    what: str
    """One of the mode's `planned_as`."""
    reason: str
    by: UserId
    run: JobId | None
    """Of the match that it was declared for, as the next three."""
    last_good: SnapshotId | None
    newest_wrong: SnapshotId | None
    commits: tuple[SnapshotId, ...]


class Case(Record):
    """Everything a mode may reason over: the world at one moment, and what evidence found in it."""

    observation: Observation
    window: Annotated[Window, AfterValidator(begun_on_main)]
    """It begins on main, whatever was asked for: a last good snapshot is never looked for elsewhere."""
    contract: TableContract
    job_name: str | None
    """The configured job that should be writing the table."""
    ledger: Ledger | None = None
    duplicates: f.DuplicatesFinding | None = None
    extra_copies: f.ExtraCopiesFinding | None = None
    gaps: f.GapsFinding | None = None
    replayable: f.ReplayableFinding | None = None
    pairing: f.PairingFinding | None = None
    duplicate_files: f.DuplicateFilesFinding | None = None
    duplicate_commits: f.DuplicateCommitsFinding | None = None
    leaked: f.LeakedManifestsFinding | None = None
    orphans: f.OrphanFilesFinding | None = None
    unreadable: f.UnreadableFilesFinding | None = None
    missing_files: f.MissingFilesFinding | None = None
    late: f.LateRowsFinding | None = None
    corrected: f.CorrectedRowsFinding | None = None
    replayed: f.ReplayedRowsFinding | None = None
    schema_drift: f.SchemaDriftFinding | None = None
    freshness: f.FreshnessFinding | None = None
    table_health: f.TableHealthFinding | None = None
    checkpoint_health: f.CheckpointHealthFinding | None = None
    recovery_extent: f.RecoveryExtentFinding | None = None
    reads: f.ReadsFinding | None = None
    agreement: f.ContractAgreementFinding | None = None
    evidence: tuple[Evidence, ...] = ()
    accused: tuple[Evidence, ...] = Field(default=(), exclude_if=lambda told: not told)
    """Earlier answers that found wrong rows among commits that have expired since: no newer look covers these."""
    keeps: JobId | None = None
    """The run that people chose to keep, of two that write the table."""
    planned: tuple[PlannedChange, ...] = Field(default=(), exclude_if=lambda told: not told)
    """What people have declared as planned, at most one for each mode."""

    @property
    def runs(self) -> tuple[JobRun, ...]:
        """The job's runs that Flink still knows, oldest first; empty also when Flink was not seen."""
        named = (run for run in self.observation.jobs.values if self.job_name in (None, run.name))
        return tuple(sorted(named, key=lambda run: (run.started_at, run.job_id)))

    def without_samples(self) -> "Case":
        """The same without sample rows and partitions: what is left are ids, counts, positions and times."""
        bare = (
            item.model_copy(update={"columns": (), "rows": (), "finding": _without_partitions(item.finding)})
            for item in self.evidence
        )
        ledger = self.ledger.without_partitions() if self.ledger else None
        return self.model_copy(update={"evidence": tuple(bare), "ledger": ledger})


def _without_partitions(finding: f.Finding | None) -> f.Finding | None:
    if not isinstance(finding, f.LedgerFinding):
        return finding
    return finding.model_copy(update={"ledger": finding.ledger.without_partitions()})


T = TypeVar("T")


def once_a_case(make: Callable[[Case], T]) -> Callable[[Case], T]:
    """What follows from a case alone is worked out once, however many failure modes ask, and kept while the case lives.
    A case never changes; two threads may both work it out."""
    kept: dict[int, tuple[ref[Case], T]] = {}

    @wraps(make)
    def of(case: Case) -> T:
        found = kept.get(id(case))
        if found is not None and found[0]() is case:
            return found[1]
        value, key = make(case), id(case)
        kept[key] = (ref(case, lambda _: kept.pop(key, None)), value)
        return value

    return of
