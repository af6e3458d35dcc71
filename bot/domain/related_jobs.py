"""Which runs of a table's other jobs are related to its own job's: they began from the same state, so both read the
same source from there on. Alive beside each other they are a fork, whatever the two jobs are called."""

import re

from bot.domain.flink import JobRun, names_run
from bot.domain.ids import JobId
from bot.domain.looked import NotSeen, Seen
from bot.domain.paths import may_be_same

_WROTE = re.compile(r"/(?P<checkpoint>[0-9a-f]{32})/chk-\d+/?$|/savepoint-(?P<savepoint>[0-9a-f]{6})-[0-9a-f]+/?$")
"""What the path of a restore point tells of the run that wrote it: its id, or the first six digits of it."""


def related_runs(jobs: Seen[JobRun] | NotSeen, others: Seen[JobRun] | NotSeen | None) -> tuple[JobRun, ...]:
    """The runs among `others` that were restored from a point of one of `jobs`, from the same point, or from one of the
    same earlier run; and those from whose points one of `jobs` was restored. In their order; empty where either could
    not be seen. A run that Flink has restarted since names its own checkpoint, and tells of no relation any more."""
    if others is None:
        return ()
    return tuple(run for run in others.values if any(_are_kin(run, own) for own in jobs.values))


def began_from(run: JobRun) -> str | None:
    """The path of the restore point with which the run began; None where Flink does not name it, or names by now a
    checkpoint that the run took itself."""
    path = run.restored.path if run.restored is not None else None
    return None if path is None or _is_of(path, run.job_id) else path


def went_on_from(run: JobRun, job_id: JobId) -> bool:
    """Whether the run began from a point of the run with this id, as far as Flink shows it."""
    return _is_of(began_from(run), job_id)


def writer_of(path: str | None) -> str | None:
    """The first six digits of the run that wrote this restore point; None where the path does not tell."""
    found = _WROTE.search(path) if path is not None else None
    digits = (found["checkpoint"] or found["savepoint"])[:6] if found is not None else ""
    return digits if digits and _is_one_runs(digits) else None


def _are_kin(run: JobRun, own: JobRun) -> bool:
    if went_on_from(run, own.job_id) or went_on_from(own, run.job_id):
        return True
    one, other = began_from(run), began_from(own)
    if one is None or other is None:
        return False
    return may_be_same(one, other) or (writer_of(one) is not None and writer_of(one) == writer_of(other))


def _is_of(path: str | None, job_id: JobId) -> bool:
    return _is_one_runs(job_id) and names_run(path, job_id)


def _is_one_runs(digits: str) -> bool:
    """Whether a job id is one run's alone, by its first digits: of a cluster for one job it may be all zeros, or made
    of the cluster's name with zeros or `f` before it, and then each start of any such job has it (F14)."""
    return not digits.startswith(("000000", "ffffff"))
