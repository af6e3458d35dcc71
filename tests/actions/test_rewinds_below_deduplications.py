"""A deduplication of the job's own rows is not missed below all their copies: the job makes each of them once again.

What another writer had brought, or left, is.
"""

from contextlib import closing

import pytest

from bot.actions import deduplicate_rows, rewind_table_and_job
from bot.domain.action import Plan
from bot.domain.contract import CopyRule
from bot.domain.effects import MoveTable
from bot.domain.errors import Refused
from bot.domain.file_changes import RowsOfFile
from bot.domain.findings import CopiesOfCommit, DuplicatePair, DuplicatesFinding, ExtraCopiesFinding
from bot.domain.ids import SnapshotId
from bot.domain.proposal import Proposal
from tests.actions.owing import extent
from tests.actions.scene import ProposalState, Scene
from tests.little_flink import open_catalog
from tests.tables import job, of_flink, rows

SPARK = {"engine-name": "spark", "spark.app.id": "local-17"}
TEN = 10


def head(scene: Scene) -> SnapshotId:
    """Of main."""
    assert scene.table.head is not None
    return scene.table.head


def commits(scene: Scene, positions: range, summary: dict[str, str]) -> SnapshotId:
    """Somebody commits these; returns the snapshot."""
    scene.commits(rows(positions), summary)
    return head(scene)


def goes_to(proposal: Proposal) -> SnapshotId:
    """Of the move of main."""
    return next(each.to for each in proposal.effects if isinstance(each, MoveTable))


def deleting(scene: Scene, gone: SnapshotId, stays: SnapshotId, *others: SnapshotId) -> Proposal:
    """All ten rows of commit `gone`, copies of those of `stays`; keys may live in others, too."""
    with closing(open_catalog(scene.folder)) as catalog:
        entries = catalog.load_table(scene.table.name).inspect.entries().to_pylist()
    [path] = [each["data_file"]["file_path"] for each in entries if each["snapshot_id"] == gone]
    extra = ExtraCopiesFinding(
        at=head(scene), keys=TEN, rows=TEN, commits=(CopiesOfCommit(snapshot_id=gone, rows=TEN),), differing=0,
        columns={}, twice_named=0, places=(RowsOfFile(path=path, spans=((0, TEN - 1),)),), rule=CopyRule(),
    )  # fmt: skip
    named = [DuplicatePair(first=stays, second=each, keys=TEN) for each in (gone, *others)]
    found = DuplicatesFinding(
        rows_checked=50, keys=TEN, extra_rows=TEN * len(named), pairs=tuple(named), within_commit=TEN * (stays == gone)
    )
    plan = scene.plan()
    return deduplicate_rows.propose(
        plan.model_copy(update={"case": plan.case.model_copy(update={"duplicates": found, "extra_copies": extra})})
    )


def deduplicated(scene: Scene, gone: SnapshotId, stays: SnapshotId) -> None:
    """The repair as it is approved, on its branch; then main is there, and run c goes on."""
    view = scene.carries_out(deleting(scene, gone, stays), scene.plan())
    assert view.state is ProposalState.APPLIED
    branch = view.proposal.rehearses_on
    assert branch is not None
    publishes(scene, branch)
    scene.flink.submit(job("c"), at_checkpoint=5)
    scene.flink.checkpoints(job("c"), 1)


def publishes(scene: Scene, branch: str) -> None:
    """Main goes forward to it."""
    head_of = scene.table.ref(branch)
    assert head_of is not None
    with closing(open_catalog(scene.folder)) as catalog:
        catalog.load_table(scene.table.name).manage_snapshots().set_current_snapshot(head_of).commit()


def begun_again(scene: Scene) -> tuple[SnapshotId, SnapshotId]:
    """Run b goes on from savepoint 3 and commits what run a had committed after it; returns both commits."""
    older = scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 1)
    first = head(scene)
    scene.flink.ends(job("a"), "FAILED")
    scene.flink.submit(job("b"), at_checkpoint=3, restored=older)
    scene.flink.checkpoints(job("b"), 1)
    return first, head(scene)


def rewinding(scene: Scene, to: SnapshotId) -> Plan:
    """Below what run c committed."""
    return scene.plan(last_good=to, wrong_run=job("c"), number=2)


def test_a_rewind_below_the_jobs_own_copies_asks_nothing(scene: Scene) -> None:
    """Copies and repair go, and the job reads the rows once."""
    first, again = begun_again(scene)
    deduplicated(scene, again, first)
    plan = rewinding(scene, scene.snapshot("a", 3))
    told = {each.snapshot_id: " ".join(each.cannot) for each in extent(plan).points}

    proposal = rewind_table_and_job.propose(plan)
    view = scene.carries_out(proposal, plan)

    assert proposal.preview.others == ()
    assert "approved repairs" not in told[scene.snapshot("a", 3)]
    assert "approved repairs" in told[again]
    assert view.state is ProposalState.APPLIED
    assert scene.positions() == list(range(len(scene.positions())))


def test_copies_that_stay_on_main_would_be_there_again(scene: Scene) -> None:
    """The point of run b lies above its copies, and below the repair."""
    first, again = begun_again(scene)
    scene.flink.savepoint(job("b"))
    deduplicated(scene, again, first)

    with pytest.raises(Refused, match="10 rows that it took out return") as refused:
        rewind_table_and_job.propose(rewinding(scene, again))

    assert "approved repairs" in refused.value.found


def test_beside_a_backfill_that_stays_the_job_would_bring_its_copies_again(scene: Scene) -> None:
    """Spark had written the rows before the job came to them."""
    backfill = commits(scene, range(30, 40), SPARK)
    scene.flink.savepoint(job("a"))
    scene.commits(rows(range(60, 70)), of_flink("a", 3))
    scene.flink.checkpoints(job("a"), 1)
    deduplicated(scene, head(scene), backfill)

    with pytest.raises(Refused, match="rows of other writers") as refused:
        rewind_table_and_job.propose(rewinding(scene, scene.snapshot("a", 3)))

    assert "approved repairs" in refused.value.found


def test_copies_of_another_writer_are_asked_for(scene: Scene) -> None:
    """Spark had written again what the job had written."""
    scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 1)
    first = head(scene)
    deduplicated(scene, commits(scene, range(30, 40), SPARK), first)

    with pytest.raises(Refused) as refused:
        rewind_table_and_job.propose(rewinding(scene, scene.snapshot("a", 3)))

    assert "spark application local-17" in refused.value.found


@pytest.mark.parametrize("summary", [of_flink("a", 5), of_flink("a", 4, {"flink.operator-id": "b" * 32})])
def test_what_the_source_or_a_second_sink_gives_twice_would_come_twice_again(
    scene: Scene, summary: dict[str, str]
) -> None:
    """One run brought both copies, and did not go back between them."""
    scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 1)
    first = head(scene)
    deduplicated(scene, commits(scene, range(30, 40), summary), first)

    with pytest.raises(Refused, match="rows of other writers"):
        rewind_table_and_job.propose(rewinding(scene, scene.snapshot("a", 3)))


def test_a_key_that_lives_three_times_is_looked_at_copy_by_copy(scene: Scene) -> None:
    """Run b brought it twice, without going back; a third run would be a reading of its own."""
    first, again = begun_again(scene)
    once_more = commits(scene, range(30, 40), of_flink("b", 5))
    of_a_third = commits(scene, range(30, 40), of_flink("d", 4))

    told = [carries(deleting(scene, again, first, each)) for each in (once_more, of_a_third)]

    assert told == [{}, {"waterline.deleted-from": str(again)}]


def carries(proposal: Proposal) -> dict[str, str]:
    """Of the one effect that deletes rows."""
    return next(each.carries for each in proposal.effects if each.kind == "delete-rows")
