"""Which came first by clocks that differ; which snapshot pairs with which restore point."""

import json
import random
from collections.abc import Iterable
from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest

from bot.adapters.iceberg import packing
from bot.adapters.iceberg.streaming_metadata import read_split
from bot.diagnosis import commit_not_made_yet, commits_withheld, healthy, rolled_back_while_running
from bot.diagnosis import no_snapshot_advanced as mode
from bot.diagnosis._support.restoring import newer_than_head, restore_in_words
from bot.history.case import Case
from bot.history.ranking import where_files_wait
from bot.history.restore import Restores
from bot.incident.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.incident.review import _wrong_rows
from bot.observation.findings import PairingFinding
from bot.observation.flink import CheckpointKind, StoredCheckpoint
from bot.observation.ids import DRAINED, SnapshotId
from bot.observation.looked import Seen
from bot.observation.table import HeadMove
from tests.cases import Tale, job_id
from tests.diagnosis.answers import LastGood, Unsaid, WrongRun, answer_table, check
from tests.evidence.restore_points import stored


def owed(case: Case) -> list[str]:
    """From which points the sink would commit first what they owe."""
    return [each.path for each in where_files_wait(case).points]


def failed_over(*, commit_s: float, triggered_s: float | None = None, commits_on: bool = False) -> Tale:
    """`a` has 1 to 3 on main and was restored from 3. Its commit of 4 bears a time that lies so many seconds after the
    restore (below zero: before); Flink triggered 4 so long after it, or does not list it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).flink_runs("a", restored=3)
    restored = tale.runs["a"].restored
    tale.commits("a", 4)
    stamped = tale.snapshots[-1].model_copy(update={"committed_at": restored.at + timedelta(seconds=commit_s)})
    tale.snapshots[-1] = stamped
    if triggered_s is not None:
        tale.completes("a", 4)
        done = tale.runs["a"].checkpoints[0]
        at = restored.at + timedelta(seconds=triggered_s)
        run = tale.runs["a"].model_copy(update={"checkpoints": (done.model_copy(update={"triggered_at": at}),)})
        tale.runs["a"] = run
    return tale.commits("a", 5) if commits_on else tale


def in_format_v1(tale: Tale) -> Tale:
    """The same history as a table of that format tells it."""
    source = random.Random(3)  # noqa: S311 - ids of snapshots are no secret
    ids = {s.snapshot_id: SnapshotId(source.getrandbits(62)) for s in tale.snapshots}
    tale.snapshots = [
        s.model_copy(
            update={
                "snapshot_id": ids[s.snapshot_id],
                "parent_id": ids[s.parent_id] if s.parent_id else None,
                "sequence_number": 0,
            }
        )
        for s in tale.snapshots
    ]
    tale.moves = [HeadMove(at=move.at, snapshot_id=ids[move.snapshot_id]) for move in tale.moves]
    tale.head = ids[tale.head] if tale.head else None
    tale.numbers_snapshots = False
    return tale


def rolled_back() -> Tale:
    """Checkpoints 4 to 8 left main under the running job."""
    return in_format_v1(Tale().flink_runs("a").commits("a", *range(1, 9)).rolls_back_to("a", 3))


def test_wrong_is_what_came_after_the_last_good_commit() -> None:
    """Of the commits that a diagnosis shows, by the time of their rows in the ledger."""
    tale = in_format_v1(Tale().flink_runs("a").commits("a", *range(1, 9)).rolls_back_to("a", 3).commits("a", 9))
    found = rolled_back_while_running.examine(tale.looked_at(missing=50))
    assert isinstance(found, Matches)
    ledger = tale.looked_at().ledger
    shown = found.model_copy(update={"rows": tuple(row.snapshot_id for row in ledger.rows), "wrong_run": job_id("a")})

    wrong = _wrong_rows(ledger.rows, shown)

    assert [4, 5, 6, 7, 8, 9] == [row.checkpoint_id for row in wrong]


@pytest.mark.parametrize("kept_packed", [True, False])
def test_no_commit_stands_before_its_parent(kept_packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clocks of two writers differ, and only the line of parents tells."""
    tale = rolled_back()
    at = [s.committed_at for s in tale.snapshots]
    at[4], at[5] = at[4], at[3] - timedelta(seconds=5)
    told = [
        {
            "snapshot-id": s.snapshot_id,
            "parent-snapshot-id": s.parent_id,
            "timestamp-ms": round(moment.timestamp() * 1000),
            "manifest-list": s.manifest_list,
            "summary": {"operation": "append"},
        }
        for s, moment in zip(tale.snapshots, at, strict=True)
    ]
    monkeypatch.setattr(packing, "PACKED_FROM", 0 if kept_packed else 1_000)

    _, history = read_split(BytesIO(json.dumps({"snapshots": told, "snapshot-log": []}).encode()).read)

    assert [s.snapshot_id for s in tale.snapshots] == [s.snapshot_id for s in history.snapshots]


def kept(tale: Tale, run: str, checkpoint: int, *, owes: bool = True) -> StoredCheckpoint:
    """A savepoint that the run writes now, with files of its own that wait for their commit, or none."""
    point = stored(job_id(run), checkpoint, owes=())
    pending = (tale.leaves_manifest(run, checkpoint).manifests[-1].path,) if owes else ()
    where = {"path": f"s3://state/savepoint-{run}-{checkpoint}", "written_at": tale.now}
    return point.model_copy(update={**where, "pending_manifests": tuple(map(name_of, pending))})


def name_of(path: str) -> str:
    """How the committer's state lists a Flink manifest."""
    return path.rpartition("/")[2]


def with_points(tale: Tale, points: Iterable[StoredCheckpoint]) -> Case:
    """The case in which storage shows these, and evidence has found what they pair with."""
    case = tale.looked_at()
    seen = Seen[StoredCheckpoint](source="the folder of savepoints", values=tuple(points))
    there = case.model_copy(update={"observation": case.observation.model_copy(update={"checkpoints": seen})})
    pairing = PairingFinding(pairings=tuple(pair for _, pair in Restores(there).shown))
    return there.model_copy(update={"pairing": pairing})


def superseded() -> tuple[Tale, list[StoredCheckpoint]]:
    """Run a leaves savepoints 5 and 6 and is cancelled; run b goes on from 5 and fails without a point of its own."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).completes("a", 5)
    points = [kept(tale, "a", 5, owes=False), kept(tale, "a", 6)]
    tale.becomes("a", "CANCELED").flink_runs("b", restored=5).commits("b", 6, 7, 8).becomes("b", "FAILED")
    return tale, points


def restore_points_rolled_back(*, to: int) -> tuple[Tale, list[StoredCheckpoint]]:
    """Run a has committed 1 to 5, still owes 6, and fails; main is set back, and what it lost is listed still."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).completes("a", 6)
    points = [kept(tale, "a", 6)]
    tale.becomes("a", "FAILED")
    return (tale.rolls_back_to("a", to) if to < 5 else tale), points


@pytest.mark.parametrize(
    ("tale", "points"), [superseded(), restore_points_rolled_back(to=3)], ids=["superseded", "main lost commits"]
)
def test_words_of_the_remedy_do_not_count_on_it(tale: Tale, points: list[StoredCheckpoint]) -> None:
    """Nobody is sent to the newest restore point where it does not go on from main's end."""
    case = with_points(tale, points)

    words = restore_in_words(case)

    assert () == newer_than_head(case)
    assert words is not None
    assert "find a restore point elsewhere" in words


CHECKPOINT_3 = f"s3://state/{job_id('a')}/chk-3"
SAVEPOINT = f"s3://state/savepoint-{job_id('a')[:6]}-0123456789ab"


def taken_over(
    path: str | None, *, listed: str | None = None, kind: CheckpointKind = CheckpointKind.CHECKPOINT
) -> Tale:
    """Run a completes and commits 1 to 3 at one pace, its 3 at the path `listed`; run b goes on from `path`, silent."""
    tale = Tale().flink_runs("a").completes("a", 1).commits("a", 1).completes("a", 2).commits("a", 2).completes("a", 3)
    newest, *older = tale.runs["a"].checkpoints
    told = newest.model_copy(update={"path": listed, "kind": kind})
    tale.shows("a", checkpoints=(told, *older))
    return restored(tale.commits("a", 3).becomes("a", "CANCELED"), path)


def restored(tale: Tale, path: str | None) -> Tale:
    """Run b goes on from run a's 3."""
    tale.flink_runs("b", restored=3)
    point = tale.runs["b"].restored
    return tale.shows("b", restored=point.model_copy(update={"path": path}))


def drained_and_rolled_back(*, is_listed: bool) -> Tale:
    """Run a commits 1 and 2 and is drained; Flink lists its checkpoint 1 still, or has forgotten the run. Main goes
    back to 1, and run b goes on from a 1 whose path is not told."""
    tale = Tale().flink_runs("a").completes("a", 1).commits("a", 1, 2).commits("a", DRAINED).becomes("a", "FINISHED")
    if not is_listed:
        tale.forgets("a")
    return tale.rolls_back_to("a", 1).flink_runs("b", restored=1)


def younger() -> Tale:
    """It failed over to a 3 of its own, so that Flink no longer shows that it had begun from 2."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).forgets("a").flink_runs("a", restored=2)
    return restored(tale.flink_runs("a", restored=3).becomes("a", "CANCELED"), CHECKPOINT_3)


F3, F11, IDLE = commits_withheld, commit_not_made_yet, mode
RIGHT_ABOVE, SUPERSEDED = with_points(*restore_points_rolled_back(to=5)), with_points(*superseded())
WITHOUT_OLDER = with_points(superseded()[0], superseded()[1][1:])
WAITS = failed_over(commit_s=-1).completes("a", 5, 6, 7, 8).leaves_manifest("a", 5, 6, 7, 8)


@answer_table(
    {
        "Flink triggered it before the restore, whatever the commit's clock says": (
            F3, failed_over(commit_s=1, triggered_s=-2).looked_at(), LastGood("a4"), WrongRun("a"),
        ),
        **{
            f"{code}: {commit_s} s after the restore clocks may differ": (
                each, failed_over(commit_s=commit_s).looked_at(), CannotTell,
            )
            for commit_s in (-4, -1, 0, 1, 4) for code, each in (("F3", F3), ("healthy", healthy))
        },
        **{
            f"{commit_s} s after the restore the times tell": (F3, failed_over(commit_s=commit_s).looked_at(), expected)
            for commit_s, expected in ((-5, Matches), (-60, Matches), (5, Excluded), (60, Excluded))
        },
        "while the order is not told nothing is promised to come": (F11, WAITS.looked_at(), CannotTell),
        "what a run has committed since the point would come a second time": (
            IDLE, SUPERSEDED, Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB, WrongRun("b"), Unsaid("savepoint-a-6"),
        ),
        "the point of a superseded run does not pair": (
            IDLE, WITHOUT_OLDER, Matches, "no restore point is left", "None of 1 restore point on storage pairs",
            "start the job without state",
        ),
        "a point right above the end of main stands for the job": (
            IDLE, RIGHT_ABOVE, Remedy.RESTORE_JOB_ONLY, "savepoint-a-6 (checkpoint 6) is newer than the head",
        ),
        **{
            f"the point that Flink lists as {listed} is {path}": (
                healthy, taken_over(path, listed=listed).looked_at(), Matches,
            )
            for listed, path in (
                (CHECKPOINT_3, CHECKPOINT_3),
                (CHECKPOINT_3, f"{CHECKPOINT_3}/_metadata"),
                (None, CHECKPOINT_3),
                (CHECKPOINT_3, None),
                (SAVEPOINT, SAVEPOINT.replace("s3://state", "s3a://copies")),
            )
        },
        "a younger start may have come to the id again": (healthy, younger().looked_at(), CannotTell),
        "without a path a drain may have left the point": (
            healthy, drained_and_rolled_back(is_listed=False).looked_at(), CannotTell,
        ),
        "Flink lists the checkpoint that main has": (
            healthy, drained_and_rolled_back(is_listed=True).looked_at(), Matches | CannotTell,
        ),
    }
)  # fmt: skip
def test_which_came_first(mode: Any, case: Case, expected: list[Any]) -> None:
    """A commit or a restore; and from which point a run went on."""
    check(mode, case, expected)


def test_what_a_point_owes_is_committed_first_where_it_pairs() -> None:
    """One of a superseded run commits nothing."""
    assert [] == owed(SUPERSEDED)
    assert ["s3://state/savepoint-a-6"] == owed(RIGHT_ABOVE)
