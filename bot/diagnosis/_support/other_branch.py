"""Whether the job writes another branch than main (`toBranch`): what is judged is main, and that says nothing of it."""

from collections.abc import Sequence, Set
from itertools import takewhile

from bot.diagnosis._support.case import by_sink, living
from bot.history.branches import commits_beside_main
from bot.history.case import Case
from bot.history.other_jobs import OtherJobs, commits_of_job
from bot.observation.ids import JobId, SnapshotId, short, short_job
from bot.observation.sentences import counted
from bot.observation.table import Snapshot


def commits_on_branches(case: Case) -> dict[str, tuple[Snapshot, ...]]:
    """Branch -> the job's commits there that main never had, newest first; branches without any are left out."""
    other_jobs = OtherJobs(case)
    found = {
        branch: tuple(s for s in commits if _is_flinks(s) and not other_jobs.has(s))
        for branch, commits in commits_beside_main(case.observation.table).items()
    }
    return {branch: commits for branch, commits in found.items() if commits}


def commits_anywhere(case: Case) -> tuple[Snapshot, ...]:
    """The job's commits on main and on branches beside it, each once, oldest first."""
    beside = {s.snapshot_id: s for commits in commits_on_branches(case).values() for s in commits}
    if not beside:
        return commits_of_job(case)
    place = case.observation.table.place_of
    return tuple(sorted((*commits_of_job(case), *beside.values()), key=lambda s: place(s.snapshot_id)))


def writes_a_branch(case: Case) -> str | None:
    """What is missing to know of the job what is said of main: a sink that wrote main commits to another branch now, or
    none writes main; None: nothing shows that."""
    branches = commits_on_branches(case)
    if not branches:
        return None
    run, on_main, commits = _writer(case), case.observation.table.chain_ids, commits_anywhere(case)
    mine = [s for s in commits if s.job_id == run]
    here, there = ([s for s in mine if (s.snapshot_id in on_main) is is_here] for is_here in (True, False))
    by_its_sink = {sink: _goes_on(by_sink(mine, sink), on_main) for sink in {s.operator_id for s in mine}}
    gone = [sink for sink, goes_on in by_its_sink.items() if not goes_on]
    has_left = any(s.snapshot_id in on_main for sink in gone for s in by_sink(commits, sink))
    if not there or (any(by_its_sink.values()) and not has_left):
        return None
    newest = there[-1]
    branch = next(name for name, commits in branches.items() if newest.snapshot_id in {s.snapshot_id for s in commits})
    held = sum(1 for s in branches[branch] if s.job_id == run)
    last = f"main has its checkpoint {here[-1].checkpoint_id}" if here else "main has none of its commits"
    return (
        f"how branch {branch} stands, which run {short_job(run)} writes: what is judged here is main, and "
        f"{counted(held, 'commit')} of the run up to checkpoint {newest.checkpoint_id} "
        f"({short(newest.snapshot_id)}) {'hangs' if held == 1 else 'hang'} on that branch; {last}"
    )


def _goes_on(mine: Sequence[Snapshot], on_main: Set[SnapshotId]) -> bool:
    """Whether a sink writes main still: its newest checkpoint is there. A sink that writes both commits a checkpoint to
    one after the other."""
    newest = takewhile(lambda s: s.checkpoint_id == mine[-1].checkpoint_id, reversed(mine))
    return any(s.snapshot_id in on_main for s in newest)


def _writer(case: Case) -> JobId:
    """The newest run, living ones before all others, that has committed anywhere; where Flink lists none that has,
    whoever committed last."""
    commits = commits_anywhere(case)
    wrote = {s.job_id for s in commits}
    runs = (*reversed(living(case)), *reversed(case.runs))
    return next((run.job_id for run in runs if run.job_id in wrote), JobId(commits[-1].job_id or ""))


def _is_flinks(snapshot: Snapshot) -> bool:
    return snapshot.job_id is not None and snapshot.checkpoint_id is not None and not snapshot.is_repair
