"""Whether main was begun anew over commits that have expired since, as a `REPLACE TABLE` under the job leaves it then.

Seen with Iceberg 1.12 (Spark 4.1, JDBC and Hadoop catalogs) and PyIceberg 0.12: the first commit after `CREATE OR
REPLACE TABLE`, or the one of `… AS SELECT`, has no parent, totals that count from zero, and the next sequence number of
all. `expire_snapshots` takes what is older out of the list and out of the log, and such a table then looks like a young
one but for that number. A commit that fails takes no number, a new table begins with 1, and Iceberg's expiry leaves the
parent's id where the parent is gone; PyIceberg's takes it away, which the totals still tell (`has_commit_below`).
Snapshots of a branch, or staged ones, that were made before main had its first leave it the same way: nobody can tell
them from main's own. Format v1 counts no snapshots, and nothing is told there.
"""

from bot.diagnosis._case import has_first_position, in_window, run_of
from bot.domain.beginnings import FROM_NOTHING, began_from
from bot.domain.diagnosis import Case
from bot.domain.gone_commits import gone_before
from bot.domain.guests import commits_of_job
from bot.domain.ids import short
from bot.domain.sentences import counted
from bot.domain.table import Snapshot


def may_be_replaced_and_expired(case: Case) -> str | None:
    """What is missing to know that the job had no rows on main before its first listed commit; None: nothing is."""
    table = case.observation.table
    root = table.chain[-1] if table.chain else None
    if root is None or root.has_commit_below or root not in in_window(case):
        return None
    gone = gone_before(root, table)
    if gone <= 0 or has_first_position(case) or not _may_go_on(case, root):
        return None
    are = "is" if gone == 1 else "are"
    return (
        f"whether main had rows of the job before {short(root.snapshot_id)}, with which it begins anew, without a "
        f"parent: by the sequence numbers, {counted(gone, 'older snapshot')} {are} listed no more. The table may have "
        "been replaced under its job, and what it lost so has expired. Look who has replaced it, and whether its rows "
        f"were put back; of what came since, ask with a window that begins after {short(root.snapshot_id)}"
    )


def _may_go_on(case: Case, root: Snapshot) -> bool:
    """Whether the job may have committed before `root`: not where the first of its runs on main began without state
    afterwards, by the id of its first commit or by Flink. What was there before is none of such a run's."""
    first = next(iter(commits_of_job(case)), None)
    if first is None:
        return True
    run = run_of(case, first.job_id)
    is_new = run is not None and began_from(run, first.committed_at) == FROM_NOTHING
    began_after = run is not None and is_new and run.started_at >= root.committed_at
    return first.checkpoint_id != FROM_NOTHING + 1 and not began_after
