"""What the Flink manifests of a history mean, by the rule of the evidence task, as the bot finds them.

The only module of the histories that asks the product.
"""

from collections.abc import Mapping

from bot.history.uncommitted import runs_of, standing
from bot.observation.evidence import Ask
from bot.observation.findings import LeakedManifest, LeakedManifestsFinding, LeakStanding
from bot.observation.ids import JobId
from spark_tasks._support.storage import is_overdue
from spark_tasks.leaked_manifests import first_commits
from tests.diagnosis.histories.looked import LeftBehind
from tests.diagnosis.histories.sink import Written
from tests.diagnosis.histories.source import offset_of


def judged(left: LeftBehind) -> LeakedManifestsFinding:
    """Each manifest with its rows and positions, as the files that it lists tell them, and what the task says of it."""
    ask = Ask(observation=left.case.observation, window=left.window, contract=left.case.contract)
    first = _first_positions(left, ask)
    told = tuple(_told(left, written, ask, first) for written in left.manifests)
    lost = [leak for leak in told if leak.standing in {LeakStanding.DROPPED, LeakStanding.LOST_STATE}]
    return LeakedManifestsFinding(
        manifests=told, lost_files=len(lost), lost_rows=sum(leak.rows or 0 for leak in lost), lost_deletes=0
    )


def _first_positions(left: LeftBehind, ask: Ask) -> Mapping[JobId, int]:
    """Run -> the lowest position that it brought first, of runs that began with nothing."""
    world = ask.observation
    if ask.contract.position is None or ask.contract.position_partition is not None:
        return {}
    found = dict[JobId, int]()
    for run in runs_of(world):
        lows = [min(left.holds[s.snapshot_id], default=None) for s in first_commits(run, world)]
        known = [low for low in lows if low is not None]
        if known and len(known) == len(lows):
            found[run.job_id] = min(known)
    return found


def _told(left: LeftBehind, written: Written, ask: Ask, first: Mapping[JobId, int]) -> LeakedManifest:
    listed = written.listed()
    where, why = standing(listed, ask.observation)
    if where is LeakStanding.UNTOLD:
        behind = frozenset(job for job, position in first.items() if position > max(written.rows))
        where, why = standing(listed, ask.observation, behind)
    is_late = where is LeakStanding.PENDING and is_overdue(listed, ask)
    return _listed(left, written, where, why).model_copy(update={"is_overdue": is_late})


def _listed(left: LeftBehind, written: Written, where: LeakStanding, why: str) -> LeakedManifest:
    listed, has_positions = written.listed(), left.case.contract.position is not None
    return LeakedManifest(
        path=listed.path,
        job_id=listed.job_id,
        operator_id=listed.operator_id,
        checkpoint_id=listed.checkpoint_id,
        attempt=listed.attempt,
        standing=where,
        files=1,
        rows=len(written.rows),
        deletes=0,
        missing_files=0,
        position_from=min(map(offset_of, written.rows)) if has_positions else None,
        position_until=max(map(offset_of, written.rows)) if has_positions else None,
        ranges=left.ranges_of(written) if has_positions else None,
        reason=why,
    )
