"""What a start from a restore point would do to the table, told from a story of commits, runs and Flink's files."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest

from bot.domain.diagnosis import Case
from bot.domain.flink import CheckpointKind, SourcePosition, StoredCheckpoint
from bot.domain.ids import CheckpointId
from bot.domain.ledger import SourceRange
from bot.domain.looked import NotSeen, Seen
from bot.history.prediction import Extent, RestorePrediction, RestoreVerdict, combined, predict
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


def test_the_newest_savepoint_is_right() -> None:
    """It pairs with what main ends with."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "FINISHED")

    found = predicted(tale, point("a", 3))

    assert (found.verdict, found.repeated, found.lost) == (RIGHT, None, None)


def test_an_older_one_doubles_each_row_since() -> None:
    """Twelve rows of each later commit, told exactly."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, rows=12).becomes("a", "FINISHED")

    found = predicted(tale, point("a", 2))

    assert (found.verdict, extent(found.repeated), found.lost) == (WRONG, (24, False, 3, 4), None)
    assert found.repeated is not None
    assert found.repeated.snapshots == (tale.at("a", 3), tale.at("a", 4))


def test_it_needs_no_flink() -> None:
    """An init container runs while the cluster is not up."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).flink_is_down()

    assert predicted(tale, point("a", 2)).verdict is RIGHT
    assert predicted(tale, point("a", 1)).verdict is WRONG


def test_commits_that_another_run_made_since_are_doubled_at_most() -> None:
    """That run may have begun from an older state, and have written some of them twice already."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "FAILED")
    tale.flink_runs("b", restored=2, of="a").commits("b", 3, 4).becomes("b", "FAILED")

    found = predicted(tale, point("a", 2))

    assert (found.verdict, extent(found.repeated)) == (WRONG, (20, True, 3, 4))


def test_what_its_run_had_yet_to_read_again_is_doubled_too() -> None:
    """Run b began two commits below main's end and had not read them all again when another run took its place."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "FAILED")
    tale.flink_runs("b", restored=1, of="a").commits("b", 2).becomes("b", "FAILED")
    tale.flink_runs("c", restored=3, of="a").commits("c", 4).becomes("c", "FAILED")

    found = predicted(tale, point("b", 2))

    assert (found.verdict, extent(found.repeated)) == (WRONG, (30, True, 2, 4))


def test_rows_that_its_own_run_passed_over_are_doubled_too() -> None:
    """Run b began below main's end and committed nothing of what it read again: its sink dropped it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "FAILED")
    tale.flink_runs("b", restored=1, of="a").commits("b", 6).becomes("b", "FAILED")

    found = predicted(tale, point("b", 4))

    assert (found.verdict, extent(found.repeated)) == (WRONG, (30, True, 2, 6))


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


def test_a_commit_without_rows_is_nothing_to_repeat() -> None:
    """Flink makes one from time to time while nothing comes."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).counts(**TOTALS)
    tale.commits("a", 12, rows=0).counts(added_data_files=0, **TOTALS)

    assert predicted(tale, point("a", 2)).verdict is RIGHT


def test_compactions_and_other_engines_above_it_do_not_matter() -> None:
    """The sink passes over them."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits(None, operation="replace").commits(None)

    assert predicted(tale, point("a", 2)).verdict is RIGHT


def test_a_copy_of_its_own_commit_does_not_matter() -> None:
    """What is there twice already is not written a third time."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits("a", 2)

    assert predicted(tale, point("a", 2)).verdict is RIGHT


def test_what_main_lost_below_it_is_lost() -> None:
    """The state has read these rows, and no start reads them again."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).rolls_back_to("a", 1).becomes("a", "FAILED")

    found = predicted(tale, point("a", 3))

    assert (found.verdict, extent(found.lost), found.repeated) == (WRONG, (20, False, 2, 3), None)
    assert predicted(tale, point("a", 1)).verdict is RIGHT


def test_a_hole_below_the_head_is_lost_too() -> None:
    """Main was rolled back under the run, which went on above it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).rolls_back_to("a", 1).commits("a", 4).becomes("a", "FINISHED")

    found = predicted(tale, point("a", 4))

    assert (found.verdict, extent(found.lost)) == (WRONG, (20, False, 2, 3))


def test_a_hole_that_the_run_inherited_is_lost_too() -> None:
    """It was started from a state that had these rows behind it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).rolls_back_to("a", 1).becomes("a", "FAILED")
    tale.flink_runs("b", restored=3, of="a").commits("b", 4).becomes("b", "FINISHED")

    assert extent(predicted(tale, point("b", 4)).lost) == (20, False, 2, 3)


def test_a_run_that_was_started_from_where_main_was_rolled_back_to_is_right() -> None:
    """Table and job went back together, so the rows were read again."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).rolls_back_to("a", 1).becomes("a", "FAILED")
    tale.flink_runs("b", restored=1, of="a").commits("b", 2, 3, 4).becomes("b", "FINISHED")

    assert predicted(tale, point("b", 4)).verdict is RIGHT


def test_a_rollback_that_nobody_can_relate_to_it_leaves_it_open() -> None:
    """Flink has forgotten from where the run was started."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).rolls_back_to("a", 1).becomes("a", "FAILED")
    tale.flink_runs("b", restored=1, of="a").commits("b", 2, 3).flink_is_down()

    found = predicted(tale, point("b", 3))

    assert (found.verdict, bool(found.would_decide)) == (CANNOT_TELL, True)


def test_what_it_owes_is_committed_first() -> None:
    """The job was cancelled after its checkpoint and before the commit."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).leaves_manifest("a", 3).becomes("a", "CANCELED")

    assert predicted(tale, point("a", 3, owes={"a": (3,)})).verdict is RIGHT


def test_what_it_owes_and_nobody_has_any_more_fails_each_start() -> None:
    """As after a rollback of the table alone."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED")

    found = predicted(tale, point("a", 3, owes={"a": (3,)}))

    assert (found.verdict, bool(found.fails)) == (WRONG, True)


@pytest.mark.parametrize("told", [{"is_committer_read": False}, {"problem": "It is too large.", "is_unread": True}])
def test_state_that_cannot_be_read_leaves_it_open(told: dict[str, object]) -> None:
    """What it owes is not known."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED")

    found = predicted(tale, point("a", 3, **told))

    assert (found.verdict, bool(found.would_decide)) == (CANNOT_TELL, True)


def test_what_it_owes_on_storage_that_cannot_be_listed_leaves_it_open() -> None:
    """Could not look is never nothing found."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED")
    tale.storage_down = True

    found = predicted(tale, point("a", 3, owes={"a": (3,)}))

    assert (found.verdict, found.would_decide) == (CANNOT_TELL, STORAGE_DOWN.remedy)


def test_owed_files_under_another_run_s_commits_are_wrong() -> None:
    """That run read the same rows, or what came after."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).leaves_manifest("a", 3).becomes("a", "CANCELED")
    tale.flink_runs("b", restored=2, of="a").commits("b", 3).becomes("b", "FAILED")

    found = predicted(tale, point("a", 3, owes={"a": (3,)}))

    assert (found.verdict, extent(found.repeated)) == (WRONG, (10, True, 3, 3))


def test_an_intermediate_savepoint_whose_files_a_later_commit_took_doubles_at_most_that_commit() -> None:
    """Part of the merged commit came before the savepoint."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 3, 4).becomes("a", "CANCELED")

    found = predicted(tale, point("a", 2, owes={"a": (2,)}))

    assert (found.verdict, extent(found.repeated)) == (WRONG, (20, True, 3, 4))


def test_a_drained_state_never_commits_again() -> None:
    """Whatever it pairs with."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 2).becomes("a", "FINISHED")

    found = predicted(tale, point("a", 3, is_drained=True, problem="It was drained."))

    assert (found.verdict, bool(found.fails)) == (WRONG, True)


@pytest.mark.parametrize(("run", "checkpoint"), [("c", 7), (None, 7), ("c", None)])
def test_a_state_of_which_no_commit_tells_leaves_it_open(run: str | None, checkpoint: int | None) -> None:
    """It may be another table's."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "FINISHED")

    assert predicted(tale, point(run, checkpoint)).verdict is CANNOT_TELL


def test_a_state_of_another_job_is_wrong() -> None:
    """Flink lists its run under another name."""
    tale = Tale().flink_runs("a").commits("a", 1).flink_runs("c")
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


def test_a_table_without_any_commit_has_nothing_to_repeat() -> None:
    """As one that was added to the job, and to which nothing came yet."""
    tale = Tale().flink_runs("a").becomes("a", "FINISHED")

    assert predicted(tale, point("a", 5, owes={})).verdict is RIGHT
    assert predicted(tale, point("a", 5, owes={"a": (5,)})).verdict is CANNOT_TELL


def test_a_state_that_names_no_file_of_its_own_commit_leaves_it_open() -> None:
    """Under one job id an earlier start was at this checkpoint too, and brought nothing."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "FINISHED")

    assert predicted(tale, point("a", 2, owes={})).verdict is CANNOT_TELL


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
