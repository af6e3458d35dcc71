"""Commits that stand on a branch beside main, as a job with `toBranch` or an audit branch makes them; pure."""

from collections.abc import Sequence
from itertools import takewhile

from bot.domain.ids import short, short_job
from bot.domain.ledger import BesideMain, change
from bot.domain.sentences import counted
from bot.domain.table import Snapshot, TableState

_BRANCH, _MAIN = "branch", "main"
_RUNS = 3
_TOLD = 4


def commits_beside_main(table: TableState) -> dict[str, tuple[Snapshot, ...]]:
    """Branch -> its commits above main, newest first, of those that main never had; branches without any are left
    out. Two branches may share commits."""
    branches = [ref for ref in table.refs if ref.kind == _BRANCH and ref.name != _MAIN]
    if not branches:
        return {}
    lost = {snapshot.snapshot_id for snapshot in table.rolled_back}

    def is_apart(each: Snapshot) -> bool:
        return each.snapshot_id not in table.chain_ids and each.snapshot_id not in lost

    found = {ref.name: tuple(takewhile(is_apart, table.ancestors(ref.snapshot_id))) for ref in branches}
    return {name: commits for name, commits in sorted(found.items()) if commits}


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
    """` Not of main, and not told here: 3 commits on branch audit (Flink run b92e04, rows +30, at …421007).`; empty
    without any."""
    if not branches:
        return ""
    told = "; ".join(_one(each) for each in branches[:_TOLD])
    more = f"; and {len(branches) - _TOLD} more branches" if len(branches) > _TOLD else ""
    return f" Not of main, and not told here: {told}{more}."


def _one(each: BesideMain) -> str:
    writers = [*(f"Flink run {short_job(run)}" for run in each.job_ids), *each.engines]
    rows = change(each.added_rows, each.removed_rows)
    by = " and ".join(writers)
    return (
        f"{counted(each.commits, 'commit')} on branch {each.branch} ({by}, rows {rows}, at {short(each.snapshot_id)})"
    )
