"""The end of planned work is told when it has come: nobody hears that the job writes again while it stands still."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from bot.adapters.journal_sql import Store
from bot.bootstrap.content import CONTENT
from bot.incident.effects import KeepSavepoint, StopJob
from bot.incident.entries import (
    EffectEnded,
    EffectStarted,
    ExecutionEnded,
    ExecutionStarted,
    OutcomeSettled,
    PromiseReminded,
    ProposalMade,
    Verified,
)
from bot.incident.proposal import HeadDescends
from bot.incident.savepoints import refuse_untimely
from bot.incident.setup import TableSetup
from bot.notices import scan
from bot.observation.errors import Refused
from bot.observation.evidence import Observation
from bot.observation.flink import FlinkManifest, JobRun, Restored
from bot.observation.ids import CheckpointId, JobId, SnapshotId
from bot.observation.looked import Seen
from bot.observation.snapshot import REPAIR, Snapshot
from bot.service.closing import Closing
from bot.service.incident_store import IncidentStore
from bot.service.notices.notifying import Telling
from bot.slack.blocks.promises import reminder_of_promise
from tests import orders_table as orders
from tests.decisions import ANA, BEN, PROPOSAL, rewind
from tests.incidents import Story
from tests.savepoints.test_announced import ANNOUNCED, OFF, OVER, PLAN, counts, may_tell, says, takes_it
from tests.telling.conftest import Hand, NoReviews
from tests.telling.test_owed_notices import setup

AFTER = SnapshotId(orders.GOOD + 1000)
"""The only commit above the savepoint's snapshot, where a test makes one."""
STOP = StopJob(job=orders.JOB, job_id=JobId(orders.RUN_A), needs_state=True)
KEEP = KeepSavepoint(table=orders.TABLE, job=orders.JOB, job_id=JobId(orders.RUN_A), tagged="20261103", plan=PLAN)


@pytest.fixture
def planned(record: Store) -> Story:
    """Ana has planned a savepoint, and its consumers know of it."""
    return says(Story(record.journal).opens(planned=True).says(PLAN, by=ANA), ANNOUNCED)


def begins(story: Story) -> Story:
    """The stop is under way."""
    approved = HeadDescends(head=orders.GOOD, job_id=JobId(orders.RUN_A), starts=orders.JOB)
    changes = {"effects": (STOP, KEEP), "action": "take_savepoint", "requirements": (approved,)}
    made = rewind(story.now).model_copy(update=changes)
    story.says(ProposalMade(step=None, proposal=made), by=ANA).says(ExecutionStarted(proposal=PROPOSAL), by=BEN)
    return story.says(EffectStarted(proposal=PROPOSAL, index=0))


def stops(story: Story, how: str = "done") -> Story:
    """The stop has ended so."""
    ended = {"proposal": PROPOSAL, "index": 0, "how": how, "detail": "Stopped with a savepoint."}
    return begins(story).says(EffectEnded.model_validate(ended))


def refused(story: Story) -> Story:
    """The job was stopped, and its savepoint does not pair."""
    stops(story).says(EffectStarted(proposal=PROPOSAL, index=1))
    story.says(EffectEnded(proposal=PROPOSAL, index=1, how="refused", detail="It does not pair."))
    return story.says(ExecutionEnded(proposal=PROPOSAL, outcome="refused", sentence="It does not pair."))


def unknown(story: Story) -> Story:
    """Whether the job was stopped is not known."""
    return stops(story, "unknown").says(ExecutionEnded(proposal=PROPOSAL, outcome="unknown", sentence="Nobody knows."))


def settled(story: Story, *, happened: bool) -> Story:
    said = {"index": 0, "happened": happened, "reason": "I looked.", "by": BEN, "at": story.now}
    return story.says(OutcomeSettled.model_validate({"proposal": PROPOSAL, **said}), by=BEN)


def run(job_id: str, **changes: object) -> JobRun:
    return orders.run_b(job_id=JobId(job_id), **changes)


def commit(**changes: object) -> Snapshot:
    """The commit that follows on run A's last."""
    like = next(each for each in orders.table_state().snapshots if each.snapshot_id == orders.HEAD)
    return like.model_copy(update={"snapshot_id": AFTER, "parent_id": orders.GOOD, "sequence_number": 7, **changes})


def world(*runs: JobRun, above: tuple[Snapshot, ...] = (), **seen: object) -> Observation:
    """These runs; main is run A's, and this above it."""
    table = orders.table_state()
    line = tuple(each for each in table.snapshots if each.job_id == orders.RUN_A) + above
    table = table.model_copy(update={"snapshots": line, "head": line[-1].snapshot_id, "head_moves": ()})
    manifests: Seen[FlinkManifest] = Seen(source="storage", values=())
    jobs = Seen(source="Flink REST", values=runs)
    changes = {"table": table, "jobs": jobs, "flink_manifests": manifests, **seen}
    return orders.observation().model_copy(update=changes)


WITHOUT_RUN = {"summary": {"total-records": "700", "added-records": "0"}, "operation": "replace"}
OLD_ENDED = run(orders.RUN_A, state="FINISHED")


def test_an_end_is_not_previewed_while_nothing_shows_it(planned: Story) -> None:
    """The sentence says which notice is meant."""
    counts(takes_it(planned))

    telling = Telling(
        IncidentStore(planned.journal, Hand()), Sight(world(run(orders.RUN_C))), scan(CONTENT / "messages"), Hand(),
        None, None, None,
    )  # type: ignore[arg-type]  # fmt: skip

    with pytest.raises(Refused, match=r"cannot see.*committed nothing to main since run a3f1c2 was stopped"):
        telling.preview(planned.id, OVER)


@pytest.mark.parametrize(
    "above",
    [
        pytest.param(commit(**WITHOUT_RUN), id="compaction"),
        pytest.param(
            commit(summary={"spark.app.id": "local-17", "added-records": "5"}, operation="append"), id="spark"
        ),
        pytest.param(commit(), id="another Flink job"),
        pytest.param(commit(summary={**commit().summary, "flink.job-id": orders.RUN_A}), id="stopped run"),
        pytest.param(commit(summary={**commit().summary, "flink.job-id": orders.RUN_C, REPAIR: "x/1"}), id="repair"),
    ],
)
def test_only_a_commit_of_the_jobs_new_run_ends_the_work(planned: Story, above: Snapshot) -> None:
    """Run C is started without what was kept, and has committed nothing; whoever else has does not matter."""
    takes_it(planned)

    assert not may_tell(counts(planned, head=AFTER), OVER, world(OLD_ENDED, run(orders.RUN_C), above=(above,)))


def test_a_commit_of_the_new_run_ends_the_work_once_it_is_counted(planned: Story) -> None:
    """Also where a compaction follows; rows that were counted before it are counted again."""
    above = (commit(), commit(snapshot_id=SnapshotId(AFTER + 1), parent_id=AFTER, sequence_number=8, **WITHOUT_RUN))
    seen = world(OLD_ENDED, run(orders.RUN_B), above=above)
    takes_it(planned)

    assert not may_tell(counts(planned, head=orders.GOOD), OVER, seen)
    assert may_tell(counts(planned, head=AFTER), OVER, seen)
    assert may_tell(counts(planned, head=SnapshotId(AFTER + 1)), OVER, seen)


@pytest.mark.parametrize("changes", [{"state": "FAILED"}, {"state": "RESTARTING"}])
def test_a_new_run_that_does_not_run_does_not_write_again(planned: Story, changes: dict[str, object]) -> None:
    """It has committed, and stands still; as where Flink cannot be asked, or lists only the run that was stopped."""
    above = (commit(),)
    counts(takes_it(planned), head=AFTER)

    for seen in (
        world(OLD_ENDED, run(orders.RUN_B, **changes), above=above),
        world(OLD_ENDED, above=above),
        world(above=above, jobs=orders.not_seen("Flink REST")),
    ):
        assert not may_tell(planned, OVER, seen)


def test_each_start_under_one_job_id_is_a_run_of_its_own(planned: Story) -> None:
    """As on a cluster for one job, which gives every start the same id."""
    stopped_id = {**commit().summary, "flink.job-id": orders.RUN_A}
    takes_it(planned)
    started = planned.now + timedelta(seconds=10)
    later = commit(summary=stopped_id, committed_at=started + timedelta(seconds=20))
    counts(planned, head=AFTER)

    assert may_tell(planned, OVER, world(run(orders.RUN_A, started_at=started), above=(later,)))
    assert not may_tell(planned, OVER, world(run(orders.RUN_A), above=(later,)))
    before = later.model_copy(update={"committed_at": started - timedelta(seconds=1)})
    assert not may_tell(planned, OVER, world(run(orders.RUN_A, started_at=started), above=(before,)))


def test_what_a_repair_puts_back_is_no_commit_of_the_new_run(planned: Story) -> None:
    """Main had lost it; whoever put it back was not the job."""
    lost = commit(summary={**commit().summary, "flink.job-id": orders.RUN_C})
    put_back = lost.model_copy(
        update={"snapshot_id": SnapshotId(AFTER + 1), "summary": {**lost.summary, REPAIR: "x/1"}}
    )
    counts(takes_it(planned), head=SnapshotId(AFTER + 1))

    assert not may_tell(planned, OVER, world(run(orders.RUN_C), above=(lost, put_back)))


class Sight:
    """Sees this world."""

    def __init__(self, seen: Observation) -> None:
        self._seen = seen

    def setup(self, _table: object) -> TableSetup:
        return setup("a")

    def observe(self, *_of: object, **_how: object) -> Observation:
        return self._seen


def test_silence_alone_is_no_end(planned: Story) -> None:
    """A run that began from what was kept, completes checkpoints, and has committed nothing."""
    since = takes_it(planned).now
    counts(planned, head=orders.GOOD)
    restored = Restored(checkpoint_id=CheckpointId(10), at=since, is_savepoint=True, path=orders.SAVEPOINT_10)

    assert not may_tell(planned, OVER, world(OLD_ENDED, run(orders.RUN_C, restored=restored, started_at=since)))


@pytest.mark.parametrize("course", [begins, stops, refused, unknown], ids=lambda course: course.__name__)
def test_nobody_is_told_that_the_job_was_not_stopped(planned: Story, course: Callable[[Story], Story]) -> None:
    """Once it was, or may have been, whatever became of its savepoint; the remedy names no notice that is refused."""
    assert may_tell(planned, OFF)

    with pytest.raises(Refused, match=r"run a3f1c2 .* Nothing was sent") as off:
        refuse_untimely(course(planned).incident, "off")
    with pytest.raises(Refused, match="Nothing was sent") as over:
        refuse_untimely(planned.incident, "over")

    assert f"/waterline notify {OVER}" in off.value.remedy
    assert OFF not in over.value.remedy


@pytest.mark.parametrize(
    ("course", "may_be_called_off"),
    [
        pytest.param(lambda work: settled(unknown(work), happened=False), True, id="somebody saw that it did not stop"),
        pytest.param(lambda work: settled(unknown(work), happened=True), False, id="somebody saw that it stopped"),
        pytest.param(lambda work: stops(work, "refused"), True, id="the stop was refused: the run went on"),
        pytest.param(lambda work: says(takes_it(work), ANNOUNCED), False, id="announced once more while it stands"),
        pytest.param(lambda work: says(counts(takes_it(work)), ANNOUNCED), False, id="the same, and rows were counted"),
        pytest.param(lambda work: says(takes_it(says(work, OFF)), ANNOUNCED), False, id="called off, and then begun"),
    ],
)
def test_work_that_has_begun_is_not_called_off(
    planned: Story, course: Callable[[Story], Story], may_be_called_off: bool
) -> None:
    """The job stands still since before, however late that is announced."""
    assert may_tell(course(planned), OFF) is may_be_called_off


def test_after_its_end_other_work_may_be_announced_and_called_off(planned: Story) -> None:
    """And is not over before it has begun."""
    says(says(counts(takes_it(planned)), OVER), ANNOUNCED)

    assert may_tell(planned, OFF)
    assert not may_tell(planned, OVER)


def test_work_whose_savepoint_does_not_pair_has_an_end(planned: Story) -> None:
    """The job was started by hand, has committed, and its rows are right."""
    refused(planned)
    before = may_tell(planned, OVER)

    assert not before
    assert may_tell(counts(planned), OVER)


def test_the_reminder_offers_no_end_that_is_refused(planned: Story) -> None:
    """And closing asks for none."""
    desk = Closing(IncidentStore(planned.journal, Hand()), NoReviews(), {})  # type: ignore[arg-type]
    takes_it(planned).says(ExecutionEnded(proposal=PROPOSAL, outcome="applied", sentence="Kept."))
    planned.says(Verified(proposal=PROPOSAL, passed=True, checks=(), evidence=(), head=orders.GOOD))
    planned.says(PromiseReminded(what="planned-end", due=planned.now, moment=planned.now, people=(ANA,)))

    _, blocks = reminder_of_promise(planned.incident, planned.incident.entries[-1])
    with pytest.raises(Refused, match=f"{OVER}, once the job writes again") as kept_open:
        desk.close(planned.id, "Not now.", by=ANA)

    assert "It is over…" in str(blocks[1].to_dict())
    assert "called off" not in str([each.to_dict() for each in blocks])
    assert OFF not in kept_open.value.remedy
