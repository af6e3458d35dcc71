"""Cases of a table with a long history: a window of thirty commits, below it commits of earlier runs in any number.

What happens in the window is played in the little world. The snapshots are packed as those of a metadata file are.
"""

from collections.abc import Callable, Mapping
from functools import cache

from bot.adapters.iceberg.packing import Packing
from bot.history.case import Case
from bot.observation.ids import JobId, SnapshotId
from bot.observation.table import HeadMoves, TableState
from tests.cases import OPERATOR, job_id
from tests.diagnosis.little_evidence import case_of, look
from tests.diagnosis.little_world import World
from tests.tables import with_fields

RUNS_BELOW = 8
_TOP = 1_000_000
"""The checkpoint from which the window's run goes on."""
_PAUSE_MS = 30_000


def _reads(world: World, times: int) -> None:
    for _ in range(times):
        world.reads(10)


def _rewinds(world: World) -> None:
    """The job goes back and main does not."""
    world.restarts(world.points[-4])


def _rolls_back(world: World) -> None:
    """Main goes back and the job does not."""
    world.rolls_back_to(world.chain()[-4].snapshot_id)


def _forks(world: World) -> None:
    """The run before goes on committing beside the new one."""
    before = world.run
    world.restarts(world.points[-1])
    world.reads(10)
    world.tale.becomes(before, "RUNNING")
    after, world.run = world.run, before
    world.reads(10)
    world.run = after


HAPPENS: Mapping[str, Callable[[World], None]] = {
    "nothing": lambda _world: None,
    "a restart": lambda world: world.restarts(world.points[-1]),
    "a rewind of the job": _rewinds,
    "a rollback of main": _rolls_back,
    "two runs at once": _forks,
}
"""What happens in the middle of the window."""


@cache
def _case(what: str) -> Case:
    world = World()
    world.checkpoint = _TOP
    _reads(world, 8)
    since = world.tale.head
    _reads(world, 15)
    HAPPENS[what](world)
    _reads(world, 15)
    return case_of(world, look(world, since))


def long_case(what: str, commits: int) -> Case:
    """The case with so many commits below those that were played."""
    return above(_case(what), commits)


def above(case: Case, commits: int, *, last_run: str = "a", top: int = _TOP, first_id: int = 1_000_000_000) -> Case:
    """The case with so many commits below its table's first one, the newest of `last_run`, up to checkpoint `top`."""
    table = lengthened(case.observation.table, commits, job_id(last_run), top, first_id)
    return case.model_copy(update={"observation": case.observation.model_copy(update={"table": table})})


def lengthened(table: TableState, commits: int, last_run: JobId, top: int, first_id: int) -> TableState:
    """The same table with commits of `RUNS_BELOW` runs below its first one, half a minute apart, at rising ids."""
    packing, moves = Packing(), []
    runs = [*(job_id(f"{number:x}9") for number in range(RUNS_BELOW - 1)), last_run]
    began = round(table.snapshots[0].committed_at.timestamp() * 1000) - (commits + 1) * _PAUSE_MS
    for place in range(commits):
        moves.append((began + place * _PAUSE_MS, first_id + place))
        packing.add(
            snapshot_id=moves[-1][1],
            parent_id=moves[-2][1] if place else None,
            sequence_number=place + 1,
            moment=moves[-1][0],
            schema_id=0,
            manifest_list=f"s3://lake/snap-below-{place}.avro",
            summary={
                "operation": "append",
                "added-records": "10",
                "added-data-files": "1",
                "total-records": str(10 * place + 10),
                "flink.job-id": runs[place * RUNS_BELOW // commits],
                "flink.operator-id": OPERATOR,
                "flink.max-committed-checkpoint-id": str(top - commits + place),
            },
        )
    for each in table.snapshots:
        packing.add(
            snapshot_id=each.snapshot_id,
            parent_id=each.parent_id if each.parent_id in table.by_id else moves[-1][1],
            sequence_number=each.sequence_number + commits,
            moment=round(each.committed_at.timestamp() * 1000),
            schema_id=each.schema_id,
            manifest_list=each.manifest_list,
            summary={"operation": each.operation, **each.summary},
        )
    moves += [(round(move.at.timestamp() * 1000), SnapshotId(move.snapshot_id)) for move in table.head_moves]
    newest = table.last_sequence_number
    return with_fields(
        table,
        snapshots=packing.packed(),
        head_moves=HeadMoves(moves),
        last_sequence_number=None if newest is None else newest + commits,
    )
