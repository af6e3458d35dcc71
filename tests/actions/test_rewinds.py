"""What a rewind may take off main: repairs, other writers' commits, and deduplications."""

import pyarrow as pa
import pytest
from pyiceberg.expressions import GreaterThanOrEqual, LessThan

from bot.actions import deduplicate_rows, roll_back_table_and_restore_job
from bot.actions._support.completing import completed
from bot.adapters.clock import SystemClock
from bot.history.other_writers import keeps_its_rows
from bot.incident.action import Plan
from bot.incident.diagnosis import LastGoodRows
from bot.incident.doubt import ACCUSERS
from bot.incident.effects import MoveTable
from bot.incident.proposal import Proposal
from bot.observation.contract import CopyRule
from bot.observation.errors import Refused
from bot.observation.file_changes import RowsOfFile
from bot.observation.findings import CopiesOfCommit, DuplicatePair, DuplicatesFinding, ExtraCopiesFinding
from bot.observation.ids import OperatorId, SnapshotId
from bot.observation.snapshot import REPAIR, TOOK_OUT
from bot.observation.table import Snapshot
from bot.service.proposals.verifying import Verifier
from tests.actions.other_jobs import declared, forgotten, guest, guest_commits
from tests.actions.owing import extent
from tests.actions.plans import answering, seeing
from tests.actions.scene import ProposalState, Scene, refusal
from tests.actions.test_other_jobs import commits
from tests.actions.test_rows_of_repairs import picks
from tests.little_flink import JOB
from tests.tables import OPERATOR, job, of_flink, rows

REPAIRED = {"engine-name": "waterline", REPAIR: "01X/3"}


def goes_to(proposal: Proposal) -> SnapshotId:
    """Of the move of main."""
    return next(each.to for each in proposal.effects if isinstance(each, MoveTable))


def takes_wrong_rows_out(scene: Scene) -> None:
    """A published repair has taken five rows out that had come with checkpoint 4 and belong nowhere."""
    scene.commits(rows(range(900, 905)), of_flink("a", 4))
    with scene.by_hand() as table, table.transaction() as change:
        change.delete(GreaterThanOrEqual("source_position", 900), snapshot_properties=REPAIRED)
    scene.flink.stands_at(job("a"), 4)


def brings(scene: Scene, table: pa.Table) -> None:
    """A published replay: its rows do not say which run had written them, for none had."""
    scene.commits(table, REPAIRED)


@pytest.mark.parametrize(
    ("known", "repairs"),
    [(LastGoodRows.CLEAN, ACCUSERS), (LastGoodRows.NOT_LOOKED_AT, ()), (LastGoodRows.WRONG, ()), (None, ())],
)
def test_it_repairs_what_was_found_only_above_rows_that_are_known_to_be_right(
    scene: Scene, known: LastGoodRows | None, repairs: tuple[str, ...]
) -> None:
    """Else what accused main may lie below the snapshot to which it goes, and stay there."""
    scene.flink.ends_with_savepoint(job("a"), "FINISHED")
    plan = scene.plan(last_good=scene.table.head)
    match = plan.match.model_copy(update={"last_good_rows": known})

    proposal = roll_back_table_and_restore_job.propose(plan.model_copy(update={"match": match}))

    assert proposal.repairs == repairs


def test_a_repair_that_took_rows_out_stays_under_a_rewind_to_it(scene: Scene) -> None:
    """The state that the rehearsal's stop left pairs right through it."""
    takes_wrong_rows_out(scene)
    stop = scene.flink.ends_with_savepoint(job("a"), "FINISHED")
    repaired, right = scene.table.head, scene.positions()
    scene.flink.submit(job("c"), at_checkpoint=4, restored=stop)
    scene.flink.checkpoints(job("c"), 2)
    plan = scene.plan(last_good=repaired, wrong_run=job("c"))
    proposal = roll_back_table_and_restore_job.propose(plan)

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
        roll_back_table_and_restore_job.propose(plan)
    chosen = roll_back_table_and_restore_job.propose(plan.model_copy(update={"drops_others": True}))

    assert "5 rows in 1 commit of approved repairs" in refused.value.found
    assert [(each.writer, each.rows) for each in chosen.preview.others] == [("approved repairs", 5)]


def test_what_a_repair_had_taken_out_is_said_to_return(scene: Scene) -> None:
    """The wrong rows are on main again then."""
    scene.flink.savepoint(job("a"))
    takes_wrong_rows_out(scene)
    scene.flink.checkpoints(job("a"), 1)
    plan = scene.plan(last_good=scene.snapshot("a", 5), wrong_run=job("b"))

    refused = refusal(roll_back_table_and_restore_job, plan)

    assert any("taken out would be there again: 5 rows" in each for each in extent(plan).points[0].cannot)
    assert "approved repairs" in refused.found
    assert "5 rows that it took out return" in refused.found


def test_a_repair_of_what_goes_as_well_is_not_missed(scene: Scene) -> None:
    """Commit 4 had come twice, and its second copy was taken out; the rewind takes both off."""
    scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 1)
    twice = scene.snapshot("a", 4)
    with scene.by_hand() as table, table.transaction() as change:
        told = {**REPAIRED, TOOK_OUT: str(twice)}
        change.delete(GreaterThanOrEqual("source_position", 30), snapshot_properties=told)
    scene.flink.checkpoints(job("a"), 1)
    plan = scene.plan(last_good=scene.snapshot("a", 3), wrong_run=job("a"))

    proposal = roll_back_table_and_restore_job.propose(plan)

    assert proposal.preview.others == ()


def test_a_replay_is_not_kept_where_the_job_may_bring_its_rows_again(scene: Scene) -> None:
    """Positions 30 to 49 were replayed while the job was down, and savepoint 3 is followed by them."""
    scene.flink.ends_with_savepoint(job("a"))
    brings(scene, rows(range(30, 50)))
    repaired = scene.table.head
    scene.flink.submit(job("b"), at_checkpoint=5)
    scene.flink.checkpoints(job("b"), 1)
    plan = scene.plan(last_good=repaired, wrong_run=job("b"))

    with pytest.raises(Refused, match="rows of other writers"):
        roll_back_table_and_restore_job.propose(plan)
    chosen = roll_back_table_and_restore_job.propose(plan.model_copy(update={"drops_others": True}))

    assert goes_to(chosen) == scene.snapshot("a", 3)


def test_a_pick_whose_rows_the_point_holds_stays(scene: Scene) -> None:
    """Commit 3 was lost under the run, which went on to 4; somebody picked it, and a run began without state."""
    lost = scene.snapshot("a", 3)
    scene.rolls_back(to=scene.snapshot("a", 2))
    scene.flink.checkpoints(job("a"), 1)
    scene.flink.ends_with_savepoint(job("a"))
    picks(scene, lost, range(20, 30))
    good = scene.table.head
    scene.flink.submit(job("b"), at_checkpoint=0)
    scene.flink.checkpoints(job("b"), 2)

    proposal = roll_back_table_and_restore_job.propose(scene.plan(last_good=good, wrong_run=job("b")))

    assert goes_to(proposal) == good


SPARK = {"engine-name": "spark", "spark.app.id": "local-17"}
STAGED = {**SPARK, "source-snapshot-id": "4242", "published-wap-id": "audit-7"}


@pytest.mark.parametrize("told", [SPARK, STAGED], ids=["loaded", "published"])
def test_a_load_below_the_last_good_snapshot_stays(scene: Scene, told: dict[str, str]) -> None:
    """It came while the job was down, and a start on it would keep it, too; then a run began without state."""
    scene.flink.ends_with_savepoint(job("a"), "FINISHED")
    scene.commits(rows(range(900, 903)), told)
    good, right = scene.table.head, scene.positions()
    scene.flink.submit(job("b"), at_checkpoint=0)
    scene.flink.checkpoints(job("b"), 2)
    plan = scene.plan(last_good=good, wrong_run=job("b"))
    proposal = roll_back_table_and_restore_job.propose(plan)

    view = scene.carries_out(proposal, plan)

    assert goes_to(proposal) == good
    assert proposal.preview.others == ()
    assert view.state is ProposalState.APPLIED
    assert [each for each in scene.positions() if each < 30 or each >= 900] == right


@pytest.mark.parametrize("is_replay", [True, False])
def test_a_pick_stays_as_what_it_copied_would(scene: Scene, *, is_replay: bool) -> None:
    """A lost load of another engine stays; a lost replay may hold rows that the job brings again."""
    scene.flink.ends_with_savepoint(job("a"))
    scene.commits(rows(range(900, 905)), REPAIRED if is_replay else SPARK)
    lost = scene.table.head
    assert lost is not None
    scene.rolls_back(to=scene.snapshot("a", 3))
    picks(scene, lost, range(900, 905))
    good = scene.table.head
    scene.flink.submit(job("b"), at_checkpoint=0)
    scene.flink.checkpoints(job("b"), 1)
    plan = scene.plan(last_good=good, wrong_run=job("b")).model_copy(update={"drops_others": True})

    proposal = roll_back_table_and_restore_job.propose(plan)

    assert goes_to(proposal) == (scene.snapshot("a", 3) if is_replay else good)


@pytest.mark.parametrize("is_good", [True, False])
def test_what_another_engine_deleted_stays_deleted_or_is_said_to_return(scene: Scene, *, is_good: bool) -> None:
    """A request to forget somebody is no row of the job's."""
    scene.flink.ends_with_savepoint(job("a"))
    with scene.by_hand() as table, table.transaction() as change:
        change.delete(LessThan("source_position", 10), snapshot_properties={"engine-name": "spark"})
    good = scene.table.head if is_good else scene.snapshot("a", 3)
    scene.flink.submit(job("b"), at_checkpoint=0)
    scene.flink.checkpoints(job("b"), 2)
    plan = scene.plan(last_good=good, wrong_run=job("b"))

    if is_good:
        assert goes_to(roll_back_table_and_restore_job.propose(plan)) == good
        return
    with pytest.raises(Refused, match="10 rows that it took out return"):
        roll_back_table_and_restore_job.propose(plan)


def rewinding(scene: Scene, *, drops_others: bool = False) -> Plan:
    """Back to the last commit of run a."""
    plan = scene.plan(last_good=scene.snapshot("a", 4), wrong_run=job("b"))
    return plan.model_copy(update={"drops_others": drops_others})


def seen_as(plan: Plan, change: Snapshot) -> Plan:
    """The same with the head as `change` has it."""
    table = plan.case.observation.table
    snapshots = tuple(change if s.snapshot_id == change.snapshot_id else s for s in table.snapshots)
    return seeing(plan, table=type(table).model_validate({**table.model_dump(), "snapshots": snapshots}))


def test_what_is_dropped_by_choice_is_named_and_nothing_more_is_promised(scene: Scene) -> None:
    """Unasked it is refused, with writer and rows; then the preview says what does not come back, and it is done."""
    scene.restored_from_older()
    scene.backfill_commits()
    plan = rewinding(scene, drops_others=True)

    with pytest.raises(Refused, match=r"3 rows in 1 commit of spark application local-17.*drop_others=yes"):
        roll_back_table_and_restore_job.propose(rewinding(scene))
    proposal = roll_back_table_and_restore_job.propose(plan)
    view = scene.carries_out(proposal, plan)

    told = " ".join(completed(proposal, plan).preview.sentences)
    assert "3 rows in 1 commit of spark application local-17" in told
    assert "and the job does not read again" in told
    assert "no missing rows" not in told
    assert "does not read 3 rows of other writers again" in proposal.preview.sure
    assert [(each.writer, each.rows) for each in proposal.preview.others] == [("spark application local-17", 3)]
    assert view.state is ProposalState.APPLIED
    assert not [each for each in scene.positions() if each >= 900]
    verifying = Verifier(scene.store, scene.observer, None, {}, SystemClock())  # type: ignore[arg-type]
    assert verifying._moves_waterline(view, None) == "under-review"


def test_a_rewind_of_the_jobs_own_commits_promises_as_before(scene: Scene) -> None:
    """Also where it is said that others may go: there are none."""
    scene.restored_from_older()

    proposal = roll_back_table_and_restore_job.propose(rewinding(scene))
    chosen = roll_back_table_and_restore_job.propose(rewinding(scene, drops_others=True))

    assert proposal.preview.others == ()
    assert "no missing rows" in proposal.preview.sentences[-1]
    assert chosen.digest == proposal.digest


def test_a_compaction_is_nobodys_rows_and_adds_none(scene: Scene) -> None:
    """What it has written again is not counted as leaving main a second time, neither rows nor files."""
    scene.restored_from_older()
    plan = rewinding(scene)
    table = plan.case.observation.table
    head = table.by_id[table.head]  # type: ignore[index]
    summary = {"added-records": "1000000", "deleted-records": "1000000", "added-data-files": "4"}
    compaction = head.model_copy(update={"operation": "replace", "summary": summary})
    before = roll_back_table_and_restore_job.propose(plan).preview

    plan = seen_as(plan, compaction)
    preview = roll_back_table_and_restore_job.propose(plan).preview

    assert keeps_its_rows(plan.case.observation.table, compaction)
    assert preview.commits == before.commits
    assert preview.rows == before.rows - head.counted("added-records")
    assert preview.files == before.files - head.counted("added-data-files")


def test_another_job_is_another_writer(scene: Scene) -> None:
    """Its run is none of this job's, and its sink is another operator."""
    scene.restored_from_older()
    plan = rewinding(scene)
    table = plan.case.observation.table
    head = table.by_id[table.head]  # type: ignore[index]
    summary = {**dict(head.summary), "flink.job-id": job("e"), "flink.operator-id": "e" * 32}

    with pytest.raises(Refused, match=f"Flink run {'e' * 6}"):
        roll_back_table_and_restore_job.propose(seen_as(plan, head.model_copy(update={"summary": summary})))


@pytest.mark.parametrize("has_savepoint", [False, True], ids=["nothing on storage", "its savepoint beside the job's"])
@pytest.mark.parametrize("is_forgotten", [False, True], ids=["listed", "forgotten"])
def test_a_guest_is_another_writer_also_with_a_savepoint(
    scene: Scene, *, has_savepoint: bool, is_forgotten: bool
) -> None:
    """A restore point that is found names a run, not whose it is."""
    scene.restored_from_older()
    if has_savepoint:
        guest_commits(scene, 8, 900)
    else:
        commits(scene, "e", 8, range(900, 903), operator="ee" * 16)
    if is_forgotten:
        forgotten(scene, "a")

    with pytest.raises(Refused, match=r"3 rows in 1 commit of Flink run eeeeee .*drop_others=yes"):
        roll_back_table_and_restore_job.propose(rewinding(scene))


def test_a_declared_job_of_the_same_sink_is_another_writer(scene: Scene) -> None:
    """Two jobs made of one program name their sinks alike; the configuration tells them apart."""
    scene.restored_from_older()
    other = guest(scene, 90)
    other.checkpoints(job("e"))
    other.savepoint(job("e"))
    declared(scene)

    with pytest.raises(Refused, match=r"10 rows in 1 commit of Flink run eeeeee .*drop_others=yes"):
        roll_back_table_and_restore_job.propose(rewinding(scene))


@pytest.mark.parametrize("sink", [OPERATOR, OperatorId("d" * 32)], ids=["the same sink", "another"])
def test_kin_that_wrote_on_is_no_other_writer(scene: Scene, sink: OperatorId) -> None:
    """It reads what the job reads: the job makes its rows again."""
    older = scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 1)
    scene.flink.stop(JOB, job("a"))
    other = guest(scene, 3)
    other.submit(job("e"), at_checkpoint=3, restored=older, operator=sink)
    other.checkpoints(job("e"), 2)
    declared(scene)
    plan = scene.plan(last_good=scene.snapshot("a", 4), wrong_run=None)

    proposal = completed(roll_back_table_and_restore_job.propose(plan), plan)

    assert proposal.preview.others == ()


TEN = 10


def head(scene: Scene) -> SnapshotId:
    assert scene.table.head is not None
    return scene.table.head


def commits_copies(scene: Scene, summary: dict[str, str]) -> SnapshotId:
    """Somebody commits the rows of checkpoint 4; returns the snapshot."""
    scene.commits(rows(range(30, 40)), summary)
    return head(scene)


def deleting(scene: Scene, gone: SnapshotId, stays: SnapshotId, *others: SnapshotId) -> Proposal:
    """All ten rows of commit `gone`, copies of those of `stays`; keys may live in others, too."""
    with scene.by_hand() as table:
        entries = table.inspect.entries().to_pylist()
    [path] = [each["data_file"]["file_path"] for each in entries if each["snapshot_id"] == gone]
    extra = ExtraCopiesFinding(
        at=head(scene), keys=TEN, rows=TEN, commits=(CopiesOfCommit(snapshot_id=gone, rows=TEN),), differing=0,
        columns={}, twice_named=0, places=(RowsOfFile(path=path, spans=((0, TEN - 1),)),), rule=CopyRule(),
    )  # fmt: skip
    named = [DuplicatePair(first=stays, second=each, keys=TEN) for each in (gone, *others)]
    found = DuplicatesFinding(
        rows_checked=50, keys=TEN, extra_rows=TEN * len(named), pairs=tuple(named), within_commit=TEN * (stays == gone)
    )
    return deduplicate_rows.propose(answering(scene.plan(), duplicates=found, extra_copies=extra))


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
    with scene.by_hand() as table:
        table.manage_snapshots().set_current_snapshot(head_of).commit()


def begun_again(scene: Scene) -> tuple[SnapshotId, SnapshotId]:
    """Run b goes on from savepoint 3 and commits what run a had committed after it; returns both commits."""
    older = scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 1)
    first = head(scene)
    scene.flink.ends(job("a"), "FAILED")
    scene.flink.submit(job("b"), at_checkpoint=3, restored=older)
    scene.flink.checkpoints(job("b"), 1)
    return first, head(scene)


def deduplicated_rewinding(scene: Scene, to: SnapshotId) -> Plan:
    """Below what run c committed."""
    return scene.plan(last_good=to, wrong_run=job("c"), number=2)


def test_a_rewind_below_the_jobs_own_copies_asks_nothing(scene: Scene) -> None:
    """Copies and repair go, and the job reads the rows once."""
    first, again = begun_again(scene)
    deduplicated(scene, again, first)
    plan = deduplicated_rewinding(scene, scene.snapshot("a", 3))
    told = {each.snapshot_id: " ".join(each.cannot) for each in extent(plan).points}

    proposal = roll_back_table_and_restore_job.propose(plan)
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
        roll_back_table_and_restore_job.propose(deduplicated_rewinding(scene, again))

    assert "approved repairs" in refused.value.found


def test_beside_a_backfill_that_stays_the_job_would_bring_its_copies_again(scene: Scene) -> None:
    """Spark had written the rows before the job came to them."""
    backfill = commits_copies(scene, SPARK)
    scene.flink.savepoint(job("a"))
    scene.commits(rows(range(60, 70)), of_flink("a", 3))
    scene.flink.checkpoints(job("a"), 1)
    deduplicated(scene, head(scene), backfill)

    with pytest.raises(Refused, match="rows of other writers") as refused:
        roll_back_table_and_restore_job.propose(deduplicated_rewinding(scene, scene.snapshot("a", 3)))

    assert "approved repairs" in refused.value.found


def test_copies_of_another_writer_are_asked_for(scene: Scene) -> None:
    """Spark had written again what the job had written."""
    scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 1)
    first = head(scene)
    deduplicated(scene, commits_copies(scene, SPARK), first)

    refused = refusal(roll_back_table_and_restore_job, deduplicated_rewinding(scene, scene.snapshot("a", 3)))

    assert "spark application local-17" in refused.found


@pytest.mark.parametrize("summary", [of_flink("a", 5), of_flink("a", 4, {"flink.operator-id": "b" * 32})])
def test_what_the_source_or_a_second_sink_gives_twice_would_come_twice_again(
    scene: Scene, summary: dict[str, str]
) -> None:
    """One run brought both copies, and did not go back between them."""
    scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 1)
    first = head(scene)
    deduplicated(scene, commits_copies(scene, summary), first)

    with pytest.raises(Refused, match="rows of other writers"):
        roll_back_table_and_restore_job.propose(deduplicated_rewinding(scene, scene.snapshot("a", 3)))


def test_of_a_key_that_lives_three_times_nothing_is_said(scene: Scene) -> None:
    """A rewind below its copies asks then."""
    first, again = begun_again(scene)
    third = commits_copies(scene, of_flink("d", 4))

    assert carries(deleting(scene, again, first, third)) == {}
    assert carries(deleting(scene, again, first)) == {"waterline.deleted-from": str(again)}


def carries(proposal: Proposal) -> dict[str, str]:
    """Of the one effect that deletes rows."""
    return next(each.carries for each in proposal.effects if each.kind == "delete-rows")
