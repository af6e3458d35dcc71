"""No copies are taken out while the run that is alive still reads rows that main has: the rest would come after."""

import pytest

from bot.actions import deduplicate_rows, drop_duplicated_commit
from bot.actions._passed import must_have_passed
from bot.domain.action import Plan
from bot.domain.contract import CopyRule
from bot.domain.errors import Refused
from bot.domain.file_changes import RowsOfFile
from bot.domain.findings import CopiesOfCommit, DuplicateCommitsFinding, ExtraCopiesFinding, RepeatedCommit
from bot.domain.flink import CheckpointKind
from bot.domain.ids import SnapshotId
from bot.domain.ledger import Ledger, LedgerRow
from tests.actions.scene import Scene
from tests.little_flink import JOB
from tests.tables import job

A, B = job("a"), job("b")


@pytest.fixture
def replaying(scene: Scene) -> Scene:
    """Run b has committed nothing yet."""
    return restored_below(scene)


def restored_below(scene: Scene) -> Scene:
    """Run a had committed positions up to 59; run b was restored from its savepoint 3, below 30."""
    older = scene.flink.savepoint(A)
    scene.flink.checkpoints(A, 3)
    scene.flink.stop(JOB, A)
    scene.flink.submit(B, at_checkpoint=3, restored=older)
    return scene


def planned(scene: Scene, *, partition: str | None = None, told: bool = True, hidden: bool = False) -> Plan:
    """What is known by a ledger with the positions of each commit, if they are `told`: ten a checkpoint. Who brought
    the ten extra copies is hidden."""
    plan = scene.plan()
    rows = tuple(
        LedgerRow(
            snapshot_id=s.snapshot_id, parent_id=s.parent_id, sequence_number=s.sequence_number,
            committed_at=s.committed_at, on_main=True, operation=s.operation, engine=s.engine, job_id=s.job_id,
            operator_id=s.operator_id, checkpoint_id=s.checkpoint_id, checkpoint_kind=CheckpointKind.CHECKPOINT,
            attempts=None, added_files=1, added_rows=10, removed_files=0, removed_rows=0, code_version=None,
            readers=(), position_from=10 * (s.checkpoint_id or 0) - 10 if told else None,
            position_until=10 * (s.checkpoint_id or 0) - 1 if told else None,
        )
        for s in scene.table.snapshots
    )  # fmt: skip
    contract = plan.case.contract.model_copy(
        update={"position_partition": partition, "redacted": ("source_position",) if hidden else ()}
    )
    copies = ExtraCopiesFinding(
        at=scene.table.snapshots[-1].snapshot_id, keys=10, rows=10, commits=(), differing=0, columns={}, twice_named=0,
        hidden=10, places=(RowsOfFile(path="file:///a.parquet", spans=((0, 9),)),), rule=CopyRule(),
    )  # fmt: skip
    ledger = Ledger(rows=rows, readers_known=True)
    case = plan.case.model_copy(update={"ledger": ledger, "contract": contract, "extra_copies": copies})
    return plan.model_copy(update={"case": case})


def with_copies_by(plan: Plan, *commits: SnapshotId) -> Plan:
    """Ten rows of each of these are extra copies, and no others."""
    found = plan.case.extra_copies
    assert found is not None
    by = tuple(CopiesOfCommit(snapshot_id=each, rows=10) for each in commits)
    told = found.model_copy(update={"rows": 10 * len(by), "commits": by, "hidden": 0})
    return plan.model_copy(update={"case": plan.case.model_copy(update={"extra_copies": told})})


def newest(scene: Scene) -> SnapshotId:
    """The head."""
    return scene.table.snapshots[-1].snapshot_id


def test_none_are_taken_out_below_what_main_has(replaying: Scene) -> None:
    """Run b has repeated up to 49, and main has up to 59."""
    replaying.flink.checkpoints(B, 2)

    with pytest.raises(Refused, match="Run bbbbbb still reads rows that main already has") as refused:
        deduplicate_rows.propose(planned(replaying))

    assert "up to source position 59; since its last start it has committed up to 49" in refused.value.found
    assert "Wait until it has passed that" in refused.value.remedy
    assert "rewind_table_and_job" in refused.value.remedy


def test_they_are_once_the_run_has_passed_it(replaying: Scene) -> None:
    """What comes from then on main does not have."""
    replaying.flink.checkpoints(B, 3)

    assert must_have_passed(planned(replaying)) == ()
    assert deduplicate_rows.propose(planned(replaying)).effects


def test_nor_is_a_commit_that_repeats_another_one_dropped(replaying: Scene) -> None:
    """The rest of what the run repeats comes in commits of its own."""
    replaying.flink.checkpoints(B, 2)
    plan, again = planned(replaying), replaying.snapshot("b", 4)
    twice = RepeatedCommit(
        first=replaying.snapshot("a", 4), again=again, how="same-checkpoint", job_id=B, checkpoint_id=4, rows=10,
        too_many=10,
    )  # fmt: skip
    found = DuplicateCommitsFinding(commits_checked=8, repeated=(twice,))
    case, match = plan.case.model_copy(update={"duplicate_commits": found}), {"repeating": (again,)}
    plan = plan.model_copy(update={"case": case, "match": plan.match.model_copy(update=match)})

    with pytest.raises(Refused, match="Run bbbbbb still reads rows that main already has"):
        drop_duplicated_commit.propose(plan)


@pytest.mark.parametrize(
    ("known", "why"),
    [
        ({"told": False}, "lacks source positions"),
        ({"partition": "source_partition"}, "several partitions"),
    ],
)
def test_where_nothing_tells_the_approver_reads_it(replaying: Scene, known: dict[str, object], why: str) -> None:
    """An idle partition's positions may lie far above those of a busy one."""
    replaying.flink.checkpoints(B, 2)

    said = " ".join(deduplicate_rows.propose(planned(replaying, **known)).preview.sentences)  # type: ignore[arg-type]

    assert "It is not known whether run bbbbbb has read past all rows on main" in said
    assert why in said


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (
            {"partition": "source_partition"},
            "name the partition column as `position_partition` in the table's contract",
        ),
        ({"told": False}, "remove `position` from the contract. Collect the evidence again"),
    ],
    ids=["partition named", "position taken out"],
)
def test_a_source_of_several_partitions_has_a_way_out(replaying: Scene, known: dict[str, object], said: str) -> None:
    """An idle job whose last rows were a slow partition's stays below for good; the refusal says what to set."""
    replaying.flink.checkpoints(B, 2)

    with pytest.raises(Refused) as refused:
        must_have_passed(planned(replaying))

    assert said in refused.value.remedy
    assert len(must_have_passed(planned(replaying, **known))) == 1  # type: ignore[arg-type]


def test_positions_that_are_hidden_are_not_shown(replaying: Scene) -> None:
    """By the contract."""
    replaying.flink.checkpoints(B, 2)

    with pytest.raises(Refused, match="a source position that is not shown") as refused:
        must_have_passed(planned(replaying, hidden=True))

    assert "59" not in str(refused.value)
    assert "49" not in str(refused.value)


def test_a_run_that_alone_has_written_the_table_is_not_asked(scene: Scene) -> None:
    """Where its newest commit only repeats an older one (F1), and brought all the copies."""
    scene.flink._commit(A, 2, range(10, 20))

    for told in (True, False):
        assert must_have_passed(with_copies_by(planned(scene, told=told), newest(scene))) == ()
