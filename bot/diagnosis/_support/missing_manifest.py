"""The Flink manifest that a failing restore looks for, and what became of its checkpoint's commit.

A checkpoint's state names the manifests that it still owes to the table. The sink deletes them after the commit, so a
restore that does not find the commit among the head's ancestors asks for a file that is gone (facts 0.3).
"""

import re
from enum import Enum, auto

from bot.history.case import Case
from bot.history.rollbacks import Rollback, rollbacks
from bot.observation.flink import Failure, JobRun
from bot.observation.ids import DRAINED, CheckpointId, JobId, OperatorId
from bot.observation.record import Record
from bot.observation.table import Snapshot

_NOT_FOUND = re.compile(r"NotFoundException|NoSuchKey")
_MANIFEST = re.compile(
    r"(?P<name>(?P<job>[0-9a-f]{32})-(?P<operator>[0-9a-f]{32})-\d{5}-\d+-(?P<checkpoint>\d+)-\d{5}"
    r"(?:-[0-9a-f-]{36})?\.avro)"
)


class MissingManifest(Record):
    """What the newest run fails for, again and again."""

    name: str
    """The file's name, without its folder."""
    job_id: JobId
    """The run that wrote it: the failing one, or the one that it was restored from."""
    operator_id: OperatorId
    checkpoint_id: CheckpointId
    run: JobId
    """The run that fails."""
    is_alive: bool
    times: int
    """How often, as far as Flink lists failures."""


class Fate(Enum):
    """What the table lists of a checkpoint's commit."""

    ON_MAIN = auto()
    ROLLED_BACK = auto()
    RUN_UNLISTED = auto()
    """No snapshot of that run and operator is listed at all: expired (F8), or it never committed."""
    NEVER_SEEN = auto()
    """The run has commits on main, all of older checkpoints, and none that was rolled back holds this one."""


def missing_manifest(case: Case) -> MissingManifest | None:
    """The file that the newest run's failures since its last checkpoint name; None also when Flink was not seen."""
    run = next(reversed(case.runs), None)
    if run is None:
        return None
    told = [(found, failure) for failure in _unsettled(run) if (found := _named(failure)) is not None]
    if not told:
        return None
    found, newest = told[0][0], told[0][0]["name"]
    return MissingManifest(
        name=newest,
        job_id=JobId(found["job"]),
        operator_id=OperatorId(found["operator"]),
        checkpoint_id=CheckpointId(int(found["checkpoint"])),
        run=run.job_id,
        is_alive=not run.is_terminal,
        times=sum(1 for each, _ in told if each["name"] == newest),
    )


def unnamed_file(case: Case) -> Failure | None:
    """The newest run's newest failure that says `not found` without a file's name that can be told."""
    run = next(reversed(case.runs), None)
    failures = _unsettled(run) if run else ()
    return next((f for f in failures if _NOT_FOUND.search(f.exception) and ".avro" not in _text(f)), None)


def is_back(case: Case, missing: MissingManifest) -> bool | None:
    """Whether a listing shows the file now (then storage was out, not the file gone); None: nobody could list."""
    listed = case.observation.flink_manifests
    if listed.state == "not-seen":
        return None
    return any(each.path.rsplit("/", 1)[-1] == missing.name for each in listed.values)


def fate(case: Case, missing: MissingManifest) -> Fate:
    """What became of the commit that would have taken the manifest's files along."""
    table = case.observation.table
    commits = commits_of(case, missing)
    if not commits:
        return Fate.RUN_UNLISTED
    holding = [s for s in commits if (s.checkpoint_id or 0) >= missing.checkpoint_id and s.checkpoint_id != DRAINED]
    if any(s.snapshot_id in table.chain_ids for s in holding):
        return Fate.ON_MAIN
    return Fate.ROLLED_BACK if any(s in table.rolled_back for s in holding) else Fate.NEVER_SEEN


def commits_of(case: Case, missing: MissingManifest) -> tuple[Snapshot, ...]:
    """Every listed snapshot by the manifest's run and operator, oldest first."""
    return tuple(
        s
        for s in case.observation.table.snapshots
        if s.job_id == missing.job_id and s.operator_id in (None, missing.operator_id) and s.checkpoint_id is not None
    )


def rolled_back_with(case: Case, missing: MissingManifest) -> tuple[Snapshot, Rollback]:
    """The commit that held the manifest's files, and the rollback that took it off main; where `fate` says so."""
    table, number = case.observation.table, missing.checkpoint_id
    holding = next(s for s in commits_of(case, missing) if s in table.rolled_back and (s.checkpoint_id or 0) >= number)
    return holding, next(each for each in rollbacks(table) if holding.snapshot_id in each.left)


def bars_restart(case: Case, lost: Rollback) -> bool:
    """Whether the newest run fails at each restart for a manifest whose commit main lost by this rollback (F7)."""
    missing = missing_manifest(case)
    if missing is None or is_back(case, missing) or fate(case, missing) is not Fate.ROLLED_BACK:
        return False
    return rolled_back_with(case, missing)[1] == lost


def _unsettled(run: JobRun) -> tuple[Failure, ...]:
    """The failures since the newest completed checkpoint, newest first: what came before it is over."""
    completed = [c.triggered_at for c in run.checkpoints if c.status == "COMPLETED"]
    since = max(completed, default=None)
    newest_first = sorted(run.failures, key=lambda failure: failure.at, reverse=True)
    return tuple(f for f in newest_first if since is None or f.at >= since)


def _named(failure: Failure) -> re.Match[str] | None:
    text = _text(failure)
    return _MANIFEST.search(text) if _NOT_FOUND.search(text) else None


def _text(failure: Failure) -> str:
    return "\n".join((failure.exception, failure.message, *failure.causes))
