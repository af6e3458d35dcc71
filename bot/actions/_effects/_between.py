"""What others have committed between the table state on which a run was started and the run's first commit."""

from itertools import takewhile

from bot.actions._foreseen import binding_of, committer
from bot.actions._world import World
from bot.domain.ids import JobId, SnapshotId, short
from bot.domain.record import Record
from bot.domain.table import Snapshot, TableState

_NAMED = 3


class Between(Record):
    """Whether a start still stands on the table state with which it pairs, although others have committed on it."""

    is_bound: bool
    """Whether one of them may have brought what the run reads again."""
    sentence: str
    """Who they are; empty where nobody has committed."""


def came_between(job: str, run: JobId, base: SnapshotId, first: Snapshot, world: World) -> Between:
    """`first`: the first commit of `run` above `base`. A commit by Flink binds, unless it is a guest's that surely
    wrote beside the job; one by another engine, a compaction among them, does not. Raises CouldNotLook."""
    others = _others(world.table, base, first)
    by_flink = frozenset(each.job_id for each in others if each.job_id is not None)
    bound: set[SnapshotId] = set()
    if by_flink:
        runs = world.jobs[job].flink.runs(job)
        bound = {each.snapshot_id for each in binding_of(world, job, run, runs, by_flink)}
    binding = [each for each in others if each.job_id is not None and each.snapshot_id in bound]
    if binding:
        return Between(
            is_bound=True,
            sentence=f"Before that came {_named(binding)}. It is not known to be of another job, so it may have "
            "written the same rows.",
        )
    if not others:
        return Between(is_bound=False, sentence="")
    return Between(is_bound=False, sentence=f"Before that came {_named(others)}, which is not of this job.")


def _others(table: TableState, base: SnapshotId, first: Snapshot) -> list[Snapshot]:
    """Oldest first."""
    below = list(table.ancestors(first.snapshot_id))[1:]
    return list(takewhile(lambda s: s.snapshot_id != base, below))[::-1]


def _named(commits: list[Snapshot]) -> str:
    told = ", ".join(f"{short(each.snapshot_id)} by {committer(each)}" for each in commits[:_NAMED])
    return told if len(commits) <= _NAMED else f"{told} and {len(commits) - _NAMED} more"
