"""Restore points beside main as it was before snapshots of it were expired."""

from bot.domain.action import Plan
from bot.domain.diagnosis import Case
from bot.domain.findings import PairingFinding
from bot.domain.pairing import pairings
from bot.domain.rewinds import flink_commits


def remembered(plan: Plan) -> Case:
    """The case with what main no longer lists put back below it, and every restore point paired with that.

    The case as it is where main lists a commit by Flink, or where no older metadata file tells of one: what was expired
    below a listed commit decides nothing. Raises CouldNotLook.
    """
    case, observed = plan.case, plan.case.observation
    expired = () if flink_commits(observed.table) else plan.expired(observed.table)
    if not expired:
        return case
    table = observed.table.below(expired)
    told = pairings(observed.checkpoints.values, table, observed.jobs)
    return case.model_copy(
        update={
            "observation": observed.model_copy(update={"table": table}),
            "pairing": PairingFinding(pairings=told),
        }
    )
