"""The end of planned work is told when it has come: nobody hears that the job writes again while it stands still."""

from datetime import timedelta

import pytest

from bot.bootstrap.content import CONTENT
from bot.domain.errors import Refused
from bot.domain.evidence import Observation
from bot.domain.flink import Restored
from bot.domain.ids import CheckpointId, SnapshotId
from bot.domain.setup import TableSetup
from bot.domain.snapshot import REPAIR, Snapshot
from bot.notices import scan
from bot.service.incident_store import IncidentStore
from bot.service.telling import Telling
from tests import orders_table as orders
from tests.incidents import Story
from tests.savepoints.stopped_work import AFTER, OLD_ENDED, WITHOUT_RUN, commit, planned, run, world
from tests.savepoints.test_announced import OVER, counts, may_tell, takes_it
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
        """See Observer."""
        return setup("a")

    def observe(self, *_of: object, **_how: object) -> Observation:
        """See Observer."""
        return self._seen


def test_silence_alone_is_no_end(planned: Story) -> None:
    """A run that began from what was kept, completes checkpoints, and has committed nothing."""
    since = takes_it(planned).now
    counts(planned, head=orders.GOOD)
    restored = Restored(checkpoint_id=CheckpointId(10), at=since, is_savepoint=True, path=orders.SAVEPOINT_10)

    assert not may_tell(planned, OVER, world(OLD_ENDED, run(orders.RUN_C, restored=restored, started_at=since)))
