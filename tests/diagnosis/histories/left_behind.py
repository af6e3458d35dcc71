"""What the Flink manifests that a history left on storage mean, by the rule of the evidence task itself."""

from collections.abc import Mapping

from bot.domain.diagnosis import Case
from bot.domain.evidence import Ask
from bot.domain.findings import LeakedManifest, LeakedManifestsFinding, LeakStanding
from bot.domain.ids import JobId
from bot.domain.table import Window
from spark_tasks._restarts import runs_of
from spark_tasks._standing import standing
from spark_tasks._storage import is_overdue
from spark_tasks.leaked_manifests import first_commits
from tests.diagnosis.histories.history import History
from tests.diagnosis.histories.sink import Written


def left_behind(history: History, case: Case, window: Window) -> LeakedManifestsFinding:
    """Each manifest with its rows and positions, as the files that it lists tell them."""
    ask = Ask(observation=case.observation, window=window, contract=case.contract)
    first = _first_positions(history, ask)
    told = tuple(_told(written, ask, first) for written in history.sink.manifests.values())
    lost = [leak for leak in told if leak.standing in {LeakStanding.DROPPED, LeakStanding.LOST_STATE}]
    return LeakedManifestsFinding(
        manifests=told, lost_files=len(lost), lost_rows=sum(leak.rows or 0 for leak in lost), lost_deletes=0
    )


def _first_positions(history: History, ask: Ask) -> Mapping[JobId, int]:
    """Run -> the lowest position that it brought first, of runs that began with nothing."""
    world = ask.observation
    found = dict[JobId, int]()
    for run in runs_of(world):
        lows = [min(history.table.holds[s.snapshot_id], default=None) for s in first_commits(run, world)]
        known = [low for low in lows if low is not None]
        if known and len(known) == len(lows):
            found[run.job_id] = min(known)
    return found


def _told(written: Written, ask: Ask, first: Mapping[JobId, int]) -> LeakedManifest:
    listed = written.listed()
    where, why = standing(listed, ask.observation)
    if where is LeakStanding.UNTOLD:
        behind = frozenset(job for job, position in first.items() if position > max(written.rows))
        where, why = standing(listed, ask.observation, behind)
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
        position_from=min(written.rows),
        position_until=max(written.rows),
        is_overdue=where is LeakStanding.PENDING and is_overdue(listed, ask),
        reason=why,
    )
