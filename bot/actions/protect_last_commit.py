"""Protect the last commits: a run can only be restored while the table lists the newest snapshot that it wrote.

Expiry does not know that (facts F8). A tag keeps the snapshot, whatever the table's retention says.
"""

from bot.actions._support.draft import drafted
from bot.incident.action import Action, Plan
from bot.incident.effects import MarkTable
from bot.incident.proposal import Proposal, SnapshotPresent
from bot.observation.errors import Refused
from bot.observation.ids import short, short_job
from bot.observation.sentences import counted
from bot.observation.table import Snapshot, TableState

ACTION = Action(
    name="protect_last_commit",
    title="Protect the last commits",
    promise="Maintenance cannot expire the snapshots that a restore of the job needs.",
    needs=("table_health",),
    proofs=(),
    on_request=True,
    moves_waterline="no",
)


def propose(plan: Plan) -> Proposal:
    """One tag for the newest snapshot on main of each run that has none yet. Raises Refused when there is nothing to
    tag."""
    table = plan.case.observation.table
    tags = {_tag(s): s.snapshot_id for s in newest_of_each_run(table) if table.ref(_tag(s)) != s.snapshot_id}
    if not tags:
        raise Refused(
            "There is nothing to protect.",
            "Expected a run whose newest snapshot on main has no tag of its own; all have one, or none is listed.",
            "If the run continues, wait for its next commit, then propose again.",
        )
    return drafted(
        plan,
        ACTION,
        title=f"{ACTION.title}: {counted(len(tags), 'tag')}",
        effects=(MarkTable(table=table.name, why="Tag the last commits", new_tags=tags),),
        requirements=(SnapshotPresent(snapshot_id=s) for s in dict.fromkeys(tags.values())),
        sentences=(
            *(f"Tag {short(snapshot)} as {tag}." for tag, snapshot in tags.items()),
            "Neither main nor the job is changed. A snapshot with a tag is kept, with its files, until somebody "
            "removes the tag.",
        ),
        sure=f"{', '.join(tags)} protect their snapshots from expiry.",
        undo="`/waterline undo` removes the tags. The table's own retention then applies again.",
    )


def newest_of_each_run(table: TableState) -> tuple[Snapshot, ...]:
    """The newest snapshot on main of each run and operator, newest first."""
    found: dict[tuple[str | None, str | None], Snapshot] = {}
    for snapshot in table.chain:
        if snapshot.job_id and snapshot.checkpoint_id is not None:
            found.setdefault((snapshot.job_id, snapshot.operator_id), snapshot)
    return tuple(found.values())


def _tag(snapshot: Snapshot) -> str:
    return f"last-{short_job(snapshot.job_id)}-{short_job(snapshot.operator_id)}-{snapshot.checkpoint_id}"
