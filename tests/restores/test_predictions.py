"""What a start from a restore point would do to the table, told from a story of commits, runs and Flink's files."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest

from bot.history.case import Case
from bot.history.prediction import Extent, RestorePrediction, RestoreVerdict, combined, predict
from bot.observation.flink import CheckpointKind, SourcePosition, StoredCheckpoint
from bot.observation.ids import CheckpointId
from bot.observation.ledger import SourceRange
from bot.observation.looked import NotSeen, Seen
from tests.cases import NOON, OPERATOR, STORAGE_DOWN, Tale, job_id

TOTALS = {
    "total_records": 20, "total_data_files": 2, "total_delete_files": 0, "total_position_deletes": 0,
    "total_equality_deletes": 0, "total_files_size": 900,
}  # fmt: skip
RIGHT, WRONG, CANNOT_TELL = RestoreVerdict.RIGHT, RestoreVerdict.WRONG, RestoreVerdict.CANNOT_TELL


def point(
    run: str | None, checkpoint: int | None, *, owes: Mapping[str, tuple[int, ...]] | None = None, **told: object
) -> StoredCheckpoint:
    """A savepoint of the run. `owes`: run -> checkpoints whose Flink manifests its committer still lists; by default
    its own, as of each checkpoint with files, whose commit comes after it."""
    if owes is None:
        owes = {run: (checkpoint,)} if run is not None and checkpoint is not None else {}
    pending = tuple(
        f"{job_id(of)}-{OPERATOR}-00000-0-{number}-00001.avro" for of, ids in owes.items() for number in ids
    )
    return StoredCheckpoint(
        path=f"s3://state/savepoint-{job_id(run or 'f')[:6]}-{checkpoint or 0:012x}",
        kind=CheckpointKind.STOP_SAVEPOINT,
        checkpoint_id=CheckpointId(checkpoint) if checkpoint is not None else None,
        job_id=job_id(run) if run is not None else None,
        written_at=NOON + timedelta(minutes=1),
        pending_manifests=pending,
        manifest_folders=dict.fromkeys(pending, ("s3://lake/sales/orders/metadata",)),
        is_committer_read=True,
        digest="d" * 64,
        state_bytes={OPERATOR: 512},
    ).model_copy(update=told)


def predicted(tale: Tale, stored: StoredCheckpoint, *, also: tuple[StoredCheckpoint, ...] = ()) -> RestorePrediction:
    """Of the table as the tale leaves it. `also`: further points that were read."""
    case = tale.case() if tale.head is not None else _empty(tale)
    points = Seen[StoredCheckpoint](source="s3://state", values=(stored, *also))
    seen = case.observation.model_copy(update={"checkpoints": points})
    return predict(stored, case.model_copy(update={"observation": seen}))


def _empty(tale: Tale) -> Case:
    whole = Tale().flink_runs("z").commits("z", 1).case()
    return whole.model_copy(
        update={"observation": whole.observation.model_copy(update={"table": tale.table, "jobs": tale.jobs})}
    )


def extent(told: Extent | None) -> tuple[int, bool, int | None, int | None] | None:
    """(Rows, whether it is at most so many, first and last checkpoint)."""
    return (told.rows, told.is_at_most, told.first_checkpoint, told.last_checkpoint) if told is not None else None


def ran(*checkpoints: int, rows: int = 10, v1: bool = False) -> Tale:
    """Run a has committed these, and is alive."""
    return Tale().flink_runs("a", v1=v1).commits("a", *checkpoints, rows=rows)


def ended(*checkpoints: int, rows: int = 10, v1: bool = False) -> Tale:
    """And is not."""
    return ran(*checkpoints, rows=rows, v1=v1).becomes("a", "FAILED")


def rolled_back() -> Tale:
    """Main was set back from 3 to 1 under run a, which then ended."""
    return ran(1, 2, 3).rolls_back_to("a", 1).becomes("a", "FAILED")


def then(tale: Tale, run: str, restored: int, *checkpoints: int) -> Tale:
    """A run that was restored from a checkpoint of run a has committed these, and ended."""
    return tale.flink_runs(run, restored=restored, of="a").commits(run, *checkpoints).becomes(run, "FAILED")


OVERTAKEN = then(then(ended(1, 2, 3), "b", 1, 2), "c", 3, 4)
"""Run b began two commits below main's end and had not read them all again when run c took its place."""
PASSED_OVER = then(ended(1, 2, 3), "b", 1, 6)
"""Run b began below main's end and committed nothing of what it read again: its sink dropped it."""
QUIET = ran(1, 2).counts(**TOTALS).commits("a", 12, rows=0).counts(added_data_files=0, **TOTALS)
OF_OTHERS = ran(1, 2).commits(None, operation="replace").commits(None)
ALONE_BACK = ran(1, 2, 3).rolls_back_to("a", 1).commits("a", 4).becomes("a", "FINISHED")
UNRELATED = rolled_back().flink_runs("b", restored=1, of="a").commits("b", 2, 3).flink_is_down()
OWING = ran(1, 2).leaves_manifest("a", 3).becomes("a", "CANCELED")
OVERTAKEN_OWING = then(ran(1, 2).leaves_manifest("a", 3).becomes("a", "CANCELED"), "b", 2, 3)
EMPTY = Tale().flink_runs("a").becomes("a", "FINISHED")
UNREADABLE = {"problem": "It is too large.", "is_unread": True}


@pytest.mark.parametrize(
    ("tale", "stored", "verdict"),
    [
        pytest.param(ended(1, 2, 3), point("a", 3), RIGHT, id="the newest savepoint"),
        pytest.param(ran(1, 2).flink_is_down(), point("a", 2), RIGHT, id="the newest, while Flink is not up"),
        pytest.param(ran(1, 2).flink_is_down(), point("a", 1), WRONG, id="an older one, while Flink is not up"),
        pytest.param(QUIET, point("a", 2), RIGHT, id="above it only a commit without rows"),
        pytest.param(OF_OTHERS, point("a", 2), RIGHT, id="above it only a compaction and other engines"),
        pytest.param(ran(1, 2, 2), point("a", 2), RIGHT, id="what is there twice already is not written a third time"),
        pytest.param(rolled_back(), point("a", 1), RIGHT, id="where main was rolled back to"),
        pytest.param(then(rolled_back(), "b", 1, 2, 3, 4), point("b", 4), RIGHT, id="table and job went back together"),
        pytest.param(UNRELATED, point("b", 3), CANNOT_TELL, id="a rollback that nobody can relate to it"),
        pytest.param(OWING, point("a", 3, owes={"a": (3,)}), RIGHT, id="what it owes is committed first"),
        pytest.param(ended(1, 2), point("a", 3, is_committer_read=False), CANNOT_TELL, id="its state is not known"),
        pytest.param(ended(1, 2), point("a", 3, **UNREADABLE), CANNOT_TELL, id="its state cannot be read"),
        pytest.param(ended(1, 2), point("a", 2, owes={}), CANNOT_TELL, id="it names no file of its own commit"),
        pytest.param(ended(1, 2), point("c", 7), CANNOT_TELL, id="no commit tells of its run"),
        pytest.param(ended(1, 2), point(None, 7), CANNOT_TELL, id="of nobody knows which run"),
        pytest.param(ended(1, 2), point("c", None), CANNOT_TELL, id="of nobody knows which checkpoint"),
        pytest.param(EMPTY, point("a", 5, owes={}), RIGHT, id="of a table without a commit"),
        pytest.param(EMPTY, point("a", 5, owes={"a": (5,)}), CANNOT_TELL, id="the same, and it owes one"),
    ],
)
def test_what_a_start_would_do(tale: Tale, stored: StoredCheckpoint, verdict: RestoreVerdict) -> None:
    """Where it does harm, the tests below say to which rows; where it cannot be told, what would decide is named."""
    found = predicted(tale, stored)

    assert found.verdict is verdict
    assert verdict is WRONG or (found.repeated, found.lost) == (None, None)
    if tale is UNRELATED or not stored.is_committer_read or stored.problem:
        assert found.would_decide


@pytest.mark.parametrize(
    ("tale", "stored", "twice"),
    [
        pytest.param(ended(1, 2, 3, 4, rows=12), point("a", 2), (24, False, 3, 4), id="exactly, of its own run"),
        pytest.param(then(ended(1, 2), "b", 2, 3, 4), point("a", 2), (20, True, 3, 4), id="at most, of a later run"),
        pytest.param(OVERTAKEN, point("b", 2), (30, True, 2, 4), id="also what its run had yet to read again"),
        pytest.param(PASSED_OVER, point("b", 4), (30, True, 2, 6), id="also what its own run passed over"),
        pytest.param(OVERTAKEN_OWING, point("a", 3), (10, True, 3, 3), id="owed, and another run has read it"),
        pytest.param(
            ended(1, 3, 4, v1=True), point("a", 2), (20, True, 3, 4), id="of an intermediate savepoint, merged since"
        ),
    ],
)
def test_rows_that_would_come_twice(tale: Tale, stored: StoredCheckpoint, twice: tuple[int, bool, int, int]) -> None:
    """Of another run at most so many: it may have begun from an older state, and have written some twice already."""
    found = predicted(tale, stored)

    assert (found.verdict, extent(found.repeated), found.lost) == (WRONG, twice, None)
    assert found.repeated.snapshots[-1] == tale.head


@pytest.mark.parametrize(
    ("tale", "stored"),
    [
        pytest.param(rolled_back(), point("a", 3), id="main lost them"),
        pytest.param(ALONE_BACK, point("a", 4), id="the run went on above the hole"),
        pytest.param(then(rolled_back(), "b", 3, 4), point("b", 4), id="the run inherited the hole"),
    ],
)
def test_rows_that_no_start_reads_again(tale: Tale, stored: StoredCheckpoint) -> None:
    """The state has read what main lost."""
    found = predicted(tale, stored)

    assert (found.verdict, extent(found.lost), found.repeated) == (WRONG, (20, False, 2, 3), None)


@pytest.mark.parametrize("told", [{"owes": {"a": (3,)}}, {"is_drained": True, "problem": "It was drained."}])
def test_a_start_that_fails_or_never_commits(told: dict[str, Any]) -> None:
    """Nobody has any more what it owes, as after a rollback of the table alone; a drained state has the highest id."""
    found = predicted(ended(1, 2, v1="problem" in told), point("a", 3, **told))

    assert (found.verdict, bool(found.fails)) == (WRONG, True)


def test_a_run_without_a_commit_doubles_what_it_had_yet_to_read_again() -> None:
    """It began two commits below main's end, and another run took its place before it had committed."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "FAILED")
    tale.flink_runs("b", restored=1, of="a").becomes("b", "FAILED")
    stored = point("b", 2, written_at=tale.snapshots[-1].committed_at + timedelta(minutes=2))
    tale.flink_runs("c", restored=3, of="a").commits("c", 4, 5).becomes("c", "FAILED")
    tale.snapshots[-2:] = [
        s.model_copy(update={"committed_at": stored.written_at + timedelta(minutes=n)})
        for n, s in enumerate(tale.snapshots[-2:], 1)
    ]

    found = predicted(tale, stored)

    assert (found.verdict, extent(found.repeated)) == (WRONG, (40, True, 2, 5))


def test_a_state_of_an_unknown_run_that_is_older_than_commits_repeats_them_at_most() -> None:
    """Its own commit may be among those that came right after it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "FINISHED")
    stored = point(None, 2, written_at=tale.snapshots[1].committed_at - timedelta(seconds=1))

    found = predicted(tale, stored)

    assert (found.verdict, extent(found.repeated)) == (WRONG, (10, True, 3, 3))


def with_ranges(case: Case, ranges: Sequence[tuple[str | None, int, int]], partition: str | None = None) -> Case:
    """The ledger tells of each commit one range."""
    assert case.ledger is not None
    rows = tuple(
        row.model_copy(update={"ranges": (SourceRange(partition=of, low=low, high=high, rows=high - low + 1),)})
        for row, (of, low, high) in zip(case.ledger.rows, ranges, strict=True)
    )
    contract = case.contract.model_copy(update={"position_partition": partition})
    return case.model_copy(update={"ledger": case.ledger.model_copy(update={"rows": rows}), "contract": contract})


@pytest.mark.parametrize(
    ("ranges", "offsets", "told"),
    [
        ([(None, 0, 9), (None, 10, 19), (None, 20, 29)], {}, [(None, 10, 29, 20)]),
        ([("0", 0, 9), ("1", 0, 9), ("0", 10, 19)], {}, [("0", 10, 19, 10), ("1", 0, 9, 10)]),
        ([("0", 0, 9), ("0", 10, 19), ("1", 0, 9)], {0: 15, 1: 50}, [("0", 15, 19, None)]),
    ],
    ids=["adjoining", "by partition", "from the state's Kafka offsets on"],
)
def test_source_positions_of_what_comes_twice_are_told(
    ranges: Sequence[tuple[str | None, int, int]], offsets: Mapping[int, int], told: object
) -> None:
    """As the ledger has them."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "FINISHED")
    positions = tuple(
        SourcePosition(operator_id=OPERATOR, topic="orders", partition=n, following=at) for n, at in offsets.items()
    )
    case = with_ranges(tale.case(), ranges, "p" if ranges[0][0] is not None else None)

    found = predict(point("a", 1, source_positions=positions), case)

    assert found.repeated is not None
    assert [(r.partition, r.low, r.high, r.rows) for r in found.repeated.ranges] == told
    assert f"source positions {told[0][1]} to {told[0][2]}" in found.reason  # type: ignore[index]


def test_what_it_owes_on_storage_that_cannot_be_listed_leaves_it_open() -> None:
    """Could not look is never nothing found."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED")
    tale.storage_down = True

    found = predicted(tale, point("a", 3, owes={"a": (3,)}))

    assert (found.verdict, found.would_decide) == (CANNOT_TELL, STORAGE_DOWN.remedy)


def test_a_state_of_another_job_is_wrong() -> None:
    """Flink lists under another name a run that goes on and has committed."""
    tale = Tale().flink_runs("a").commits("a", 1).flink_runs("c").commits("c", 3)
    other = tale.runs["c"].model_copy(update={"name": "refunds-to-iceberg"})
    tale.runs["c"] = other

    assert predicted(tale, point("c", 4)).verdict is WRONG


def test_a_run_that_wrote_nothing_since_it_began_at_main_s_end_is_right() -> None:
    """Its checkpoints owe nothing, and what it began from pairs."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "FINISHED")
    began = point("a", 2)
    tale.flink_runs("b").came_from("b", 2, began.path).becomes("b", "FINISHED")

    idle = point("b", 5, owes={})
    found = predicted(tale, idle, also=(began,))

    assert found.verdict is RIGHT
    assert predicted(tale, idle).verdict is CANNOT_TELL


def test_a_state_from_before_its_run_started_leaves_it_open() -> None:
    """The job id was used before, and the commit with its checkpoint id came later."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "FINISHED")
    early = tale.runs["a"].started_at - timedelta(minutes=1)

    assert predicted(tale, point("a", 2, written_at=early)).verdict is CANNOT_TELL


def test_a_run_that_is_alive_leaves_it_open() -> None:
    """It commits further, so nobody knows with what main ends when the start comes."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    right = predicted(tale, point("a", 2))

    verdict, _, would_decide = combined([right], [job_id("a")])

    assert (verdict, bool(would_decide)) == (CANNOT_TELL, True)
    assert combined([right], [])[0] is RIGHT


def test_one_wrong_table_makes_the_whole_wrong() -> None:
    """A savepoint belongs to the job, not to one table of it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    right, wrong = predicted(tale, point("a", 2)), predicted(tale, point("a", 1))
    unknown = predicted(tale, point(None, 2))

    assert combined([right, unknown, wrong], [job_id("a")])[0] is WRONG
    assert combined([right, unknown], [])[0] is CANNOT_TELL


def test_checkpoints_of_a_run_that_flink_is_not_asked_for_keep_their_verdict() -> None:
    """`NotSeen` is no answer about the runs, and pairing needs none."""
    tale = Tale().flink_runs("a").commits("a", 1).flink_is_down()
    assert isinstance(tale.jobs, NotSeen)

    assert predicted(tale, point("a", 1, kind=CheckpointKind.CHECKPOINT)).verdict is RIGHT
