"""The end of planned work is told when it has come: nobody hears that the job writes again while it stands still."""

from datetime import datetime, timedelta

import pytest

from bot.bootstrap.content import CONTENT
from bot.domain.entries import (
    NoticesPreviewed,
)
from bot.domain.errors import Refused
from bot.domain.evidence import Observation
from bot.domain.flink import FlinkManifest, JobRun, Restored
from bot.domain.ids import CheckpointId, JobId, SnapshotId
from bot.domain.looked import Seen
from bot.domain.notice import Notice
from bot.domain.savepoint_told import OVER, PLANNED
from bot.domain.setup import TableSetup
from bot.domain.snapshot import REPAIR, Snapshot
from bot.notices import scan
from bot.service.incident_store import IncidentStore
from bot.service.planned_telling import refuse_late_announcement
from bot.service.sending_rules import refuse_to_send
from bot.service.telling import Telling
from tests import orders_table as orders
from tests.decisions import CHANNEL
from tests.incidents import Story
from tests.savepoints.stopped_work import AFTER, OLD_ENDED, WITHOUT_RUN, commit, planned, run, world
from tests.savepoints.test_announced import counts, may_tell, takes_it
from tests.telling.conftest import Hand
from tests.telling.test_owed_notices import setup

__all__ = ["planned"]


def test_an_end_is_not_previewed_while_nothing_shows_it(planned: Story) -> None:
    """The sentence says which notice is meant."""
    counts(takes_it(planned))

    telling = Telling(
        IncidentStore(planned.journal, Hand()), Sight(world(run(orders.RUN_C))), scan(CONTENT / "messages"), Hand(),
        None, None, None,
    )  # type: ignore[arg-type]  # fmt: skip

    with pytest.raises(Refused, match=r"Nothing shows.*committed nothing to main since run a3f1c2 was stopped"):
        telling.preview(planned.id, OVER)


def test_an_announcement_that_was_previewed_before_the_end_is_not_sent_after_it(planned: Story) -> None:
    """While the job stands still it may be said to more people, whatever was counted then."""
    counts(takes_it(planned))
    previewed = planned.now
    counts(planned)

    refuse_late_announcement(planned.incident, PLANNED, planned.now)
    with pytest.raises(Refused, match="over, as far as is known"):
        refuse_late_announcement(planned.incident, PLANNED, previewed)
    assert may_tell(planned, PLANNED, world(OLD_ENDED))
    assert not may_tell(planned, PLANNED)


def test_an_open_preview_of_an_announcement_is_held_against_what_was_counted_since(planned: Story) -> None:
    """By whoever sends it."""
    made = Notice(kind=PLANNED, revision=2, consumer="a", channel=CHANNEL, text="*x*")
    takes_it(planned).says(NoticesPreviewed(name="seen", notices=(made,)))
    refuse_to_send(planned.incident, "seen", [made])

    with pytest.raises(Refused, match="over, as far as is known"):
        refuse_to_send(counts(planned).incident, "seen", [made])


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
        """See Observer."""
        return setup("a")

    def observe(self, *_of: object, **_how: object) -> Observation:
        """See Observer."""
        return self._seen


def quiet(since: datetime, path: str = orders.SAVEPOINT_10, **changes: object) -> JobRun:
    """Run C, started from there; its source is quiet."""
    restored = Restored(checkpoint_id=CheckpointId(10), at=since, is_savepoint=True, path=path)
    return run(orders.RUN_C, **{"restored": restored, "started_at": since, **changes})


def test_a_table_that_nobody_feeds_has_an_end_as_well(planned: Story) -> None:
    """The run began from what was kept, completes checkpoints, and nothing waits: rows are counted since its start."""
    counts(takes_it(planned), head=orders.GOOD)
    since = planned.now + timedelta(seconds=1)
    seen = world(OLD_ENDED, quiet(since))
    too_early = may_tell(planned, OVER, seen)
    counts(planned, head=orders.GOOD)

    assert not too_early
    assert may_tell(planned, OVER, seen)


def test_silence_alone_is_no_end(planned: Story) -> None:
    """Of a run without a checkpoint, from elsewhere or nothing, or with files that wait or that nobody could list."""
    waiting = FlinkManifest(
        path="m", job_id=JobId(orders.RUN_C), operator_id=orders.OPERATOR, subtask=0, attempt=0,
        checkpoint_id=CheckpointId(11), number=0, bytes=9, written_at=None,
    )  # fmt: skip
    since = takes_it(planned).now
    counts(planned, head=orders.GOOD)

    assert may_tell(planned, OVER, world(OLD_ENDED, quiet(since)))
    for seen in (
        world(OLD_ENDED, quiet(since, completed_count=0)),
        world(OLD_ENDED, quiet(since, orders.SAVEPOINT_6)),
        world(OLD_ENDED, quiet(since, restored=None)),
        world(OLD_ENDED, quiet(since), flink_manifests=Seen(source="storage", values=(waiting,))),
        world(OLD_ENDED, quiet(since), flink_manifests=orders.not_seen("storage")),
    ):
        assert not may_tell(planned, OVER, seen)
