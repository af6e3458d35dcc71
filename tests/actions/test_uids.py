"""The sink gets another uid: what people are told to do, also after expiry."""

import re
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree

import pytest

from bot.actions import change_operator_uid, roll_back_table_and_restore_job
from bot.adapters.saved_case import read_case
from bot.history.restore import pairings
from bot.incident.action import Plan
from bot.incident.diagnosis import Matches, Remedy
from bot.incident.execution import ProposalState
from bot.observation.errors import Refused
from bot.observation.evidence import Evidence, Verdict
from bot.observation.findings import GapsFinding, PairingFinding
from bot.observation.flink import CheckpointKind, CheckpointSettings, StoredCheckpoint
from bot.observation.ids import EvidenceId
from bot.observation.looked import NotSeen, Seen
from bot.observation.snapshot import Snapshot
from bot.observation.table import TableState, Window
from tests.actions.other_jobs import declared, guest
from tests.actions.plans import answering, plan_of, seeing
from tests.actions.scene import MODE, Scene, refusal, savepoint_of
from tests.actions.test_other_jobs import commits
from tests.actions.test_publications import starts_from_a_wrong_savepoint
from tests.cases import NOON, Tale
from tests.little_flink import JOB
from tests.restores.test_predictions import point
from tests.tables import job

WHOLE = GapsFinding(lowest=0, highest=29, positions=30, missing=0, gaps=())


CASES = Path(__file__).parents[1] / "data" / "cases"


def real_planned(name: str) -> Plan:
    """As the service plans it, where the start is declared as SQL with a suffix."""
    case = read_case(CASES / f"{name}.json.gz").case
    seen = case.observation
    told = PairingFinding(pairings=pairings(seen.checkpoints.values, seen.table, seen.jobs))
    match = Matches(headline="As the test says.", reasons=(), remedy=Remedy.CHANGE_OPERATOR_UID)
    return plan_of(case.model_copy(update={"pairing": told}), MODE, match)


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


def test_the_savepoint_of_an_expired_commit_is_named() -> None:
    """Its committer lists a manifest, as the state of every checkpoint with rows does; that it was committed is known
    from the older metadata file."""
    plan = real_planned("last-commit-expired-v2")

    with pytest.raises(Refused, match=r"Start the job from \S+ \(checkpoint 5\) with allowNonRestoredState=true"):
        change_operator_uid.propose(plan.model_copy(update={"expired": commit_that_was_expired}))


def test_people_are_not_sent_to_a_state_whose_rows_would_be_lost() -> None:
    """After a drain (F5) the newest checkpoints hold all that was read since and never committed; the drained savepoint
    owes nothing, and its source reads that again."""
    refused = refusal(change_operator_uid, real_planned("restored-after-drain-v1"))

    said = str(refused)
    assert "savepoint-60f7fe-ab2f8afc1dad (checkpoint 9) with allowNonRestoredState=true" in said
    assert "open windows and timers have fired early" in said
    assert "chk-28" not in said


def test_without_the_drained_savepoint_no_state_is_named() -> None:
    """The newest checkpoint still lists all that was read since and never committed; the source has it once more."""
    plan = real_planned("restored-after-drain-v1")
    stored = tuple(each for each in plan.case.observation.checkpoints.values if not each.is_drained)
    checkpoints = plan.case.observation.checkpoints.model_copy(update={"values": stored})

    with pytest.raises(Refused, match=r"from none of the points on storage: .* start it without any state"):
        change_operator_uid.propose(seeing(plan, checkpoints=checkpoints))


@pytest.fixture
def uid_after_expiry_expired(scene: Scene) -> Scene:
    """Run a was stopped at 3, another engine appended, and nothing below that is listed."""
    scene.flink.stop(JOB, job("a"))
    scene.backfill_commits()
    scene.expires([each.snapshot_id for each in scene.table.chain[1:]])
    assert len(scene.table.snapshots) == 1
    return scene


def uid_after_expiry_planned(scene: Scene) -> Plan:
    """As the service plans it, where the start is declared with a suffix."""
    return answering(scene.plan(), gaps=WHOLE).model_copy(update={"expired": scene.catalog.expired})


def test_without_the_older_files_nothing_is_proven(uid_after_expiry_expired: Scene) -> None:
    """They were deleted, as `write.metadata.delete-after-commit.enabled` does it."""
    plan = uid_after_expiry_planned(uid_after_expiry_expired)
    current = plan.case.observation.table.metadata_location.removeprefix("file://")
    for file in Path(current).parent.glob("*.metadata.json"):
        if str(file) != current:
            file.unlink()

    with pytest.raises(Refused, match="allowNonRestoredState=true"):
        change_operator_uid.propose(plan)


def refused_uid(plan: Plan) -> str:
    """What is said to who wants another uid."""
    return str(refusal(change_operator_uid, plan))


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


def test_the_rewind_that_is_named_is_possible(scene: Scene) -> None:
    """Every row is there once after it."""
    left_at_3(scene)
    plan = with_last_good(uid_after_expiry_planned(scene))
    assert "roll back table and job to checkpoint 3" in refused_uid(plan)

    view = scene.carries_out(roll_back_table_and_restore_job.propose(plan), plan)
    scene.flink.checkpoints(scene.alive[0], 2)

    assert view.state is ProposalState.APPLIED, view.result
    assert len(scene.positions()) == len(set(scene.positions()))


NONE = r"Start the job from none of the points on storage: rows after checkpoint \d would be duplicated\."
HIGHEST = r"start it without any state, with its source set after position 49, the highest on the table"
NEWEST = r"with its source set after the newest position that the table has of each of its partitions"
COPY = r"First copy away \S+chk-3, and what it references under `shared`: Flink may delete them\."
CANCEL = r"Cancel run aaaaaa \(no stop-with-savepoint\)"
PROPOSE_AGAIN = r"If that run has committed anything more by then, start nothing and propose this again\."
ITS_OWN = "the newest readable point that certainly belongs to the job"


def by_hand(
    *points: StoredCheckpoint, tale: Tale | None = None, at: str = "head", good: bool = False, **told: object
) -> str:
    """What people are told where no suffix is declared, with these restore points: run a had committed five
    checkpoints and ended. `at`: of which head positions were counted. `good`: the diagnosis names the head."""
    tale = tale or Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).becomes("a", "FAILED")
    gaps = GapsFinding(lowest=0, highest=49, positions=50, missing=0, gaps=())
    case = tale.case(gaps=gaps)
    seen = case.observation.model_copy(update={"checkpoints": Seen(source="s3://state", values=points), **told})
    head, older = seen.table.head, seen.table.snapshots[0].snapshot_id
    counted = Evidence(
        verdict=Verdict.RULED_OUT, headline="None is missing.", id=EvidenceId("1"), task="missing_positions",
        task_version=1, question="?", metadata_location=seen.table.metadata_location,
        head=older if at == "older head" else head, window=Window(since=None, until=older if at != "head" else head),
        at=NOON, took_ms=1, bytes_read=0, finding=gaps,
    )  # fmt: skip
    found = PairingFinding(pairings=pairings(points, seen.table, seen.jobs))
    case = case.model_copy(update={"observation": seen, "pairing": found, "evidence": (counted,)})
    match = Matches(headline="Asked.", reasons=(), last_good=head if good else None, remedy=Remedy.NOTHING)
    return refused_uid(plan_of(case, MODE, match))


def running(survives_cancel: bool | None) -> Tale:
    """Run a has committed three checkpoints, and goes on."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    run = tale.runs["a"]
    settings = CheckpointSettings(mode="exactly_once", survives_cancel=survives_cancel)
    tale.runs["a"] = run.model_copy(update={"settings": settings})
    return tale


RETAINED = point("a", 3, kind=CheckpointKind.CHECKPOINT, path=f"s3://state/{job('a')}/chk-3")
UNSEEN = NotSeen(source="Flink REST", reason="It is down.", remedy="Look again.")


@pytest.mark.parametrize(
    ("told", "said", "not_said"),
    [
        (lambda: by_hand(point("a", 3), good=True), f"{NONE}.*roll back table and job to checkpoint 3", "allowNonRes"),
        (lambda: by_hand(point("a", 3)), f"{NONE}.*{HIGHEST}", "rewind"),
        (lambda: by_hand(point("a", 3), at="older window"), f"{NONE}.*{NEWEST}", "the highest"),
        (lambda: by_hand(point("a", 3), at="older head"), f"{NONE}.*{NEWEST}", "the highest"),
        (lambda: by_hand(point("a", 3), others=UNSEEN), f"{NONE}.*{NEWEST}", "the highest"),
        (lambda: by_hand(point("a", 5)), r"Start the job from \S+5 \(checkpoint 5\) with allowNonRestored", "none of"),
        (lambda: by_hand(), f"Start the job from {ITS_OWN}.* cannot tell which point that is", "none of"),
        (lambda: by_hand(RETAINED, tale=running(None)), rf"{COPY} {CANCEL} only.*{PROPOSE_AGAIN} Start", "none of"),
        (lambda: by_hand(RETAINED, tale=running(False)), rf"{COPY} {CANCEL} only then, and copy back", "none of"),
        (lambda: by_hand(RETAINED, tale=running(True)), rf"{CANCEL}\. {PROPOSE_AGAIN} Start the job", "copy away"),
        (lambda: by_hand(RETAINED, point("a", 3), tale=running(False)), r"from s3://state/savepoint-", "copy away"),
        (lambda: by_hand(tale=running(False)), rf"First copy away {ITS_OWN}.*{CANCEL}\. Start the job", "none of"),
    ],
    ids=[
        "below, and a rewind", "below", "counted in an older window", "counted at an older head", "other jobs unseen",
        "it pairs with the head", "none can be read", "may be deleted", "is deleted", "is kept", "a savepoint first",
        "none can be read, and the run goes on",
    ],
)  # fmt: skip
def test_what_people_are_told_to_do_by_hand(told: Callable[[], str], said: str, not_said: str) -> None:
    """No state is named above which the job has committed, and what Flink may delete is brought away first."""
    found = told()

    assert re.search(said, found), found
    assert not_said not in found


def test_the_state_of_a_silent_run_that_began_below_is_not_named(scene: Scene) -> None:
    """Main is at 3, run b was started from 1 and has committed nothing: it is where it is by rows that main has."""
    starts_from_a_wrong_savepoint(scene)
    scene.flink.savepoint(job("b"))
    rmtree(savepoint_of(scene, "a", 3))

    assert re.search(NONE, refused_uid(uid_after_expiry_planned(scene)))


def test_under_a_run_that_may_have_gone_on_people_ask_first(scene: Scene) -> None:
    """Another declared job has committed last: what it reads decides whether the job's own point repeats its rows."""
    scene.flink.ends_with_savepoint(job("a"))
    commits(scene, "e", 8, range(900, 903), operator="ee" * 16)
    guest(scene, 8)
    declared(scene)

    told = refused_uid(uid_after_expiry_planned(scene))

    assert "run eeeeee committed last. Ask its owners what it reads." in told
    assert "Waterline cannot tell which point that is" in told
