"""An undo is built from what was really done; marks and trust while the incident is open."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.actions import (
    resolve_fork,
    restart_from_stop_savepoint,
    restore_job_at_head,
    roll_back_table_and_restore_job,
    take_savepoint,
    undo_proposal,
    verify_current_state,
)
from bot.adapters.clock import SystemClock
from bot.incident.action import Plan
from bot.incident.execution import ProposalState, ProposalView
from bot.incident.trust import TrustState
from bot.incident.trust_claims import disagreements, judge, newest_claim
from bot.observation.errors import Refused
from bot.observation.evidence import Evidence, Verdict
from bot.observation.ids import EvidenceId
from bot.service.waterline import TAG, Waterline
from tests.actions.plans import answering
from tests.actions.scene import Scene
from tests.little_flink import JOB
from tests.tables import ORDERS, job

pytestmark = pytest.mark.smoke


def rewound(scene: Scene) -> ProposalView:
    """Run b repeats checkpoint 3 and is rewound: 40 rows become 30, and the new run goes on."""
    plan = scene.restored_from_older()
    view = scene.carries_out(roll_back_table_and_restore_job.propose(plan), plan)
    assert scene.positions() == list(range(60))
    return view


def test_a_rewind_is_undone_to_the_very_state_that_it_left(scene: Scene) -> None:
    """Main is back at the tag, the wrong run's state goes on, and what the new run had read is read again."""
    done = rewound(scene)
    left = scene.table.ref(f"{scene.incident}-left-p001")

    view = scene.does(undo_proposal, undoes=done.proposal.id, number=2)

    assert view.state is ProposalState.APPLIED
    assert left in scene.table.chain_ids
    assert scene.positions() == sorted([*range(70), *range(30, 40)])
    assert len(scene.alive) == 1
    assert all(check.passed for check in scene.checked(view)), scene.checked(view)


def test_an_undo_can_be_undone(scene: Scene) -> None:
    """It is a proposal like any other: the rewound state comes back."""
    done = rewound(scene)
    undone = scene.does(undo_proposal, undoes=done.proposal.id, number=2)

    scene.does(undo_proposal, undoes=undone.proposal.id, number=3)

    positions = scene.positions()
    assert positions == list(range(len(positions)))


def test_an_undo_that_would_lose_another_writers_commit_is_refused_with_its_name(scene: Scene) -> None:
    """Nobody's rows leave main because somebody changes their mind."""
    done = rewound(scene)
    scene.backfill_commits()

    with pytest.raises(
        Refused, match=r"was committed since by spark application local-17 at .* UTC: an undo would lose its rows"
    ):
        undo_proposal.propose(scene.plan(undoes=done.proposal.id, number=2))


def test_an_undo_without_the_stopped_runs_state_is_refused(scene: Scene) -> None:
    """The job would lose or repeat rows; the refusal says what was looked for."""
    done = rewound(scene)
    for savepoint in scene.flink.savepoints.glob("savepoint-bbbbbb-*"):
        shutil.rmtree(savepoint)

    with pytest.raises(Refused, match="Expected a savepoint of run bbbbbb that pairs with"):
        undo_proposal.propose(scene.plan(undoes=done.proposal.id, number=2))


def test_the_state_of_an_earlier_start_under_the_same_id_is_not_taken(scene: Scene) -> None:
    """It carries the same checkpoint id, and its source stands elsewhere (F14)."""
    older = scene.flink.savepoint(job("a")).rename(scene.flink.savepoints / "savepoint-earlier-start")
    committed_at = scene.table.chain[0].committed_at.timestamp()
    os.utime(older / "_metadata", (committed_at, committed_at))
    scene.flink.ends(job("a"), "CANCELED")
    scene.flink.submit(job("a"), at_checkpoint=0)
    scene.flink.checkpoints(job("a"), 3)
    done = scene.does(restart_from_stop_savepoint)
    shutil.rmtree(scene.flink.savepoints / "savepoint-aaaaaa-000000000003")

    with pytest.raises(Refused, match=r"Expected a savepoint of run aaaaaa that pairs with .*; found .*earlier-start"):
        undo_proposal.propose(scene.plan(undoes=done.proposal.id, number=2))


def test_an_undo_while_somebody_elses_run_is_alive_is_refused(scene: Scene) -> None:
    """The state of today decides."""
    done = rewound(scene)
    scene.flink.stop(JOB, scene.alive[0])
    scene.flink.submit(job("d"), at_checkpoint=6)

    with pytest.raises(Refused, match="found run dddddd"):
        undo_proposal.propose(scene.plan(undoes=done.proposal.id, number=2))


def test_a_restart_is_undone_with_the_rows_of_the_new_run_taken_off(scene: Scene) -> None:
    """They are read again by the run that goes on from the old state."""
    done = scene.does(restart_from_stop_savepoint)

    view = scene.does(undo_proposal, undoes=done.proposal.id, number=2)

    assert view.state is ProposalState.APPLIED
    assert scene.positions() == list(range(50))
    assert [c for c in scene.calls if c == "stop"] == ["stop", "stop"]


def test_where_no_run_was_alive_none_is_started(scene: Scene) -> None:
    """As it was before means: standing still."""
    scene.flink.stop(JOB, job("a"))
    done = scene.does(restore_job_at_head)

    scene.does(undo_proposal, undoes=done.proposal.id, number=2)

    assert scene.alive == []
    assert scene.positions() == list(range(30))


def test_a_proposal_that_was_refused_halfway_is_undone_as_far_as_it_came(scene: Scene) -> None:
    """The job was stopped and the table was not moved: the job is started again from that stop."""
    older = scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 1)
    scene.flink.stop(JOB, job("a"))
    scene.flink.submit(job("b"), at_checkpoint=3, restored=older)
    scene.flink.checkpoints(job("b"), 1)
    plan = scene.plan(last_good=scene.snapshot("a", 4), wrong_run=job("b"))
    stop = scene.flink.stop
    scene.flink.then(scene.backfill_commits)
    done = scene.carries_out(roll_back_table_and_restore_job.propose(plan), plan)
    scene.flink.stop = stop  # type: ignore[method-assign]

    view = scene.does(undo_proposal, undoes=done.proposal.id, number=2)

    assert done.state is ProposalState.REFUSED
    assert view.state is ProposalState.APPLIED
    assert scene.calls[-1] == "start"
    assert len(scene.alive) == 1
    assert {900, 901, 902} <= set(scene.positions())


def test_a_savepoint_is_undone_by_going_on_from_it(scene: Scene) -> None:
    """Nothing leaves main."""
    done = scene.does(take_savepoint)

    scene.does(undo_proposal, undoes=done.proposal.id, number=2)

    assert scene.positions() == list(range(50))
    assert len(scene.alive) == 1


def test_a_second_writer_is_never_started(scene: Scene) -> None:
    """The stop of a fork cannot be undone, and says so before and after."""
    scene.flink.submit(job("b"), at_checkpoint=3)
    done = scene.does(resolve_fork, wrong_run=job("b"))

    with pytest.raises(Refused, match="Waterline starts no second writer"):
        undo_proposal.propose(scene.plan(undoes=done.proposal.id, number=2))

    assert "It cannot be undone here" in done.proposal.undo


def test_what_has_not_ended_cannot_be_undone(scene: Scene) -> None:
    """First it is known what was done."""
    first = scene.plan()
    made = scene.approved(take_savepoint.propose(first), first)

    with pytest.raises(Refused, match="it is approved, with 0 of 3 steps done"):
        scene.plan(undoes=made.id, number=2)


@pytest.fixture
def waterline(scene: Scene) -> Waterline:
    """Of the scene's incident, at whose opening no snapshot was known to be good."""
    made = Waterline(scene.store, scene.catalog, SystemClock())
    made.under_review(scene.incident)
    return made


def test_a_table_of_which_no_state_is_known_to_be_good_is_marked_without_a_tag(
    scene: Scene, waterline: Waterline
) -> None:
    """Engines that look at the property alone are warned; the record says the same as the table."""
    assert (scene.table.properties["waterline.status"], scene.table.ref(TAG)) == ("under-review", None)
    assert disagreements(newest_claim(scene.store.all()), scene.table) == ()


def test_a_mark_that_somebody_took_off_is_put_back_and_noted_once(scene: Scene, waterline: Waterline) -> None:
    """A pipeline that asks the table must not go on because of it."""
    head = scene.table.head
    assert head is not None
    waterline.trusted(scene.incident, head)
    scene.sets("waterline.status", "fine")

    waterline.keep(scene.incident)
    waterline.keep(scene.incident)

    assert (scene.table.properties["waterline.status"], scene.table.ref(TAG)) == ("trusted", head)
    assert scene.notes == ["Somebody changed the table's tag or property. Waterline set both again."]


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """Run a wrote three commits, and nothing is known to be wrong."""
    return Scene.made_in(tmp_path, 3).plan()


def told(plan: Plan, task: str, verdict: Verdict, branch: str | None = None) -> Plan:
    """The newest answer of that task."""
    table = plan.case.observation.table
    evidence = Evidence(
        verdict=verdict, headline="This is what was found.", id=EvidenceId("1"), task=task, task_version=1,
        question="?", metadata_location=table.metadata_location, head=table.head, window=plan.case.window,
        at=SystemClock().now(), took_ms=1, bytes_read=0, branch=branch,
    )  # fmt: skip
    return answering(plan, evidence=(evidence,))


@pytest.mark.parametrize(
    "task", ["duplicate_rows", "missing_positions", "duplicate_files", "missing_files", "unreadable_files"]
)
def test_a_table_that_evidence_accuses_is_refused(plan: Plan, task: str) -> None:
    """Also of files, which its own proof does not ask for; and by an earlier answer that no newer look covers."""
    accuses = told(plan, task, Verdict.CONFIRMED)
    earlier = answering(plan, evidence=(), accused=accuses.case.evidence)

    for each in (accuses, earlier):
        with pytest.raises(Refused, match=r"cannot be trusted as it is.*This is what was found"):
            verify_current_state.propose(each)


@pytest.mark.parametrize(
    ("task", "verdict", "branch"),
    [
        ("missing_files", Verdict.RULED_OUT, None),
        ("missing_files", Verdict.INCONCLUSIVE, None),
        ("missing_files", Verdict.CONFIRMED, "recovery-wl-1"),
        ("late_rows", Verdict.CONFIRMED, None),
    ],
)
def test_one_that_nothing_accuses_is_offered(plan: Plan, task: str, verdict: Verdict, branch: str | None) -> None:
    """The proof asks once more; a branch is read by nobody, and late rows are no wrong ones."""
    proposal = verify_current_state.propose(told(plan, task, verdict, branch))

    assert "no evidence finds a fault" in " ".join(proposal.preview.sentences)


def test_where_no_mark_is_wanted_the_record_alone_tells(scene: Scene) -> None:
    """The table is left as it is, and is trusted all the same."""
    head, before = scene.table.snapshots[-1].snapshot_id, scene.table.properties

    Waterline(scene.store, scene.catalog, SystemClock(), "none").trusted(scene.incident, head)
    trust = [
        judge(ORDERS, scene.table, scene.store.all(), at=datetime.now(UTC), is_marked=is_marked)
        for is_marked in (False, True)
    ]

    assert (scene.table.ref(TAG), scene.table.properties) == (None, before)
    assert [each.state for each in trust] == [TrustState.TRUSTED, TrustState.UNKNOWN]
    assert (trust[0].snapshot, trust[0].doubts) == (head, ())


def test_where_tags_are_not_wanted_the_property_alone_marks_the_table(scene: Scene) -> None:
    """In S3 Tables a tag stops the expiry of snapshots; a tag from before goes with the next mark."""
    tagging = Waterline(scene.store, scene.catalog, SystemClock())
    waterline = Waterline(scene.store, scene.catalog, SystemClock(), "property")
    first, *_, head = [each.snapshot_id for each in scene.table.snapshots]
    tagging.trusted(scene.incident, first)

    waterline.trusted(scene.incident, head)
    marked, agrees = scene.table, disagreements(newest_claim(scene.store.all()), scene.table)
    waterline.keep(scene.incident)
    waterline.under_review(scene.incident)

    assert (marked.ref(TAG), marked.waterline, agrees) == (None, head, ())
    assert (scene.table.ref(TAG), scene.table.waterline) == (None, None)
    assert len(scene.notes) == 0
