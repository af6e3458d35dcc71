"""From where the job goes on when the publication of a repair is undone over a state that is not proven to pair."""

from bot.actions._binding import knowing
from bot.actions._idle import lists_none_of
from bot.actions._rehearsed import may_yet_be_found, newest_by_flink, spared, stays_down
from bot.actions._restore_points import RestorePoint, goes_on_from
from bot.domain.action import Plan, StoodStill
from bot.domain.diagnosis import Case
from bot.domain.ids import SnapshotId, short_job


def goes_on_before(plan: Plan, stood: StoodStill, to: SnapshotId, unproven: str) -> tuple[RestorePoint | None, str]:
    """(the newest durable point, of whatever run, from which the job goes on with main at `to` and that doubles no
    other table of it, why none is started, empty where one is). `unproven`: what was found of the state that the
    rehearsal's stop left. People are sent to that by hand only where storage does not show it now."""
    seen = plan.case.observation
    there = seen.table.as_of(to, seen.table.head_moves)
    case = plan.case.model_copy(update={"observation": seen.model_copy(update={"table": there})})
    case = knowing(case, stood.run)
    point, barred = spared(plan, (goes_on_from(case),))
    if point is not None:
        return point.model_copy(update={"is_right": False}), ""
    if may_yet_be_found(case, stood.run, stood.savepoint, stood.stands_on):
        return None, _by_hand(case, stood, unproven)
    return None, " ".join(barred or stays_down(case))


def _by_hand(case: Case, stood: StoodStill, unproven: str) -> str:
    """What a run left that had committed nothing was proven to pair before its stop: no evidence tells that."""
    run = short_job(stood.run)
    first = f"{stood.savepoint}, which the stop of run {run} took" if stood.savepoint else None
    pairs = "" if lists_none_of(stood.run, case.observation.table) else " and it pairs"
    return (
        f"Start no run. {unproven} Start the job by hand once main is back: from "
        + (f"{first}, if storage gives it again{pairs}; else from " if first else "")
        + f"a restore point that pairs with {newest_by_flink(case)} (`/waterline run checkpoint_pairing` lists them). "
        "From any other it would lose or repeat rows."
    )
