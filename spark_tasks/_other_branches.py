"""Commits that stand on a branch beside main, as a job with `toBranch` or an audit branch makes them; pure."""

from itertools import takewhile

from bot.domain.sentences import counted
from bot.domain.table import Snapshot, TableState

_BRANCH, _MAIN = "branch", "main"


def beside_main(table: TableState) -> dict[str, int]:
    """Branch -> how many commits it has above main, of those that main never had; branches without any are left out."""
    branches = [ref for ref in table.refs if ref.kind == _BRANCH and ref.name != _MAIN]
    if not branches:
        return {}
    lost = {snapshot.snapshot_id for snapshot in table.rolled_back}

    def is_apart(each: Snapshot) -> bool:
        return each.snapshot_id not in table.chain_ids and each.snapshot_id not in lost

    counts = {ref.name: sum(1 for _ in takewhile(is_apart, table.ancestors(ref.snapshot_id))) for ref in branches}
    return {name: count for name, count in sorted(counts.items()) if count}


def in_words(branches: dict[str, int]) -> str:
    """` Not of main, and not told here: 3 commits on branch audit.`; empty without any."""
    if not branches:
        return ""
    each = "; ".join(f"{counted(count, 'commit')} on branch {name}" for name, count in branches.items())
    return f" Not of main, and not told here: {each}."
