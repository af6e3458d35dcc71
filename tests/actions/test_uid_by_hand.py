"""Whoever gives the sink another uid by hand is sent to no state above which the job has committed: its source would
read those rows again, and a sink without state appends them a second time."""

import re
from shutil import copytree, rmtree

import pytest

from bot.actions import change_operator_uid, rewind_table_and_job
from bot.domain.action import Plan
from bot.domain.errors import Refused
from bot.domain.evidence import Evidence, Verdict
from bot.domain.execution import ProposalState
from bot.domain.findings import GapsFinding
from bot.domain.flink import CheckpointKind
from bot.domain.ids import EvidenceId, SnapshotId
from bot.domain.looked import NotSeen
from bot.domain.table import Window
from tests.actions.guests import declared, guest
from tests.actions.scene import Scene
from tests.actions.test_guests import commits
from tests.actions.test_publications import savepoint_of, starts_from_a_wrong_savepoint
from tests.actions.test_start_from_a_retained_checkpoint import planned as planned_under_a_run
from tests.actions.test_uid_after_expiry import expire_all_but_the_head, planned
from tests.little_flink import JOB
from tests.tables import job

WITHOUT_STATE = "Instead, start it without any state, with its source set after"
HIGHEST = "position 49, the highest on the table"
NEWEST = "the newest position that the table has of each of its partitions"
REWIND = "rewind table and job to checkpoint 3"


def refusal(plan: Plan) -> str:
    """What is said to who wants another uid."""
    with pytest.raises(Refused) as refused:
        change_operator_uid.propose(plan)
    return str(refused.value)


def left_at_3(scene: Scene) -> None:
    """Savepoint 3 is the only restore point left; checkpoints 4 and 5 are committed, and the job is down."""
    scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 2)
    scene.flink.breaks(job("a"))
    scene.flink.stop(JOB, job("a"))


def with_last_good(plan: Plan) -> Plan:
    """As the diagnosis names it: the head."""
    match = plan.match.model_copy(update={"last_good": plan.case.observation.table.head})
    return plan.model_copy(update={"match": match})


def counted(plan: Plan, highest: int, head: SnapshotId, until: SnapshotId | None = None) -> Plan:
    """As `missing_positions` has answered of the table at that head."""
    gaps = GapsFinding(lowest=0, highest=highest, positions=highest + 1, missing=0, gaps=())
    evidence = Evidence(
        verdict=Verdict.RULED_OUT, headline="None is missing.", id=EvidenceId("1"), task="missing_positions",
        task_version=1, question="?", metadata_location=plan.case.observation.table.metadata_location, head=head,
        window=Window(since=None, until=until or head), at=plan.at, took_ms=1, bytes_read=0, finding=gaps,
    )  # fmt: skip
    case = plan.case.model_copy(update={"gaps": gaps, "evidence": (evidence,)})
    return plan.model_copy(update={"case": case})


def counted_at_the_head(plan: Plan) -> Plan:
    """When the job was down already."""
    head = plan.case.observation.table.head
    assert head is not None
    return counted(plan, 49, head)


@pytest.mark.parametrize("is_declared", [True, False], ids=["suffix declared", "no suffix declared"])
@pytest.mark.parametrize("is_expired", [True, False], ids=["commits expired", "commits listed"])
def test_no_state_from_before_the_newest_commit_is_named(scene: Scene, is_expired: bool, is_declared: bool) -> None:
    """Where its snapshot is listed, table and job go back to it together; else the source is set by its position."""
    left_at_3(scene)
    if is_expired:
        scene.backfill_commits()
        expire_all_but_the_head(scene)

    plan = with_last_good(counted_at_the_head(planned(scene)))
    told = refusal(plan.model_copy(update={"renames_sink": is_declared}))

    assert "Start the job from none of the points on storage: rows after checkpoint 3 would be duplicated." in told
    assert "allowNonRestoredState" not in told
    assert (f"{WITHOUT_STATE} {HIGHEST}" in told, REWIND in told) == (is_expired, not is_expired)
    assert ("/waterline propose rewind_table_and_job" in told) is not is_expired


@pytest.mark.parametrize("is_of_the_head", [True, False], ids=["of an older window", "of an older head"])
def test_no_position_from_before_the_newest_commits_is_named(scene: Scene, is_of_the_head: bool) -> None:
    """Two commits of a known run leave evidence fresh, and have brought the table from position 29 to 49. One whose
    window ends below the head knows no more."""
    looked_at = scene.table.head
    assert looked_at is not None
    left_at_3(scene)
    assert max(scene.positions()) == 49
    plan = planned(scene)
    head = plan.case.observation.table.head if is_of_the_head else looked_at
    assert head is not None

    told = refusal(counted(plan, 29, head, until=looked_at))

    assert f"{WITHOUT_STATE} {NEWEST}" in told
    assert "the highest on the table" not in told


@pytest.mark.parametrize("is_unseen", [True, False], ids=["another job's, unseen", "the job's own"])
def test_no_position_is_named_under_a_run_that_may_commit(scene: Scene, is_unseen: bool) -> None:
    """It may have come further by the time people have stopped it; so may one that could not be looked at."""
    left_at_3(scene)
    if not is_unseen:
        scene.flink.submit(job("b"), at_checkpoint=5)
    plan = counted_at_the_head(planned(scene))
    if is_unseen:
        unseen = NotSeen(source="Flink REST", reason="It is down.", remedy="Look again.")
        seen = plan.case.observation.model_copy(update={"others": unseen})
        plan = plan.model_copy(update={"case": plan.case.model_copy(update={"observation": seen})})

    told = refusal(plan)

    assert f"{WITHOUT_STATE} {NEWEST}" in told


def test_the_rewind_that_is_named_is_possible(scene: Scene) -> None:
    """Every row is there once after it."""
    left_at_3(scene)
    plan = with_last_good(planned(scene))
    assert REWIND in refusal(plan)

    view = scene.carries_out(rewind_table_and_job.propose(plan), plan)
    scene.flink.checkpoints(scene.alive[0], 2)

    assert view.state is ProposalState.APPLIED, view.result
    assert len(scene.positions()) == len(set(scene.positions()))


def test_a_rewind_is_not_named_where_the_diagnosis_names_no_last_good_snapshot(scene: Scene) -> None:
    """It would be refused."""
    left_at_3(scene)

    told = refusal(counted_at_the_head(planned(scene)))

    assert f"{WITHOUT_STATE} {HIGHEST}" in told
    assert "Rewind table" not in told


def test_the_state_of_a_silent_run_that_began_below_is_not_named(scene: Scene) -> None:
    """Main is at 3, run b was started from 1 and has committed nothing: it is where it is by rows that main has."""
    starts_from_a_wrong_savepoint(scene)
    scene.flink.savepoint(job("b"))
    rmtree(savepoint_of(scene, "a", 3))

    told = refusal(planned(scene))

    assert "Start the job from none of the points on storage: rows after checkpoint 1 would be duplicated." in told


def test_under_a_run_that_may_have_gone_on_people_ask_first(scene: Scene) -> None:
    """Another declared job has committed last: what it reads decides whether the job's own point repeats its rows."""
    scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FAILED")
    commits(scene, "e", 8, range(900, 903), operator="ee" * 16)
    guest(scene, 8)
    declared(scene)

    told = refusal(planned(scene))

    assert "Run eeeeee committed last. Ask its owners what it reads." in told
    assert "If it reads another source: Start the job from" in told
    assert "(checkpoint 3) with allowNonRestoredState=true" in told


def test_where_nothing_tells_what_was_committed_people_look_first(scene: Scene) -> None:
    """The commits and the metadata files that told of them are gone."""
    left_at_3(scene)
    scene.backfill_commits()
    expire_all_but_the_head(scene)
    plan = planned(scene).model_copy(update={"expired": lambda _table: ()})

    told = refusal(plan)

    assert "(checkpoint 3) with allowNonRestoredState=true" in told
    assert "shows what the job committed after that was written" in told
    assert "They would be duplicated." in told


COPY = r"First copy away \S+003, and what it references under `shared`: Flink may delete them\."
CANCEL = r"Cancel run aaaaaa \(no stop-with-savepoint\)"
PROPOSE_AGAIN = r"If that run has committed anything more by then, start nothing and propose this again\."


@pytest.mark.parametrize("kept", [False, None])
def test_what_flink_would_delete_is_brought_away_before_the_cancel(scene: Scene, kept: bool | None) -> None:
    """The one state that fits is a checkpoint of the very run that is to be cancelled."""
    told = refusal(planned_under_a_run(scene, kept))

    assert re.search(
        rf"{COPY} {CANCEL} only then, and copy back what is gone\. {PROPOSE_AGAIN} Start the job from", told
    )


def test_what_flink_keeps_at_a_cancel_is_started_from_at_once(scene: Scene) -> None:
    """RETAIN_ON_CANCELLATION is set."""
    told = refusal(planned_under_a_run(scene, kept=True))

    assert re.search(rf"{CANCEL}\. {PROPOSE_AGAIN} Start the job from", told)
    assert "copy away" not in told


def test_a_savepoint_is_preferred_to_a_checkpoint_that_may_go(scene: Scene) -> None:
    """Whichever is the newer of the two that pair with the newest commit."""
    lasting = copytree(scene.flink.savepoint(job("a")), scene.flink.savepoints / "savepoint-lasting")
    plan = planned_under_a_run(scene, kept=False)
    assert plan.case.pairing is not None
    pairings = tuple(
        each.model_copy(update={"is_durable": True, "checkpoint_kind": CheckpointKind.SAVEPOINT})
        if each.path.endswith("lasting")
        else each
        for each in plan.case.pairing.pairings
    )
    for order in (pairings, pairings[::-1]):
        pairing = plan.case.pairing.model_copy(update={"pairings": order})

        told = refusal(plan.model_copy(update={"case": plan.case.model_copy(update={"pairing": pairing})}))

        assert f"Start the job from file:{lasting} (checkpoint 3)" in told
        assert "copy away" not in told


def test_where_nothing_can_be_read_what_may_be_needed_is_brought_away(scene: Scene) -> None:
    """Which point it is, people have to tell."""
    plan = planned_under_a_run(scene, kept=False)
    unread = plan.case.model_copy(update={"pairing": None})

    told = refusal(plan.model_copy(update={"case": unread}))

    assert re.search(rf"First copy away the newest readable point that .*\. {CANCEL}\. Start the job from", told)
