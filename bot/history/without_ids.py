"""Commits of a job that leaves no `flink.*` keys in them, as Flink CDC does: which they are, and what time alone tells.

Their summaries say `engine-name=flink` and no more: neither run nor checkpoint. What is told by ids is not known then.
"""

from collections.abc import Sequence

from bot.history.base import in_window
from bot.history.case import Case, once_a_case
from bot.history.rollbacks import Rollback
from bot.observation.flink import CLOCKS_DIFFER, JobRun
from bot.observation.ids import short
from bot.observation.sentences import counted
from bot.observation.table import Snapshot


@once_a_case
def without_ids(case: Case) -> Sequence[Snapshot]:
    """The window's commits on main that may be the job's, oldest first. Empty where no job is declared, and where any
    commit of the table carries a run: then the job's would, too."""
    if case.job_name is None or any(commit.job_id is not None for commit in case.observation.table.snapshots):
        return ()
    return [commit for commit in in_window(case) if _is_flinks(commit)]


def why_untold(commits: Sequence[Snapshot]) -> str:
    """What has to be known, a clause. `commits`: as of `without_ids`, at least one."""
    first, one = short(commits[0].snapshot_id), len(commits) == 1
    return (
        f"which run and checkpoint made {counted(len(commits), 'commit')} ({first} is the first): "
        f"{'it carries' if one else 'they carry'} engine-name=flink and no `flink.*` key, as commits of Flink CDC do"
    )


def who_went_on(case: Case, rollback: Rollback) -> tuple[JobRun, Snapshot | None] | None:
    """By time alone: the one run that lived when main went back, was not restored since, and so has behind it what main
    lost; with its first commit above, if there is one. None where commits carry ids, no row was lost, or nothing shows
    that it was this run."""
    table, at = case.observation.table, rollback.at
    lost = [table.by_id[each] for each in rollback.left]
    if at is None or not without_ids(case) or not any(_is_flinks(each) and each.adds_rows for each in lost):
        return None
    lived = [run for run in case.runs if run.ended_at is None or run.ended_at > at - CLOCKS_DIFFER]
    lived = [run for run in lived if run.started_at < at + CLOCKS_DIFFER]
    others = [run for run in case.runs if run not in lived and not run.is_terminal]
    if len(lived) != 1 or others:
        return None
    run = lived[0]
    began = run.restored.at if run.restored is not None else run.started_at
    is_known = run.restored is not None or not run.restored_count
    if not is_known or any(each.committed_at < began + CLOCKS_DIFFER for each in lost if each.adds_rows):
        return None
    if began > at - CLOCKS_DIFFER or (run.is_terminal and run.state != "FAILED"):
        return None
    kept = {commit.snapshot_id for commit in table.ancestors(rollback.target)}
    above = (s for s in reversed(table.chain) if s.snapshot_id not in kept and s.committed_at > at)
    return run, next((commit for commit in above if _is_flinks(commit)), None)


def _is_flinks(commit: Snapshot) -> bool:
    return commit.engine == "flink" and commit.operation != "replace" and not commit.is_repair
