"""What storage and Flink show now of restore points that evidence does not know yet: no action starts from such a one
before the evidence is collected again, so a refusal says so."""

from collections.abc import Collection

from bot.domain.diagnosis import Case
from bot.domain.findings import Pairing, PairVerdict
from bot.domain.ids import SnapshotId
from bot.domain.own_points import pairings_of, points_told_apart

LOOK_AGAIN = "collect that evidence again (`/waterline run checkpoint_pairing`), and propose this again"


def found_since(case: Case, snapshots: Collection[SnapshotId]) -> str | None:
    """That a lasting restore point pairs with one of these by what is shown now and not by the evidence, and what to
    do, a sentence; None where there is none."""
    known = {each.path for each in pairings_of(case) if _fits(each, snapshots)}
    shown = (each for _, each in points_told_apart(case) if each.is_durable and _fits(each, snapshots))
    new = next((each for each in shown if each.path not in known), None)
    if new is None:
        return None
    return f"Storage shows {new.path} by now, which pairs and which “checkpoint_pairing” does not know: {LOOK_AGAIN}."


def is_alive(case: Case, each: Pairing) -> bool:
    """Whether its run is not at its end by what Flink shows now, or may not be as it was not shown."""
    jobs, others = case.observation.jobs, case.observation.others
    shown = [run for run in (*jobs.values, *(others.values if others is not None else ())) if run.job_id == each.job_id]
    if shown:
        return any(not run.is_terminal for run in shown)
    return jobs.state == "not-seen" or (others is not None and others.state == "not-seen")


def _fits(each: Pairing, snapshots: Collection[SnapshotId]) -> bool:
    return each.verdict is PairVerdict.PAIRED and each.snapshot_id in snapshots
