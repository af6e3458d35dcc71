"""A repair that is given up: the job goes on from what pairs with main, or does not start."""

import pytest

from bot.actions import drop_repair_branch, protect_last_commit, publish_repair, restore_job_at_head, take_savepoint
from bot.actions._support.staging import branch_for, rehearsal_of
from bot.adapters.clock import SystemClock
from bot.incident.action import Plan
from bot.incident.diagnosis import CannotTell, Diagnosis, Examined, Excluded, ModeResult
from bot.incident.effects import DeleteRows, MarkTable, StartJob
from bot.incident.entries import Diagnosed
from bot.incident.execution import ProposalState, ProposalView
from bot.incident.journal import WATERLINE
from bot.incident.proposal import Proposal
from bot.incident.runbook import NOT_POSSIBLE
from bot.incident.staged_repairs import standing_job
from bot.observation.errors import CouldNotLook, NotYet, Refused, Superseded
from bot.observation.file_changes import RowsOfFile
from bot.observation.ids import ProposalId, StepId
from bot.observation.looked import NotSeen
from bot.service.proposals.proposing import Proposals, branches_begun, past_of_rehearsal
from tests.actions.plans import seeing
from tests.actions.scene import MODE, Scene, savepoint_of
from tests.little_flink import JOB
from tests.rewound import ANA, BEN
from tests.tables import ORDERS, job, rows

BRANCH = "recovery-wl-1"


def repair(plan: Plan) -> Proposal:
    mark = MarkTable(
        table=ORDERS, why="Repair", new_tags={"repaired": plan.case.observation.table.chain[0].snapshot_id}
    )
    return rehearsal_of(plan, protect_last_commit.ACTION, mark, title="Repair", sentences=(), proof="nothing")


def rehearsed(scene: Scene, plan: Plan | None = None, branch: str = BRANCH) -> None:
    """Run a is stopped with savepoint 3, and the branch holds a repair; its proposal is number 1."""
    plan = plan or scene.plan()
    done = scene.carries_out(repair(plan), plan)
    assert done.state is ProposalState.APPLIED, done.result
    with scene.by_hand() as table:
        table.append(rows(range(500, 501)), branch=branch)


def planned(scene: Scene, number: int = 2) -> Plan:
    """What is known when the repair is given up."""
    past = past_of_rehearsal(scene.store.get(scene.incident))
    return scene.plan(number=number).model_copy(update={"rehearsed": past})


def given_up(scene: Scene) -> ProposalView:
    """Proposed, approved and carried out."""
    plan = planned(scene)
    done = scene.carries_out(drop_repair_branch.propose(plan), plan)
    assert done.state is ProposalState.APPLIED, done.result
    assert scene.table.ref(BRANCH) is None
    return done


def test_the_job_goes_on_from_its_stop_where_main_is_as_it_was(scene: Scene) -> None:
    """Also where main ends with a second copy of the commit with which that pairs (F1)."""
    scene.flink._commit(job("a"), 3, range(20, 30))
    rehearsed(scene)

    view = given_up(scene)

    assert len(scene.alive) == 1
    assert scene.positions() == sorted([*range(50), *range(20, 30)])
    assert "which the repair's stop took" in " ".join(view.proposal.preview.sentences)


def test_nothing_is_started_over_commits_with_which_nothing_pairs(scene: Scene) -> None:
    """An undo, or a hand, had the job go on from the rehearsal's stop, and it failed: from there its rows would come a
    second time."""
    rehearsed(scene)
    scene.flink.submit(job("b"), at_checkpoint=3, restored=savepoint_of(scene, "a", 3))
    scene.flink.checkpoints(job("b"), 3)
    scene.flink.ends(job("b"), "FAILED")

    view = given_up(scene)

    assert scene.alive == []
    assert scene.positions() == list(range(60))
    said = " ".join(view.proposal.preview.sentences)
    assert "the job stays down" in said
    assert "(checkpoint 6), main's newest commit by Flink" in said
    assert "collect evidence again and diagnose" in said
    assert "stays down" in view.proposal.preview.sure
    assert view.proposal.preview.replayed_from is None
    stands = standing_job(scene.store.get(scene.incident))
    assert stands.settled == "given up"


def test_nothing_is_started_over_a_main_that_was_rolled_back(scene: Scene) -> None:
    """The rehearsal's stop pairs with a commit that main has not any more: its rows would be missing."""
    rehearsed(scene)
    scene.rolls_back(to=scene.snapshot("a", 2))

    given_up(scene)

    assert scene.alive == []
    assert scene.positions() == list(range(20))


def test_the_job_goes_on_from_the_newest_state_of_whatever_run(scene: Scene) -> None:
    """People had started it by hand, and stopped it with a savepoint."""
    rehearsed(scene)
    scene.flink.submit(job("b"), at_checkpoint=3, restored=savepoint_of(scene, "a", 3))
    scene.flink.checkpoints(job("b"), 2)
    scene.flink.stop(JOB, job("b"))

    view = given_up(scene)

    [start] = [effect for effect in view.proposal.effects if isinstance(effect, StartJob)]
    assert start.checkpoint_id == view.proposal.preview.replayed_from == 5
    assert scene.positions() == list(range(70))
    assert all(check.passed for check in scene.checked(view)), scene.checked(view)


def test_nothing_is_given_up_while_it_is_not_known_from_where_the_job_goes_on(scene: Scene) -> None:
    """Not to see the restore points is not to see that there are none."""
    rehearsed(scene)
    unseen = NotSeen(source="the checkpoint storage", reason="It timed out.", remedy="Try again.")
    plan = seeing(planned(scene), checkpoints=unseen)

    with pytest.raises(CouldNotLook, match="not known from where the job can continue"):
        drop_repair_branch.propose(plan)


def test_a_start_that_somebody_makes_first_ends_it(scene: Scene) -> None:
    """A job that runs by then is left alone, and only the branch goes."""
    rehearsed(scene)
    scene.flink.submit(job("b"), at_checkpoint=3, restored=savepoint_of(scene, "a", 3))

    given_up(scene)

    assert scene.alive == [job("b")]


def test_a_second_rehearsal_waits_for_the_end_of_the_first(scene: Scene) -> None:
    """What publishes the second would not start the job again that the first has stopped."""
    rehearsed(scene)

    with pytest.raises(Refused, match="Another repair of this incident is still open") as refused:
        repair(planned(scene))

    assert BRANCH in refused.value.found
    assert "publish_repair" in refused.value.remedy
    assert "drop_repair_branch" in refused.value.remedy
    given_up(scene)
    assert repair(planned(scene, number=3)).effects


def test_of_two_rehearsals_that_an_earlier_version_allowed_both_are_given_up(scene: Scene) -> None:
    """The newest first; none stays for ever."""
    rehearsed(scene)
    second = f"{BRANCH}-p005"
    plan = scene.plan(number=5).model_copy(update={"branches": frozenset({BRANCH})})
    rehearsed(scene, plan, second)

    given = []
    for number in (6, 7):
        plan = planned(scene, number)
        given.append(scene.carries_out(drop_repair_branch.propose(plan), plan))

    assert [view.state for view in given] == [ProposalState.APPLIED] * 2
    assert [view.proposal.title.split()[-1] for view in given] == [second, BRANCH]
    assert len(scene.alive) == 1
    assert scene.positions() == list(range(50))


def test_a_repair_that_was_refused_once_its_branch_was_there_can_be_given_up(scene: Scene) -> None:
    """A lost file came back, or a source gave other rows: the branch stands where main was, and the job is stopped."""
    plan = scene.plan()
    gone = DeleteRows(
        table=ORDERS,
        branch=BRANCH,
        incident=plan.incident,
        why="Repair",
        rows=(RowsOfFile(path="file:/gone.parquet", spans=((0, 1),)),),
    )
    made = rehearsal_of(plan, protect_last_commit.ACTION, gone, title="Repair", sentences=(), proof="nothing")
    assert scene.carries_out(made, plan).state is not ProposalState.APPLIED
    assert scene.table.ref(BRANCH) in scene.table.chain_ids

    view = given_up(scene)

    assert "It has no commit of its own" in " ".join(view.proposal.preview.sentences)
    assert len(scene.alive) == 1
    assert scene.positions() == list(range(50))


def test_a_repair_that_somebody_published_by_hand_can_be_given_up_and_says_so(scene: Scene) -> None:
    """Its commit stays on main, which nobody has proven."""
    rehearsed(scene)
    repaired = scene.table.ref(BRANCH)
    assert repaired is not None
    with scene.by_hand() as table:
        table.manage_snapshots().set_current_snapshot(repaired).commit()

    view = given_up(scene)

    said = " ".join(view.proposal.preview.sentences)
    assert "somebody set main to it by hand" in said
    assert "verify_current_state" in said
    assert repaired in scene.table.chain_ids


def removed_by_hand(scene: Scene) -> None:
    """Somebody takes the branch for a leftover."""
    with scene.by_hand() as table:
        table.manage_snapshots().remove_branch(BRANCH).commit()


def test_giving_it_up_starts_the_job_and_ends_the_question(scene: Scene) -> None:
    """From what the rehearsal's stop took."""
    rehearsed(scene)
    removed_by_hand(scene)
    asked_before = standing_job(scene.store.get(scene.incident))

    view = given_up(scene)

    assert asked_before is not None
    assert standing_job(scene.store.get(scene.incident)) is None
    assert len(scene.alive) == 1
    assert scene.positions() == list(range(50))
    assert f"Branch {BRANCH} is already gone" in " ".join(view.proposal.preview.sentences)
    assert f"Branch {BRANCH} is already gone and the job starts again" in view.proposal.preview.sure
    assert all(check.passed for check in scene.checked(view)), scene.checked(view)


def test_it_ends_the_question_also_where_people_have_started_the_job(scene: Scene) -> None:
    """Then nothing is left to be done."""
    rehearsed(scene)
    removed_by_hand(scene)
    scene.flink.submit(job("b"), at_checkpoint=3, restored=savepoint_of(scene, "a", 3))

    given_up(scene)

    assert standing_job(scene.store.get(scene.incident)) is None
    assert scene.alive == [job("b")]


def test_its_publication_says_so(scene: Scene) -> None:
    """Whoever asks for that is sent to the other way out."""
    rehearsed(scene)
    removed_by_hand(scene)

    with pytest.raises(Refused, match="somebody has removed the branch") as refused:
        publish_repair.propose(planned(scene))

    assert "/waterline propose drop_repair_branch" in refused.value.remedy


def test_a_branch_that_goes_once_it_was_approved_ends_the_approval(scene: Scene) -> None:
    """It is proposed anew over the table as it is."""
    rehearsed(scene)
    plan = planned(scene)
    made = scene.approved(drop_repair_branch.propose(plan), plan)
    scene.executions.begin(scene.incident, made.id, by=ANA)
    removed_by_hand(scene)

    scene.executions.carry_on(scene.incident, made.id)

    assert scene.view(made.id).state is ProposalState.REFUSED
    assert "start" not in scene.calls
    assert scene.alive == []


@pytest.fixture
def waiting(scene: Scene) -> Proposal:
    """The job has ended, and its restart is approved."""
    scene.flink.stop(JOB, job("a"))
    plan = scene.plan()
    return scene.approved(restore_job_at_head.propose(plan), plan)


def diagnosed(scene: Scene, examined: Examined) -> Proposals:
    """Evidence that came since says this of the mode; who looks after what waits."""
    told = Diagnosed(diagnosis=Diagnosis(results=(ModeResult(mode=MODE, examined=examined),)))
    scene.store.write(scene.incident, by=WATERLINE, decide=lambda _i: [told])
    return Proposals(scene.store, scene.observer, None, {}, SystemClock())  # type: ignore[arg-type]


def test_it_is_superseded_with_the_reason(scene: Scene, waiting: Proposal) -> None:
    """Whoever looks at it reads why."""
    diagnosed(scene, Excluded(reason="The evidence says otherwise.")).supersede_if_moved(scene.incident)

    view = scene.view(waiting.id)
    assert view.state is ProposalState.SUPERSEDED
    assert "“as the test says” (F0) is excluded now. The evidence says otherwise." in (
        view.ended.reason if view.ended else ""
    )


def test_it_is_not_begun_either(scene: Scene, waiting: Proposal) -> None:
    """The diagnosis came a moment before the click."""
    diagnosed(scene, Excluded(reason="The evidence says otherwise."))

    with pytest.raises(Superseded, match="The diagnosis has changed"):
        scene.executions.begin(scene.incident, waiting.id, by=BEN)

    assert "start" not in scene.calls


def test_a_mode_that_is_only_not_known_any_more_ends_nothing(scene: Scene, waiting: Proposal) -> None:
    """Evidence may be stale for a while."""
    diagnosed(scene, CannotTell(missing=("ledger",))).supersede_if_moved(scene.incident)

    assert scene.view(waiting.id).state is ProposalState.APPROVED


def test_what_follows_a_rehearsal_is_not_ended_by_what_that_has_changed(scene: Scene) -> None:
    """The job stands still for it, and so its fault is not to be seen."""
    rehearsed(scene)
    plan = planned(scene)
    waits = scene.approved(restore_job_at_head.propose(plan), plan)

    diagnosed(scene, Excluded(reason="No run is alive.")).supersede_if_moved(scene.incident)

    assert scene.view(waits.id).state is ProposalState.APPROVED


STEP = StepId("duplicates")


def asked(scene: Scene, plan: Plan) -> None:
    """Ana clicks on “Propose” at this step, and is refused."""

    proposals = scene.proposing(take_savepoint, lambda _plan: repair(plan))
    with pytest.raises(Refused):
        proposals.propose(scene.incident, take_savepoint.ACTION.name, step=STEP, by=ANA)


def test_a_step_waits_for_the_end_of_the_repair_that_is_under_way(scene: Scene) -> None:
    """Its proof may come a moment later: whoever clicks too early loses nothing by it."""
    rehearsed(scene)

    asked(scene, planned(scene))

    assert scene.store.get(scene.incident).outcomes == {}
    with pytest.raises(NotYet):
        repair(planned(scene))


def test_a_step_on_which_nothing_right_can_be_proposed_ends_with_the_reason(scene: Scene) -> None:
    """Nothing that is under way changes that: the walk goes on to what people do by hand."""
    plan = scene.plan()
    table = plan.case.observation.table.model_copy(update={"format_version": 1})

    asked(scene, seeing(plan, table=table))

    ended = scene.store.get(scene.incident).outcomes[STEP]
    assert ended.key == NOT_POSSIBLE
    assert "the table has format version 1" in ended.why


def rehearsing(scene: Scene, plan: Plan) -> str:
    """The branch on which a repair would be rehearsed."""

    nothing = DeleteRows(table=ORDERS, branch=branch_for(plan), incident=scene.incident, why="Nothing", rows=())

    proposal = rehearsal_of(plan, protect_last_commit.ACTION, nothing, title="Nothing", sentences=(), proof="nothing")
    assert proposal.rehearses_on is not None
    return proposal.rehearses_on


def test_a_name_that_an_earlier_rehearsal_had_is_not_used_again(scene: Scene) -> None:
    """Also once its branch is gone."""
    plan = scene.plan()
    first = rehearsing(scene, plan)
    later = plan.model_copy(update={"proposal": ProposalId("01JBQ5M7Z3T9K4X8V2N6R0P002")})

    assert first == "recovery-wl-1"
    assert rehearsing(scene, later.model_copy(update={"branches": frozenset({first})})) == "recovery-wl-1-p002"


def test_only_what_was_begun_has_taken_its_name(scene: Scene) -> None:
    """A proposal that waits has made no branch."""
    plan = scene.plan()
    effect = DeleteRows(table=ORDERS, branch="recovery-wl-1", incident=scene.incident, why="Nothing", rows=())
    proposal = rehearsal_of(plan, protect_last_commit.ACTION, effect, title="Nothing", sentences=(), proof="nothing")
    made = scene.approved(proposal, plan)
    waiting = branches_begun(scene.store.get(scene.incident))
    scene.executions.begin(scene.incident, made.id, by=plan.by)

    assert waiting == frozenset()
    assert branches_begun(scene.store.get(scene.incident)) == {"recovery-wl-1"}
