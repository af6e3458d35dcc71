"""The sink gets another uid where the job's start declares a place for it, and only if its old state owes nothing."""

import pytest

from bot.actions import change_operator_uid, forward_job
from bot.actions._completing import completed
from bot.domain.action import Plan
from bot.domain.effects import StartJob
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState
from bot.domain.findings import GapsFinding
from bot.domain.ids import CheckpointId, JobId
from bot.domain.requirements import RestorePointIntact
from bot.service.choosing import uid_suffixes
from tests.actions.scene import Scene
from tests.little_flink import JOB, operator_under
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
