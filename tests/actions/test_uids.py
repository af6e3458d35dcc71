"""The sink gets another uid: where a start declares it, after expiry, by hand, and in real cases."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.actions import change_operator_uid, forward_job
from bot.actions._completing import completed
from bot.adapters.case_file import read_case
from bot.domain.action import Plan
from bot.domain.approval import ApprovalPolicy
from bot.domain.diagnosis import Matches, Remedy
from bot.domain.effects import StartJob
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState
from bot.domain.findings import GapsFinding, PairingFinding
from bot.domain.ids import CheckpointId, IncidentId, JobId, OperatorId, ProposalId, SnapshotId
from bot.domain.pairing import pairings
from bot.domain.requirements import RestorePointIntact
from bot.domain.snapshot import Snapshot
from bot.domain.table import TableState
from bot.service.choosing import uid_suffixes
from tests.actions.scene import MODE, Scene
from tests.little_flink import JOB, operator_under
from tests.rewound import ANA, BEN
from tests.tables import OPERATOR, job

WHOLE = GapsFinding(lowest=0, highest=29, positions=30, missing=0, gaps=())


def planned(scene: Scene, number: int = 1, gaps: GapsFinding | None = WHOLE) -> Plan:
    """As the service plans it, where the start is declared with a suffix."""
    plan = scene.plan(number=number)
    known = uid_suffixes(scene.store.all())
    case = plan.case.model_copy(update={"gaps": gaps})
    return plan.model_copy(update={"renames_sink": True, "uid_suffixes": known, "case": case})


def test_the_new_run_commits_under_another_operator_and_keeps_it(scene: Scene) -> None:
    """The next start, of whatever action, has the same suffix, and leaves no state behind."""
    scene.flink.stop(JOB, job("a"))
    plan = planned(scene)
    suffix = "wl-1-p001"

    view = scene.carries_out(change_operator_uid.propose(plan), plan)
    checked = scene.checked(view)
    scene.flink.stop(JOB, scene.alive[0])
    again = planned(scene, number=2)
    later = scene.carries_out(forward_job.propose(again), again)

    assert (view.state, later.state) == (ProposalState.APPLIED, ProposalState.APPLIED)
    passed = {check.name: check.passed for check in checked}
    assert passed.pop("The source continued from the restore point's state") is None, "the little Flink has no source"
    assert all(passed.values()), checked
    assert "It commits under another operator id" in passed
    assert [s.operator_id for s in reversed(scene.table.chain)] == [OPERATOR] * 3 + [operator_under(suffix)] * 4
    [start] = [e for e in later.proposal.effects if isinstance(e, StartJob)]
    assert (start.uid_suffix, start.allow_non_restored) == (suffix, False)
    assert scene.positions() == list(range(70))


def test_the_suffix_of_a_run_is_on_record(scene: Scene) -> None:
    """However many starts there were, Flink is asked about none of them; it may be away while something is proposed."""
    scene.flink.stop(JOB, job("a"))
    plan = planned(scene)
    scene.carries_out(change_operator_uid.propose(plan), plan)
    [alive] = scene.alive
    asked: list[JobId] = []
    scene.flink.run = asked.append  # type: ignore[method-assign, assignment]

    known = uid_suffixes(scene.store.all())

    assert known == {alive: "wl-1-p001"}
    assert asked == []


def test_the_way_back_to_the_old_sink_has_its_uid(scene: Scene) -> None:
    """State of the old sink is read by the old sink."""
    scene.flink.stop(JOB, job("a"))
    first = planned(scene)
    done = scene.carries_out(change_operator_uid.propose(first), first)
    scene.flink.stop(JOB, scene.alive[0])
    old = next(s for s in scene.checkpoints.stored(JOB, []) if s.job_id == job("a"))

    plan = planned(scene, number=2)
    start = StartJob(job=JOB, path=old.path, checkpoint_id=CheckpointId(3))
    made = completed(done.proposal.model_copy(update={"effects": (start,)}), plan)

    assert [e.uid_suffix for e in made.effects if isinstance(e, StartJob)] == [None]


def test_a_restore_point_under_another_spelling_keeps_its_uid(scene: Scene) -> None:
    """Evidence may have named it as `file:/a`, storage as `/a`: the state is read by the sink that wrote it."""
    scene.flink.stop(JOB, job("a"))
    first = planned(scene)
    done = scene.carries_out(change_operator_uid.propose(first), first)
    scene.flink.stop(JOB, scene.alive[0])
    plan = planned(scene, number=2)
    [renamed] = plan.uid_suffixes
    new = next(s for s in scene.checkpoints.stored(JOB, []) if s.job_id == renamed)

    start = StartJob(job=JOB, path=new.path.replace("file:", "file://") + "/", checkpoint_id=CheckpointId(5))
    held = RestorePointIntact(job=JOB, path=new.path, checkpoint_id=CheckpointId(5), digest="")
    made = completed(done.proposal.model_copy(update={"effects": (start,), "requirements": (held,)}), plan)

    assert [e.uid_suffix for e in made.effects if isinstance(e, StartJob)] == ["wl-1-p001"]


@pytest.mark.parametrize("why", ["undeclared", "uncounted", "a row is missing", "unpaired"])
def test_what_is_not_proven_is_left_to_people(scene: Scene, why: str) -> None:
    """Each step is written out, and nothing is changed."""
    if why == "unpaired":
        scene.flink.savepoint(job("a"))
        scene.flink.checkpoints(job("a"), 1)
    scene.flink.breaks(job("a"))
    gaps = {"uncounted": None, "a row is missing": WHOLE.model_copy(update={"missing": 3})}.get(why, WHOLE)
    plan = planned(scene, gaps=gaps)
    if why == "undeclared":
        plan = plan.model_copy(update={"renames_sink": False})

    said = "rows after checkpoint 3 would be duplicated" if why == "unpaired" else "allowNonRestoredState=true"
    with pytest.raises(Refused, match=said):
        change_operator_uid.propose(plan)


CASES = Path(__file__).parents[1] / "data" / "cases"


def real_planned(name: str) -> Plan:
    """As the service plans it, where the start is declared as SQL with a suffix."""
    case = read_case(CASES / f"{name}.zip").case
    seen = case.observation
    told = PairingFinding(pairings=pairings(seen.checkpoints.values, seen.table, seen.jobs))
    match = Matches(
        headline="As the test says.", reasons=(), rows=(), last_good=None, wrong_run=None,
        remedy=Remedy.CHANGE_OPERATOR_UID,
    )  # fmt: skip
    return Plan(
        incident=IncidentId("wl-1"),
        proposal=ProposalId("01JBQ5M7Z3T9K4X8V2N6R0P001"),
        case=case.model_copy(update={"pairing": told}),
        mode=MODE,
        match=match,
        evidence=(),
        policy=ApprovalPolicy(users=(BEN,), expires_after=timedelta(minutes=30)),
        by=ANA,
        at=datetime.now(UTC),
        renames_sink=True,
        is_sql=True,
    )


def commit_that_was_expired(table: TableState) -> tuple[Snapshot, ...]:
    """What the metadata file from before the expiry has: checkpoint 5, whose manifest the savepoint still lists."""
    [head] = table.snapshots
    assert head.parent_id is not None
    summary = {
        "flink.job-id": "5441e736b49db0f4406356a455fe267f",
        "flink.operator-id": "8b8a86e06c143909c270efa9f5bfe1fc",
        "flink.max-committed-checkpoint-id": "5",
    }
    parent = {"snapshot_id": head.parent_id, "parent_id": None, "summary": summary}
    return (Snapshot.model_validate(head.model_dump() | parent),)


def test_the_savepoint_of_an_expired_commit_is_started_from() -> None:
    """Its committer lists a manifest, as the state of every checkpoint with rows does; that it was committed is known
    from the older metadata file."""
    plan = real_planned("last-commit-expired-v2")
    plan = plan.model_copy(update={"expired": commit_that_was_expired})

    proposal = change_operator_uid.propose(plan)

    *_, start = proposal.effects
    assert isinstance(start, StartJob)
    assert start.checkpoint_id == CheckpointId(5)
    assert start.on_top_of == SnapshotId(6339290515704756562)
    assert start.leaves_operator == OperatorId("8b8a86e06c143909c270efa9f5bfe1fc")


def test_in_sql_the_v1_sink_takes_no_uid() -> None:
    """Nothing would change: it is said before anything is stopped."""
    with pytest.raises(Refused, match="In SQL only Iceberg's V2 sink takes a uid"):
        change_operator_uid.propose(real_planned("last-commit-expired-v1"))


def test_people_are_not_sent_to_a_state_whose_rows_would_be_lost() -> None:
    """After a drain (F5) the newest checkpoints hold all that was read since and never committed; the drained savepoint
    owes nothing, and its source reads that again."""
    with pytest.raises(Refused) as refused:
        change_operator_uid.propose(real_planned("restored-after-drain-v1"))

    said = str(refused.value)
    assert "savepoint-60f7fe-ab2f8afc1dad (checkpoint 9) with allowNonRestoredState=true" in said
    assert "open windows and timers have fired early" in said
    assert "chk-28" not in said


def test_people_are_told_what_a_state_forgets() -> None:
    """Where no point belongs to the newest commit, the newest is named with all that it still lists."""
    plan = real_planned("restored-after-drain-v1")
    stored = tuple(each for each in plan.case.observation.checkpoints.values if not each.is_drained)
    checkpoints = plan.case.observation.checkpoints.model_copy(update={"values": stored})
    observation = plan.case.observation.model_copy(update={"checkpoints": checkpoints})
    case = plan.case.model_copy(update={"observation": observation})

    with pytest.raises(Refused, match=r"\(checkpoint 28\) .* still lists 19 Flink manifests .* lost unless"):
        change_operator_uid.propose(plan.model_copy(update={"case": case}))
