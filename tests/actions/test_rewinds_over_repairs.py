"""What an approved repair has mended is not undone by a later rewind, unless people say that it may be."""

import pyarrow as pa
import pytest
from pyiceberg.expressions import GreaterThanOrEqual, LessThan

from bot.actions import rewind_table_and_job
from bot.domain.effects import MoveTable
from bot.domain.errors import Refused
from bot.domain.ids import SnapshotId
from bot.domain.proposal import Proposal
from bot.domain.snapshot import REPAIR, TOOK_OUT
from tests.actions.owing import extent
from tests.actions.scene import ProposalState, Scene
from tests.actions.test_stops_above_repairs import picks
from tests.little_flink import open_catalog
from tests.tables import job, of_flink, rows

REPAIRED = {"engine-name": "waterline", REPAIR: "01X/3"}


def goes_to(proposal: Proposal) -> SnapshotId:
    """Of the move of main."""
    return next(each.to for each in proposal.effects if isinstance(each, MoveTable))


def takes_wrong_rows_out(scene: Scene) -> None:
    """A published repair has taken five rows out that had come with checkpoint 4 and belong nowhere."""
    scene.commits(rows(range(900, 905)), of_flink("a", 4))
    catalog = open_catalog(scene.folder)
    with catalog.load_table(scene.table.name).transaction() as change:
        change.delete(GreaterThanOrEqual("source_position", 900), snapshot_properties=REPAIRED)
    catalog.close()
    scene.flink.stands_at(job("a"), 4)


def brings(scene: Scene, table: pa.Table) -> None:
    """A published replay: its rows do not say which run had written them, for none had."""
    scene.commits(table, REPAIRED)


def test_a_repair_that_took_rows_out_stays_under_a_rewind_to_it(scene: Scene) -> None:
    """The state that the rehearsal's stop left pairs right through it."""
    takes_wrong_rows_out(scene)
    stop = scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FINISHED")
    repaired, right = scene.table.head, scene.positions()
    scene.flink.submit(job("c"), at_checkpoint=4, restored=stop)
    scene.flink.checkpoints(job("c"), 2)
    plan = scene.plan(last_good=repaired, wrong_run=job("c"))
    proposal = rewind_table_and_job.propose(plan)

    view = scene.carries_out(proposal, plan)

    assert goes_to(proposal) == repaired
    assert view.state is ProposalState.APPLIED
    assert [each for each in scene.checked(view) if each.passed is False] == []
    assert [each for each in scene.positions() if each < 30] == right


def test_a_replay_goes_off_main_only_if_people_say_so(scene: Scene) -> None:
    """The job does not bring its rows: the restore point has them behind it, or nobody knows."""
    scene.flink.savepoint(job("a"))
    brings(scene, rows(range(900, 905)))
    scene.flink.checkpoints(job("a"), 1)
    plan = scene.plan(last_good=scene.snapshot("a", 4), wrong_run=job("b"))

    with pytest.raises(Refused, match="rows of other writers") as refused:
        rewind_table_and_job.propose(plan)
    chosen = rewind_table_and_job.propose(plan.model_copy(update={"drops_others": True}))

    assert "5 rows in 1 commit of approved repairs" in refused.value.found
    assert [(each.writer, each.rows) for each in chosen.preview.others] == [("approved repairs", 5)]


def test_what_a_repair_had_taken_out_is_said_to_return(scene: Scene) -> None:
    """The wrong rows are on main again then."""
    scene.flink.savepoint(job("a"))
    takes_wrong_rows_out(scene)
    scene.flink.checkpoints(job("a"), 1)
    plan = scene.plan(last_good=scene.snapshot("a", 5), wrong_run=job("b"))

    with pytest.raises(Refused) as refused:
        rewind_table_and_job.propose(plan)

    assert any("taken out would be there again: 5 rows" in each for each in extent(plan).points[0].cannot)
    assert "approved repairs" in refused.value.found
    assert "5 rows that it took out return" in refused.value.found


def test_a_repair_of_what_goes_as_well_is_not_missed(scene: Scene) -> None:
    """Commit 4 had come twice, and its second copy was taken out; the rewind takes both off."""
    scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 1)
    twice = scene.snapshot("a", 4)
    catalog = open_catalog(scene.folder)
    with catalog.load_table(scene.table.name).transaction() as change:
        told = {**REPAIRED, TOOK_OUT: str(twice)}
        change.delete(GreaterThanOrEqual("source_position", 30), snapshot_properties=told)
    catalog.close()
    scene.flink.checkpoints(job("a"), 1)
    plan = scene.plan(last_good=scene.snapshot("a", 3), wrong_run=job("a"))

    proposal = rewind_table_and_job.propose(plan)

    assert proposal.preview.others == ()


def test_a_replay_is_not_kept_where_the_job_may_bring_its_rows_again(scene: Scene) -> None:
    """Positions 30 to 49 were replayed while the job was down, and savepoint 3 is followed by them."""
    scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FAILED")
    brings(scene, rows(range(30, 50)))
    repaired = scene.table.head
    scene.flink.submit(job("b"), at_checkpoint=5)
    scene.flink.checkpoints(job("b"), 1)
    plan = scene.plan(last_good=repaired, wrong_run=job("b"))

    with pytest.raises(Refused, match="rows of other writers"):
        rewind_table_and_job.propose(plan)
    chosen = rewind_table_and_job.propose(plan.model_copy(update={"drops_others": True}))

    assert goes_to(chosen) == scene.snapshot("a", 3)


def test_a_pick_whose_rows_the_point_holds_stays(scene: Scene) -> None:
    """Commit 3 was lost under the run, which went on to 4; somebody picked it, and a run began without state."""
    lost = scene.snapshot("a", 3)
    scene.rolls_back(to=scene.snapshot("a", 2))
    scene.flink.checkpoints(job("a"), 1)
    scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FAILED")
    picks(scene, lost, range(20, 30))
    good = scene.table.head
    scene.flink.submit(job("b"), at_checkpoint=0)
    scene.flink.checkpoints(job("b"), 2)

    proposal = rewind_table_and_job.propose(scene.plan(last_good=good, wrong_run=job("b")))

    assert goes_to(proposal) == good


SPARK = {"engine-name": "spark", "spark.app.id": "local-17"}
STAGED = {**SPARK, "source-snapshot-id": "4242", "published-wap-id": "audit-7"}


@pytest.mark.parametrize("told", [SPARK, STAGED], ids=["loaded", "published"])
def test_a_load_below_the_last_good_snapshot_stays(scene: Scene, told: dict[str, str]) -> None:
    """It came while the job was down, and a start on it would keep it, too; then a run began without state."""
    scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FINISHED")
    scene.commits(rows(range(900, 903)), told)
    good, right = scene.table.head, scene.positions()
    scene.flink.submit(job("b"), at_checkpoint=0)
    scene.flink.checkpoints(job("b"), 2)
    plan = scene.plan(last_good=good, wrong_run=job("b"))
    proposal = rewind_table_and_job.propose(plan)

    view = scene.carries_out(proposal, plan)

    assert goes_to(proposal) == good
    assert proposal.preview.others == ()
    assert view.state is ProposalState.APPLIED
    assert [each for each in scene.positions() if each < 30 or each >= 900] == right


@pytest.mark.parametrize("is_replay", [True, False])
def test_a_pick_stays_as_what_it_copied_would(scene: Scene, *, is_replay: bool) -> None:
    """A lost load of another engine stays; a lost replay may hold rows that the job brings again."""
    scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FAILED")
    scene.commits(rows(range(900, 905)), REPAIRED if is_replay else SPARK)
    lost = scene.table.head
    assert lost is not None
    scene.rolls_back(to=scene.snapshot("a", 3))
    picks(scene, lost, range(900, 905))
    good = scene.table.head
    scene.flink.submit(job("b"), at_checkpoint=0)
    scene.flink.checkpoints(job("b"), 1)
    plan = scene.plan(last_good=good, wrong_run=job("b")).model_copy(update={"drops_others": True})

    proposal = rewind_table_and_job.propose(plan)

    assert goes_to(proposal) == (scene.snapshot("a", 3) if is_replay else good)


@pytest.mark.parametrize("is_good", [True, False])
def test_what_another_engine_deleted_stays_deleted_or_is_said_to_return(scene: Scene, *, is_good: bool) -> None:
    """A request to forget somebody is no row of the job's."""
    scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FAILED")
    catalog = open_catalog(scene.folder)
    with catalog.load_table(scene.table.name).transaction() as change:
        change.delete(LessThan("source_position", 10), snapshot_properties={"engine-name": "spark"})
    catalog.close()
    good = scene.table.head if is_good else scene.snapshot("a", 3)
    scene.flink.submit(job("b"), at_checkpoint=0)
    scene.flink.checkpoints(job("b"), 2)
    plan = scene.plan(last_good=good, wrong_run=job("b"))

    if is_good:
        assert goes_to(rewind_table_and_job.propose(plan)) == good
        return
    with pytest.raises(Refused, match="10 rows that it took out return"):
        rewind_table_and_job.propose(plan)
