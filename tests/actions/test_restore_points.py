"""Which restore point a start may take: named, older, unread, claimed, idle, or gone since the look."""

import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import ModuleType

import pytest

from bot.actions import (
    restore_job_at_head,
    restore_job_only,
    roll_back_table_and_restore_job,
    take_savepoint,
    undo_proposal,
)
from bot.actions._support.restore_points import newest_pair, newest_that_pairs
from bot.diagnosis._support.restoring import can_rewind_to
from bot.history.restore import pairings
from bot.history.unread_points import beside
from bot.incident.action import Plan
from bot.incident.effects import StopJob
from bot.incident.execution import ProposalState
from bot.incident.proposal import Proposal
from bot.observation.errors import CouldNotLook, Refused
from bot.observation.findings import PairingFinding, PairVerdict
from bot.observation.flink import CheckpointKind, CompletedCheckpoint, JobRun, StoredCheckpoint
from bot.observation.ids import CheckpointId, JobId, SnapshotId
from bot.observation.looked import Seen
from bot.ports import NamedSavepoint
from tests.actions.plans import answering, seeing
from tests.actions.scene import Scene, refusal
from tests.little_flink import JOB
from tests.tables import ORDERS, job


@pytest.fixture
def elsewhere(scene: Scene, tmp_path: Path) -> Path:
    """Run a was stopped with a savepoint that somebody moved; run b was restored from it there, and only fails."""
    scene.flink.stop(JOB, job("a"))
    taken = next(scene.flink.savepoints.iterdir())
    moved = tmp_path / "backup" / taken.name
    moved.parent.mkdir()
    shutil.move(taken, moved)
    scene.flink.submit(job("b"), at_checkpoint=3, restored=moved)
    scene.flink.breaks(job("b"))
    return moved


def test_the_job_goes_on_from_a_savepoint_that_only_flink_names(scene: Scene, elsewhere: Path) -> None:
    """It pairs with the head, whichever folder it lies in."""
    view = scene.does(restore_job_at_head)

    assert view.state is ProposalState.APPLIED
    assert scene.positions() == list(range(50))


def test_one_that_is_gone_is_not_listed(scene: Scene, elsewhere: Path) -> None:
    """Most checkpoints that Flink remembers are."""
    shutil.rmtree(elsewhere)

    assert scene.observer.observe("sales.orders").checkpoints.values == ()
    with pytest.raises(Refused, match="found none at all"):
        restore_job_at_head.propose(scene.plan())


def test_one_that_may_not_be_read_here_is_listed_as_unread(
    scene: Scene, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it pairs is not known, and that is said before anything is started from another."""
    read = scene.checkpoints.read

    def denied(path: str) -> StoredCheckpoint:
        if "backup" in path:
            raise CouldNotLook("It could not be read.", "Access denied.", "Ask.")
        return read(path)

    monkeypatch.setattr(scene.checkpoints, "read", denied)

    observed = scene.observer.observe("sales.orders")

    [stored] = observed.checkpoints.values
    assert (stored.path, stored.is_unread, stored.problem) == (
        str(elsewhere),
        True,
        "It could not be read. Access denied.",
    )
    [pair] = pairings([stored], observed.table, observed.jobs)
    assert pair.verdict is PairVerdict.UNREADABLE


ELSEWHERE = "s3://elsewhere/savepoint-aaaaaa-1", "/tmp/savepoint-aaaaaa-1?endpoint_override=x"


@pytest.mark.parametrize("named", ["file:{}", "/mnt/state/{.name}", *ELSEWHERE])
def test_what_flink_names_is_not_read_beside_what_the_folders_hold(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """However Flink spells its path, and under which mount: the savepoint's own name tells it. Other storage is not
    asked: whoever may submit a job chooses what Flink names, and with it whom the bot would show its keys."""
    savepoint = None if named in ELSEWHERE else scene.flink.savepoint(job("a"))
    scene.flink.stop(JOB, job("a"))
    if savepoint is not None:
        scene.flink.submit(job("b"), at_checkpoint=3, restored=Path(named.format(savepoint)))
    else:
        scene.flink.submit(job("b"), at_checkpoint=3, restored=Path(named))
    monkeypatch.setattr(scene.checkpoints, "read", lambda path: pytest.fail(f"read {path}"))

    assert len(scene.observer.observe("sales.orders").checkpoints.values) == 1


REWIND = "/waterline propose roll_back_table_and_restore_job"


@pytest.fixture
def older(scene: Scene) -> Scene:
    """Savepoint 3 is the only durable point, main is at 5, and the job is down."""
    scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 2)
    scene.flink.ends(job("a"), "FAILED")
    return scene


def test_a_savepoint_that_cannot_be_taken_names_what_pairs_with_the_head(older: Scene) -> None:
    """“The newest that pairs” was savepoint 3, which the list calls paired."""
    refused = refusal(take_savepoint, older.plan())

    said = str(refused)
    assert "use its newest point that pairs with the head" in said
    assert (
        f"A point that pairs with an older snapshot duplicates rows: for that, roll back table and job (`{REWIND}`)"
        in said
    )


@pytest.mark.parametrize("action", [restore_job_only, restore_job_at_head])
def test_a_restart_that_is_refused_names_the_rewind(older: Scene, action: ModuleType) -> None:
    """It is possible, and every row is there once afterwards."""
    plan = older.plan(last_good=older.snapshot("a", 5))

    refused = refusal(action, plan)
    view = older.carries_out(roll_back_table_and_restore_job.propose(plan), plan)
    older.flink.checkpoints(older.alive[0], 2)

    assert f"Or roll back table and job to checkpoint 3 (`{REWIND}`)" in str(refused)
    assert view.state is ProposalState.APPLIED, view.result
    assert len(older.positions()) == len(set(older.positions()))


def test_no_rewind_is_named_where_nothing_pairs_below(scene: Scene) -> None:
    """There is no restore point at all."""
    scene.flink.ends(job("a"), "FAILED")

    refused = refusal(restore_job_only, scene.plan())

    assert REWIND not in str(refused)


@pytest.mark.parametrize("name", ["planned-savepoint", "job-will-not-restore"])
def test_no_runbook_sends_people_to_the_newest_point_that_pairs_with_anything(name: str) -> None:
    """The head is named with it."""
    text = " ".join((Path(__file__).parents[2] / "runbooks" / f"{name}.md").read_text(encoding="utf-8").split())

    assert "newest point that pairs;" not in text
    assert "*paired* first" not in text
    assert "paired with an older snapshot repeats rows" in text or "pairs with an older snapshot repeats rows" in text


WHY = "Its _metadata is there and could not be opened: OSError: AWS Error ACCESS_DENIED during GetObject operation."


def with_unread(plan: Plan, *, only: bool = False) -> Plan:
    """A savepoint beside the others, or `only` it, that storage does not let be opened."""
    world = plan.case.observation
    unread = StoredCheckpoint(
        path="s3://state/savepoint-aaaaaa-000000000009",
        kind=CheckpointKind.SAVEPOINT,
        written_at=world.table.read_at - timedelta(minutes=1),
        problem=WHY,
        is_unread=True,
    )
    values = (unread, *(() if only else world.checkpoints.values))
    found = PairingFinding(pairings=pairings(values, world.table, world.jobs))
    return seeing(answering(plan, pairing=found), checkpoints=Seen[StoredCheckpoint](source="storage", values=values))


@pytest.mark.parametrize("action", [restore_job_at_head, roll_back_table_and_restore_job], ids=lambda a: a.ACTION.name)
def test_a_proposal_tells_of_a_point_that_may_be_nearer(scene: Scene, action) -> None:  # type: ignore[no-untyped-def]
    """With its path and the reason, before what will be done; without one it says nothing."""
    scene.flink.retained = scene.flink.savepoint(job("a"))
    plan = scene.plan()
    good = plan.match.model_copy(update={"last_good": plan.case.observation.table.head})
    plan = plan.model_copy(update={"match": good})

    told = action.propose(with_unread(plan)).preview.sentences
    as_before = action.propose(plan).preview.sentences

    [said] = set(told) - set(as_before)
    assert said.startswith("1 restore point could not be read and may be a nearer one than ")
    assert said.endswith(f" s3://state/savepoint-aaaaaa-000000000009: {WHY}")


def test_a_refusal_names_it_first(scene: Scene) -> None:
    """Where nothing pairs, what could not be read is what to look at."""
    plan = with_unread(scene.plan(), only=True)

    with pytest.raises(Refused) as refused:
        newest_pair(plan.case, plan.case.observation.table.head or SnapshotId(0))

    assert f"found s3://state/savepoint-aaaaaa-000000000009: unreadable, {WHY}" in refused.value.found


def test_nobody_says_that_no_point_pairs(scene: Scene) -> None:
    """One that was not read may."""
    plan = with_unread(scene.plan(), only=True)
    head = plan.case.observation.table.head

    assert can_rewind_to(plan.case, head) is None
    nothing = seeing(plan, checkpoints=Seen[StoredCheckpoint](source="", values=()))
    assert can_rewind_to(nothing.case, head) is False


def test_what_a_stop_left_and_cannot_be_opened_could_not_be_looked_at(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not "no state of it pairs": the proposal is not ended by a file that is denied for a moment."""
    plan = with_unread(scene.plan(), only=True)
    [unread] = plan.case.observation.checkpoints.values
    world = scene.observer.clients.world(ORDERS)
    [(name, ports)] = world.jobs.items()
    store = type(ports.checkpoints)
    run = job("a")
    point = unread.model_copy(update={"job_id": run})

    def denied(_self: object, path: str) -> StoredCheckpoint:
        raise CouldNotLook(f"Restore point {path} could not be read.", WHY, "Try again.")

    monkeypatch.setattr(store, "stored", lambda *_: (point,))
    monkeypatch.setattr(store, "read", denied)

    with pytest.raises(CouldNotLook, match="savepoint-aaaaaa-000000000009 could not be read"):
        newest_that_pairs(world, name, run)


@pytest.fixture
def claimed_older(scene: Scene) -> Path:
    """Run b was restored from it in CLAIM mode, repeats checkpoint 4, and has dropped no checkpoint yet."""
    claimed_older = scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 1)
    scene.flink.stop(JOB, job("a"))
    scene.flink.submit(job("b"), at_checkpoint=3, restored=claimed_older)
    scene.flink.checkpoints(job("b"), 2)
    scene.flink.claims = frozenset({job("b")})
    return claimed_older


def planned(scene: Scene) -> tuple[Proposal, Plan]:
    """The rewind to checkpoint 3, from which run b was restored."""
    plan = scene.plan(last_good=scene.snapshot("a", 3), wrong_run=job("b"))
    return roll_back_table_and_restore_job.propose(plan), plan


def test_the_table_stays_where_the_stop_has_deleted_the_way_back(scene: Scene, claimed_older: Path) -> None:
    """The run stands still, main and rows are as they were, and the way out is told and works."""
    head = scene.table.head
    made, plan = planned(scene)

    view = scene.carries_out(made, plan)

    assert not claimed_older.exists()
    assert view.state is ProposalState.REFUSED
    assert scene.table.head == head
    assert scene.calls == ["stop", "stop"]
    assert "no longer as it was approved" in view.result.sentence
    assert "/waterline undo" in view.result.sentence
    undone = scene.does(undo_proposal, undoes=view.proposal.id, number=2)
    assert undone.state is ProposalState.APPLIED
    assert len(scene.alive) == 1


def test_who_approves_is_told_before(scene: Scene, claimed_older: Path) -> None:
    """What to look up, and what to do where it is so."""
    made, _plan = planned(scene)
    [stop] = [each for each in made.effects if isinstance(each, StopJob)]

    assert stop.may_delete == claimed_older.as_uri().replace("///", "/")
    assert f"may own {stop.may_delete}" in made.preview.sentences[0]
    assert "first copy the savepoint's folder next to it" in made.preview.sentences[0]


def test_what_the_run_cannot_own_any_more_is_not_spoken_of(scene: Scene, claimed_older: Path) -> None:
    """It has dropped a checkpoint of its own: whatever it was restored from went before that, if it was its own."""
    scene.flink.claims = frozenset()
    made, plan = planned(scene)

    view = scene.carries_out(made, plan)

    assert "may own" not in " ".join(made.preview.sentences)
    assert claimed_older.exists()
    assert view.state is ProposalState.APPLIED


def test_a_start_on_the_head_looks_once_more_as_well(scene: Scene) -> None:
    """A run that was restored from the very point that pairs with the head, and has committed nothing since."""
    point = scene.flink.savepoint(job("a"))
    scene.flink.stop(JOB, job("a"))
    scene.flink.submit(job("b"), at_checkpoint=3, restored=point)
    scene.flink.claims = frozenset({job("b")})
    scene.flink.breaks(job("b"))
    plan = scene.plan()
    made = restore_job_at_head.propose(plan)

    assert [each.may_delete for each in made.effects if isinstance(each, StopJob)] == [f"file:{point}"]


@pytest.mark.parametrize(
    ("restored", "dropped", "owns"),
    [
        ("file:/s/savepoint-1", False, True),
        ("file:/s/savepoint-2", False, False),
        ("file:/s/savepoint-1", True, False),
        (f"file:/c/{job('b')}/chk-9", False, True),
        (None, False, True),
    ],
    ids=["itself", "another", "dropped one since", "failed over since", "path not told"],
)
def test_what_a_run_may_own(scene: Scene, claimed_older: Path, restored: str | None, dropped: bool, owns: bool) -> None:
    """After a failover Flink tells no more what the run was restored from at first."""
    run = _run(scene, job("b"))
    checkpoint = CompletedCheckpoint(
        checkpoint_id=CheckpointId(4), kind=CheckpointKind.CHECKPOINT, status="COMPLETED",
        triggered_at=run.started_at, discarded=dropped,
    )  # fmt: skip
    point = run.restored.model_copy(update={"path": restored})
    told = run.model_copy(update={"restored": point, "checkpoints": (checkpoint,)})

    assert told.may_own("/s/savepoint-1/") is owns
    assert _run(scene, job("a")).may_own("/s/savepoint-1") is False


def _run(scene: Scene, job_id: JobId) -> JobRun:
    run = scene.flink.run(job_id)
    assert run is not None
    return run


def test_savepoints_that_the_operator_may_not_list_are_not_taken_for_none(scene: Scene) -> None:
    """One of them may be nearer than every point that is known."""

    def denied() -> tuple[NamedSavepoint, ...]:
        raise CouldNotLook("The Kubernetes API server refused to list them.", "It found HTTP 403.", "Give the rights.")

    scene.observer.jobs = {JOB: replace(scene.observer.jobs[JOB], snapshots=denied)}

    seen = scene.observer.observe(ORDERS).checkpoints

    first, found = seen.values[0], scene.plan().case.pairing
    assert (first.is_unread, first.path) == (True, "savepoints of FlinkStateSnapshots")
    assert "refused to list them" in (first.problem or "")
    assert "Give the rights." in (beside(seen) or "")
    assert found.pairings[0].verdict is PairVerdict.UNREADABLE
