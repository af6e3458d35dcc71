"""Which code wrote a commit: Iceberg does not record it, so the job must say it somewhere."""

from bot.domain.flink import JobRun
from bot.domain.looked import NotSeen, Seen
from bot.domain.table import Snapshot

PROPERTIES = ("app.git-sha", "git-sha", "git.sha", "git-commit", "git.commit.id", "code.version", "app.version")
"""Snapshot properties that jobs set for it (`setSnapshotProperty`), first found counts."""


def code_version_of(commit: Snapshot, jobs: Seen[JobRun] | NotSeen) -> tuple[str | None, str | None]:
    """The version, and where it was found: a snapshot property, else the job run's own word; else None twice."""
    for key in PROPERTIES:
        if value := commit.summary.get(key):
            return value, f"snapshot property {key}"
    run = next((run for run in jobs.values if commit.job_id is not None and run.job_id == commit.job_id), None)
    if run is not None and run.code_version is not None:
        return run.code_version, "the job's parameters"
    return None, None
