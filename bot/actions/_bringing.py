"""Which restore points bring rows that the table does not have yet, judged by what is seen now.

A finding that says so may be older than what another run has committed since: its rows would be read again.
"""

import re
from collections.abc import Iterator

from bot.actions._restore_points import RestorePoint
from bot.domain.diagnosis import Case
from bot.domain.end_of_main import EndOfMain
from bot.domain.evidence import Observation
from bot.domain.findings import PairVerdict
from bot.domain.flink import StoredCheckpoint
from bot.domain.guests import commits_that_bind
from bot.domain.ids import CheckpointId
from bot.domain.looked import NotSeen
from bot.domain.owed import owed_to
from bot.domain.own_points import points_told_apart
from bot.domain.pairing import owed_checkpoints
from bot.domain.table import Snapshot

_OWED = re.compile(r"(?P<job>[0-9a-f]{32})-(?P<operator>[0-9a-f]{32})-\d{5}-\d+-(?P<checkpoint>\d+)-")


def brought_by(case: Case) -> Iterator[RestorePoint]:
    """The durable points, newest first, that go on right above main's newest commit that binds, and whose owed Flink
    manifests are on storage. None where another run has that commit, or where main lost a later one of the same run:
    the state goes on from rows that main does not have. None where the manifests were not seen."""
    commits, world = commits_that_bind(case), case.observation
    if not commits or isinstance(world.flink_manifests, NotSeen):
        return
    end = EndOfMain(case)
    for stored, pair in points_told_apart(case):
        is_newer = pair.verdict is PairVerdict.AHEAD and pair.is_durable and stored.is_committer_read
        if not is_newer or stored.checkpoint_id is None or stored.digest is None:
            continue
        owed = owed_checkpoints(stored, world.table)
        if owed and end.is_of(stored.job_id) and _is_all_there(stored, commits[-1], world):
            yield RestorePoint(
                path=stored.path,
                checkpoint_id=stored.checkpoint_id,
                snapshot_id=commits[-1].snapshot_id,
                digest=stored.digest,
                owes=CheckpointId(max(owed)),
            )


def _is_all_there(stored: StoredCheckpoint, newest: Snapshot, world: Observation) -> bool:
    """At or below what main has of the run, the sink looks for none."""
    there = {each.path.rsplit("/", 1)[-1] for each in world.flink_manifests.values}
    for name in owed_to(world.table, stored):
        told = _OWED.match(name)
        if told is None or (name not in there and int(told["checkpoint"]) > (newest.checkpoint_id or 0)):
            return False
    return True
