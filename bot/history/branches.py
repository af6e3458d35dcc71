"""Commits that stand on a branch beside main, as a job with `toBranch` or an audit branch makes them; pure."""

from collections.abc import Sequence
from itertools import takewhile

from bot.observation.flink import FlinkManifest
from bot.observation.ids import short, short_job
from bot.observation.ledger import BesideMain, change
from bot.observation.sentences import counted
from bot.observation.table import Snapshot, TableState

_BRANCH, _MAIN = "branch", "main"
_RUNS = 3
_TOLD = 4


def commits_beside_main(table: TableState, *, tagged: bool = False) -> dict[str, tuple[Snapshot, ...]]:
    """Branch -> its commits above main, newest first, of those that main never had; branches without any are left
    out. Two branches may share commits. `tagged`: the same of tags, too, which may outlive a branch."""
    branches = [ref for ref in table.refs if (tagged or ref.kind == _BRANCH) and ref.name != _MAIN]
    branches = [ref for ref in branches if ref.snapshot_id not in table.chain_ids]
    if not branches:
        return {}
    lost = {snapshot.snapshot_id for snapshot in table.rolled_back}

    def is_apart(each: Snapshot) -> bool:
        return each.snapshot_id not in table.chain_ids and each.snapshot_id not in lost

    found = {ref.name: tuple(takewhile(is_apart, table.ancestors(ref.snapshot_id))) for ref in branches}
    return {name: commits for name, commits in sorted(found.items()) if commits}


def committed_elsewhere(leak: FlinkManifest, table: TableState) -> tuple[str, tuple[Snapshot, ...]] | None:
    """(Branch or tag, commits there by the manifest's run, newest first), where main has none by it: nothing in a
    manifest tells for which branch it was written. By its sink where main has none by that either: a run that has
    not committed yet goes on where the one before it did. What main had and lost is told as that; what we repaired on
    a branch was written for main. None: nothing stands elsewhere."""
    beside = commits_beside_main(table, tagged=True)
    if not beside or any(commit.job_id == leak.job_id for commit in table.chain):
        return None
    is_sink_on_main = any(commit.operator_id == leak.operator_id for commit in table.chain)

    def is_its(commit: Snapshot) -> bool:
        by_sink = commit.operator_id == leak.operator_id and not is_sink_on_main
        return not commit.is_repair and (commit.job_id == leak.job_id or by_sink)

    found = ((ref, tuple(commit for commit in commits if is_its(commit))) for ref, commits in beside.items())
    return next(((ref, commits) for ref, commits in found if commits), None)


def told_of(branch: str, commits: Sequence[Snapshot]) -> BesideMain:
    """What stands there; `commits` newest first, at least one."""
    runs = dict.fromkeys(each.job_id for each in commits if each.job_id is not None)
    return BesideMain(
        branch=branch,
        snapshot_id=commits[0].snapshot_id,
        commits=len(commits),
        added_rows=sum(each.counted("added-records") for each in commits),
        removed_rows=sum(each.counted("deleted-records") for each in commits),
        job_ids=tuple(runs)[:_RUNS],
        engines=tuple(dict.fromkeys(each.engine for each in commits if each.job_id is None)),
        last_at=commits[0].committed_at,
    )


def in_words(branches: Sequence[BesideMain]) -> str:
    """` Not of main, and not included here: 3 commits on branch audit (Flink run b92e04, rows +30, at …421007).`; empty
    without any."""
    if not branches:
        return ""
    told = "; ".join(_one(each) for each in branches[:_TOLD])
    more = f"; and {len(branches) - _TOLD} more branches" if len(branches) > _TOLD else ""
    return f" Not of main, and not included here: {told}{more}."


def _one(each: BesideMain) -> str:
    writers = [*(f"Flink run {short_job(run)}" for run in each.job_ids), *each.engines]
    rows = change(each.added_rows, each.removed_rows)
    by = " and ".join(writers)
    return (
        f"{counted(each.commits, 'commit')} on branch {each.branch} ({by}, rows {rows}, at {short(each.snapshot_id)})"
    )
