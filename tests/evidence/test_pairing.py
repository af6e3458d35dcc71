"""A restore point pairs with a table state, or the reason why not is told."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import cast

import pytest
from pyspark.sql import SparkSession

from bot.history.restore import pairing, pairings
from bot.history.run_commits import RunCommits
from bot.observation.contract import TableContract
from bot.observation.evidence import Answer, Ask, Verdict
from bot.observation.findings import PairVerdict, RecoveryExtentFinding
from bot.observation.flink import CheckpointKind, JobRun, StoredCheckpoint
from bot.observation.ids import DRAINED, CheckpointId, OperatorId
from bot.observation.listed import Lazy
from bot.observation.looked import NotSeen, Seen
from bot.observation.table import Snapshot, TableState
from spark_tasks import checkpoint_pairing, recovery_extent
from tests.cases import Tale, job_id
from tests.evidence.conftest import Asks
from tests.evidence.histories import write
from tests.evidence.restore_points import V1D_STOPPED, committed, judged, recorded, stored
from tests.evidence.test_ledger import run_of
from tests.tables import OPERATOR, OrdersTable, job, unseen


def test_a_stop_savepoint_pairs_with_the_snapshot_of_its_id() -> None:
    """Stop-with-savepoint commits as its last act: a real V1 run's savepoint 8 pairs with its snapshot 8."""
    table = recorded("v1d")

    found = judged(stored(V1D_STOPPED, 8, owes=(8,)), table)

    assert found.verdict is PairVerdict.PAIRED
    assert found.snapshot_id == committed(table, V1D_STOPPED, 8)
    assert "is on main" in found.reason


A, B = job("a"), job("b")
CUT_OFF = "Its _metadata is cut off."
DRAINED_POINT = stored(A, 3, owes=(), problem="It was taken with drain: true.").model_copy(update={"is_drained": True})
POINTS: Mapping[str, tuple[str, StoredCheckpoint, PairVerdict, int | None, str]] = {
    "an intermediate savepoint: the V2 sink commits its id by itself once the job goes on": (
        "a3[0:10] a4[10:20] a5[20:30]", stored(A, 4, CheckpointKind.SAVEPOINT, owes=(4,)), PairVerdict.PAIRED, 1, "",
    ),
    "an empty checkpoint owes nothing": ("a3[0:10]", stored(A, 5, owes=()), PairVerdict.PAIRED, 0, ""),
    "unless its committer's state could not be read": (
        "a3[0:10]", stored(A, 5, owes=None), PairVerdict.AHEAD, None, "state could not be read",
    ),
    "a crash between checkpoint and commit mends itself": (
        "a4[0:10]", stored(A, 5, CheckpointKind.CHECKPOINT, owes=(5,)), PairVerdict.AHEAD, None,
        "commits it first, if its Flink manifests are still on storage",
    ),
    "the table can be moved to a rolled-back snapshot as long as it is listed": (
        "a3[0:10] a4[10:20] back0", stored(A, 4, owes=(4,)), PairVerdict.PAIRED, 1, "was rolled back",
    ),
    "when one checkpoint was committed twice, the second copy is the fault (F1)": (
        "a3[0:10] a3[0:10]", stored(A, 3, owes=(3,)), PairVerdict.PAIRED, 0,
        "2 commits on main carry this checkpoint",
    ),
    "nobody may be led to restore from a drained savepoint, even if a commit carries its id": (
        "a3[0:10]", DRAINED_POINT, PairVerdict.BEHIND, None, "drain: true",
    ),
    "a V1 run that was restored below its maximum has committed nothing under its own id yet (F3)": (
        "a9[0:10]", stored(B, 7, CheckpointKind.CHECKPOINT, owes=(5, 6, 7)), PairVerdict.UNPAIRABLE, None,
        "its committer still owes checkpoints 5 to 7.",
    ),
    "the same checkpoint id of another run is another state": (
        "a3[0:10]", stored(B, 3, owes=(3,)), PairVerdict.UNPAIRABLE, None, "",
    ),
    "a file that cannot be read": (
        "a3[0:10]", stored(None, None, problem=CUT_OFF), PairVerdict.UNREADABLE, None, CUT_OFF,
    ),
    "a point that names no run": ("a3[0:10]", stored(None, 3), PairVerdict.UNPAIRABLE, None, ""),
}  # fmt: skip


@pytest.mark.parametrize(("line", "point", "verdict", "partner", "why"), POINTS.values(), ids=POINTS)
def test_a_restore_point_pairs_or_the_reason_is_told(
    orders: OrdersTable, line: str, point: StoredCheckpoint, verdict: PairVerdict, partner: int | None, why: str
) -> None:
    """`partner` counts the commits of the line."""
    _, commits = write(orders, line)

    found = judged(point, orders.state())

    assert (found.verdict, found.snapshot_id) == (verdict, None if partner is None else commits[partner])
    assert why in found.reason


def test_under_a_job_id_that_never_changes_each_life_pairs_with_its_own_commit(orders: OrdersTable) -> None:
    """A start without state counts from 1 again (F14): two commits carry checkpoint 2, told apart by time."""
    for checkpoint in (1, 2, 5):
        orders.commits("a", checkpoint, range(10))
    first = committed(orders.state(), job("a"), 2)
    for checkpoint in (1, 2, 3):
        orders.commits("a", checkpoint, range(10))
    table = orders.state()
    second = next(s for s in reversed(table.snapshots) if s.checkpoint_id == 2)
    point = stored(job("a"), 2, owes=())

    old = judged(point.model_copy(update={"written_at": table.by_id[first].committed_at}), table)
    new = judged(point.model_copy(update={"written_at": second.committed_at}), table)

    assert (old.snapshot_id, new.snapshot_id) == (first, second.snapshot_id)
    assert "commits on main carry" not in new.reason


def test_an_empty_savepoint_belongs_to_the_commit_of_its_own_life() -> None:
    """Table and job are rewound to 3 under one job id (F14), and 4 and 5 are committed again with other rows: the first
    life's savepoint 6 goes on from the first 5, whatever main has of that number now."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).completes("a", 6)
    first, written_at = tale.head, tale.now
    tale.rolls_back_to("a", 3).flink_runs("a", restored=3).commits("a", 4, 5, rows=20)
    point = stored(job_id("a"), 6, CheckpointKind.SAVEPOINT, owes=())

    found = judged(point.model_copy(update={"written_at": written_at}), tale.table)

    assert (found.verdict, found.snapshot_id) == (PairVerdict.PAIRED, first)
    assert "was rolled back" in found.reason


def test_two_sinks_of_a_run_are_whole_after_the_later_commit(orders: OrdersTable) -> None:
    """A job that writes one table by two sinks commits a checkpoint twice, rightly."""
    other = OperatorId("f" * 32)
    orders.commits("a", 3, range(10))
    later = orders.commits("a", 3, range(10, 20), summary={"flink.operator-id": other})

    found = judged(stored(job("a"), 3, owes=(3,), operators=(OPERATOR, other)), orders.state())

    assert (found.verdict, found.snapshot_id) == (PairVerdict.PAIRED, later)
    assert "the last of 2, one for each sink" in found.reason


@pytest.mark.parametrize(
    ("kind", "jobs", "stays"),
    [
        (CheckpointKind.STOP_SAVEPOINT, Seen(source="Flink", values=(run_of("a"),)), True),
        (CheckpointKind.CHECKPOINT, Seen(source="Flink", values=(run_of("a"),)), False),
        (
            CheckpointKind.CHECKPOINT,
            Seen(source="Flink", values=(run_of("a").model_copy(update={"state": "CANCELED"}),)),
            True,
        ),
        (CheckpointKind.CHECKPOINT, unseen("Flink"), False),
    ],
)
def test_a_retained_checkpoint_lasts_only_when_its_run_has_ended(
    orders: OrdersTable, kind: CheckpointKind, jobs: Seen[JobRun] | NotSeen, stays: bool
) -> None:
    """Flink drops checkpoints of a running job while people decide; unknown is taken for running."""
    orders.commits("a", 3, range(10))

    assert pairing(stored(job("a"), 3, kind, owes=(3,)), orders.state(), jobs).is_durable is stays


def test_the_task_lists_every_restore_point_newest_first(orders: OrdersTable, judges: Asks) -> None:
    """`confirmed` means that at least one pairs; the finding keeps them all."""
    before, _ = write(orders, "a2[0:10] | a3[10:20]")
    points = [stored(job("a"), 3, owes=(3,), age=timedelta(minutes=5)), stored(job("b"), 9, owes=(9,))]

    answer = judges("checkpoint_pairing", orders.ask(before, checkpoints=points))

    assert answer.verdict is Verdict.CONFIRMED
    assert [p.checkpoint_id for p in answer.finding.pairings] == [9, 3]
    assert "Do not just take the newest" in answer.headline


def test_storage_that_could_not_be_listed_rules_nothing_out(orders: OrdersTable, judges: Asks) -> None:
    """Neither a folder that is down nor an unreadable file means that there is no restore point."""
    before = orders.commits("a", 2, range(10))
    broken = [stored(None, None, problem="Its _metadata is cut off.")]

    down = judges("checkpoint_pairing", orders.ask(before, checkpoints=unseen("the savepoint folder")))
    unreadable = judges("checkpoint_pairing", orders.ask(before, checkpoints=broken))
    empty = judges("checkpoint_pairing", orders.ask(before))

    assert [a.verdict for a in (down, unreadable, empty)] == [
        Verdict.INCONCLUSIVE,
        Verdict.INCONCLUSIVE,
        Verdict.RULED_OUT,
    ]


def test_an_intermediate_savepoint_of_the_v1_sink_is_behind() -> None:
    """Savepoint 4 was merged into checkpoint 5's commit, so no table state matches it."""
    found = judged(stored(V1D_STOPPED, 4, CheckpointKind.SAVEPOINT, owes=(4,)), recorded("v1d"))

    assert (found.verdict, found.snapshot_id) == (PairVerdict.BEHIND, None)
    assert "went on to commit checkpoint 5" in found.reason


def test_a_drained_run_has_no_partner() -> None:
    """After `drain: true` the last commit carries Long.MAX_VALUE, and a restored V1 job never commits."""
    table = recorded("v1f")
    found = judged(stored(table.snapshots[0].job_id, 3, owes=()), table)

    assert found.verdict is PairVerdict.BEHIND
    assert "drained" in found.reason


def test_a_checkpoint_that_no_commit_has_reached_is_ahead() -> None:
    """What it holds has not reached the table."""
    table = recorded("v1u")

    found = judged(stored(table.snapshots[0].job_id, 4, CheckpointKind.CHECKPOINT, owes=(4,)), table)

    assert found.verdict is PairVerdict.AHEAD
    assert "up to checkpoint 3" in found.reason


def test_commits_of_another_sink_of_the_run_do_not_count(orders: OrdersTable) -> None:
    """Where a restore point names its operator, another operator's commit with its id is no partner."""
    other = {"flink.operator-id": "f" * 32}
    mine = orders.commits("a", 2, range(10))
    orders.commits("a", 3, range(10), summary=other)

    found = judged(stored(job("a"), 3, owes=(3,), operators=(OPERATOR,)), orders.state())

    assert found.verdict is PairVerdict.AHEAD
    assert mine in orders.state().chain_ids


NO_SPARK = cast(SparkSession, None)
"""Nothing pairs, so no file is read."""


def owing(tale: Tale, checkpoint: int = 10) -> Ask:
    """Run a has left a retained checkpoint that owes its own files, which are on storage."""
    waits = tale.leaves_manifest("a", checkpoint).manifests[-1].path.rpartition("/")[2]
    point = stored(job_id("a"), checkpoint, CheckpointKind.CHECKPOINT, owes=())
    there = point.model_copy(update={"written_at": tale.now, "pending_manifests": (waits,)})
    case, seen = tale.case(), Seen[StoredCheckpoint](source="the checkpoint folder", values=(there,))
    observation = case.observation.model_copy(update={"checkpoints": seen})
    return Ask(observation=observation, window=case.window, contract=TableContract(key=("id",)))


def has_committed() -> Tale:
    """Run a commits 1 to 9, and fails."""
    return Tale().flink_runs("a").commits("a", *range(1, 10)).completes("a", 10).becomes("a", "FAILED")


def extent(ask: Ask) -> tuple[Answer, RecoveryExtentFinding]:
    answer = recovery_extent.answer(NO_SPARK, ask)
    assert isinstance(answer.finding, RecoveryExtentFinding)
    return answer, answer.finding


def pairing_says(ask: Ask) -> str:
    """The reason that `checkpoint_pairing` gives for the one point, which is ahead."""
    answer = checkpoint_pairing.answer(NO_SPARK, ask)
    [pair] = answer.finding.pairings
    assert pair.verdict is PairVerdict.AHEAD
    assert pair.reason == answer.rows[0][-1]
    return pair.reason


@pytest.mark.parametrize(
    ("to", "lost"),
    [(3, "6 of these commits, …004004 to …009009,"), (8, "1 of these commits, …009009,")],
    ids=["six", "one"],
)
def test_job_and_table_do_not_come_together_over_commits_that_main_has_lost(to: int, lost: str) -> None:
    """A start by hand would lose what lies between, and nobody would see it."""
    ask = owing(has_committed().rolls_back_to("a", to))

    answer, found = extent(ask)

    assert answer.verdict is Verdict.RULED_OUT
    [reach] = found.points
    assert not reach.brings_back
    assert f"main has lost {lost} which this state has behind it" in reach.cannot[0]
    assert "does not bring their rows again" in pairing_says(ask)
    assert "commits it first" not in pairing_says(ask)


def test_below_the_first_commit_of_the_run_they_are_lost_as_well() -> None:
    """Main ends with an older run's commit; no run has gone on since."""
    tale = Tale().flink_runs("z").commits("z", 1).becomes("z", "CANCELED")
    tale.flink_runs("a").commits("a", 7, 8, 9).becomes("a", "FAILED").rolls_back_to("z", 1)

    assert "main has lost 3 of these commits" in pairing_says(owing(tale))


def test_what_another_run_has_committed_since_would_come_twice() -> None:
    """Also where that run has read again what main had lost: then nothing is missing, and all of it would be double."""
    tale = has_committed().rolls_back_to("a", 3).flink_runs("b", restored=3).commits("b", 4, 5).becomes("b", "FAILED")
    ask = owing(tale)

    answer, found = extent(ask)

    assert answer.verdict is Verdict.RULED_OUT
    assert "run bbbbbb has gone on since: …011011, its checkpoint 5, is on main" in found.points[0].cannot[0]
    assert "a second time" in pairing_says(ask)


def test_a_run_that_has_counted_anew_under_its_id_tells_nothing() -> None:
    """Its newest commit on main does not carry the highest id that is listed (F14)."""
    tale = has_committed().rolls_back_to("a", 3).commits("a", 4, 5)

    assert "not its newest on main" in pairing_says(owing(tale, 12))


def test_right_above_the_end_of_main_they_do() -> None:
    """Nothing was lost and nobody has gone on: the sink commits first what the state owes."""
    ask = owing(has_committed())

    answer, found = extent(ask)

    assert (answer.verdict, found.points[0].cannot) == (Verdict.CONFIRMED, ())
    assert "commits it first" in pairing_says(ask)


def chk(checkpoint: int, written_at: datetime) -> StoredCheckpoint:
    """Where Flink itself keeps that checkpoint of run a."""
    path = f"s3://lake/checkpoints/{job_id('a')}/chk-{checkpoint}"
    return stored(job_id("a"), checkpoint, owes=()).model_copy(update={"path": path, "written_at": written_at})


def rewound() -> Tale:
    """Run a committed checkpoints 1 to 10, went back to 5 with the table, and came to 8."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).rolls_back_to("a", 5)
    return tale.commits("a", 6, 7, 8).becomes("a", "FAILED")


@pytest.mark.parametrize("ahead", [0, 3])
def test_a_storage_clock_some_seconds_ahead_hides_no_checkpoint_of_the_present_start(ahead: int) -> None:
    """Checkpoint 8 is the newest commit; the start before had an 8, too."""
    tale = rewound()

    told = judged(chk(8, tale.now + timedelta(seconds=ahead)), tale.table, *tale.runs.values())

    assert (told.verdict, told.snapshot_id) == (PairVerdict.PAIRED, tale.head)


def test_a_checkpoint_that_is_not_committed_yet_is_of_the_present_start() -> None:
    """The start before committed a 9, long ago: Flink has written over what was there."""
    tale = rewound()
    nine = chk(9, tale.now + timedelta(seconds=30)).model_copy(
        update={"pending_manifests": (f"{job_id('a')}-{'0f' * 16}-00000-0-9-00001.avro",)}
    )

    assert judged(nine, tale.table, *tale.runs.values()).verdict is PairVerdict.AHEAD


def test_an_older_starts_checkpoint_that_was_put_back_is_not_taken_for_the_present_starts() -> None:
    """Checkpoint 10 came from a backup: the start before had reached it, and the present one stands at 8."""
    tale = rewound()

    told = judged(chk(10, tale.now + timedelta(minutes=30)), tale.table, *tale.runs.values())

    assert told.verdict is PairVerdict.UNPAIRABLE


NOBODY = Seen(source="Flink", values=())


class Counted(Lazy[Snapshot]):
    """Counts how often a snapshot is looked at."""

    def __init__(self, snapshots: tuple[Snapshot, ...]) -> None:
        self._snapshots = snapshots
        self.looks = 0

    def __len__(self) -> int:
        return len(self._snapshots)

    def __iter__(self) -> Iterator[Snapshot]:
        return map(self._at, range(len(self)))

    def _at(self, place: int) -> Snapshot:
        self.looks += 1
        return self._snapshots[place]


def table_of(*checkpoints: int) -> tuple[TableState, Counted]:
    """One commit of run a for each checkpoint id, and what counts the looks at them."""
    table = Tale().flink_runs("a").commits("a", *checkpoints).table
    counted = Counted(tuple(table.snapshots))
    fields = {name: getattr(table, name) for name in TableState.model_fields}
    return TableState.model_validate(fields | {"snapshots": counted}), counted


def points(*checkpoints: int) -> list[StoredCheckpoint]:
    """Restore points of run a that owe nothing."""
    return [stored(job_id("a"), each, owes=()) for each in checkpoints]


@pytest.mark.parametrize("many", [1, 40])
def test_the_snapshots_are_read_as_often_for_many_points_as_for_one(many: int) -> None:
    """A table of 10,000 commits with 100 checkpoints took a million looks."""
    table, counted = table_of(*range(1, 31))
    assert table.chain_ids
    counted.looks = 0

    found = pairings(points(*range(1, many + 1)), table, NOBODY)

    assert [each.verdict for each in found] == [PairVerdict.PAIRED] * many
    assert counted.looks == 30


def test_many_at_once_are_judged_as_each_alone() -> None:
    """Exact ids, gaps, ids above and below, ids that begin again, and a drained end."""
    for checkpoints in ((2, 3, 6), (5, 6, 1, 2, 3), (1, 2, int(DRAINED))):
        table, _ = table_of(*checkpoints)
        asked = [*points(*range(1, 9)), stored(job_id("b"), 3, owes=()), stored(job_id("a"), 4)]

        together = {each.path + str(each.job_id): each for each in pairings(asked[:9], table, NOBODY)}

        assert together == {each.path + str(each.job_id): pairing(each, table, NOBODY) for each in asked[:9]}


@pytest.mark.parametrize(
    ("asked", "below", "above"), [(1, None, 3), (3, None, 6), (4, 3, 6), (6, 3, None), (9, 6, None)]
)
def test_the_neighbours_of_a_checkpoint_are_the_nearest_ids(asked: int, below: int | None, above: int | None) -> None:
    """A drained job's last id is no neighbour."""
    table, _ = table_of(3, 6, int(DRAINED))
    commits = RunCommits(tuple(table.snapshots))

    assert commits.is_drained
    assert (commits.below(CheckpointId(asked)), commits.above(CheckpointId(asked))) == (below, above)
