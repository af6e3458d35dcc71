"""Starts of jobs that were once seen are kept, on either database, though Flink forgets them."""

from datetime import UTC, datetime, timedelta
from threading import Thread

import pytest
from sqlalchemy import text

from bot.adapters.journal_sql import Store, open_store
from bot.adapters.journal_sql import store as store_module
from bot.observation.errors import CouldNotKeep
from bot.observation.flink import JobRun, RememberedStart, Restored, start_of
from bot.observation.ids import CheckpointId, OperatorId
from bot.service.observing import Starts
from tests.orders_table import run_b
from tests.web.scene import StandingClock

NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)


def seen(run: JobRun, minute: int = 0) -> RememberedStart:
    """What a look at that minute sees of the run."""
    found = start_of("orders", run, NOON + timedelta(minutes=minute))
    assert found is not None
    return found


def restored(checkpoint: int, *, count: int = 1, second: int = 0, path: str | None = None, **changes: object) -> JobRun:
    """The run, since Flink restored it from that checkpoint."""
    point = Restored(
        checkpoint_id=CheckpointId(checkpoint),
        at=NOON + timedelta(seconds=second),
        is_savepoint=False,
        path=path or f"s3://points/chk-{checkpoint}",
    )
    return run_b(restored=point, restored_count=count, **changes)


def test_each_start_is_kept_once_and_known_better_when_it_is_seen_again(store: Store) -> None:
    """Restores from one point are one start; a savepoint of the same number is another."""
    first = seen(restored(4))
    store.starts.add(first)
    store.starts.add(seen(restored(4, count=3, second=40), 1))
    store.starts.add(seen(restored(4, count=2, second=20), 2))
    store.starts.add(seen(restored(4, count=4, path="s3://points/savepoint-1"), 3))
    store.starts.add(seen(run_b(restored=None, started_at=NOON), 4))

    again, other, empty = store.starts.of("orders")

    assert (again.first_count, again.last_count, again.first_seen) == (1, 3, NOON)
    assert (again.restored, again.last_at) == (first.restored, NOON + timedelta(seconds=40))
    assert (other.first_count, other.first_seen) == (4, NOON + timedelta(minutes=3))
    assert (empty.restored, empty.last_at) == (None, None)
    assert store.starts.of("another") == ()


def test_the_end_of_a_run_stays_known(store: Store) -> None:
    """Also after a look that did not see it."""
    store.starts.add(seen(restored(4)))
    store.starts.add(seen(restored(4, state="FAILED", ended_at=NOON)))
    store.starts.add(seen(restored(4)))

    [kept] = store.starts.of("orders")

    assert kept.ended_at == NOON


def test_the_oldest_go_where_a_job_has_too_many(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that fails after each checkpoint for months fills no disk; another job's stay."""
    monkeypatch.setattr(store_module, "MOST_STARTS", 3)
    store.starts.add(seen(restored(1)).model_copy(update={"job": "another"}))
    for checkpoint in range(1, 7):
        store.starts.add(seen(restored(checkpoint), checkpoint))

    kept = [each.restored.checkpoint_id for each in store.starts.of("orders") if each.restored is not None]

    assert kept == [4, 5, 6]
    assert len(store.starts.of("another")) == 1


def test_replicas_that_see_one_start_at_once_keep_it_once(url: str) -> None:
    """Neither fails, and the higher count stays."""
    stores = [open_store(url) for _ in range(4)]
    looks = [
        Thread(target=each.starts.add, args=(seen(restored(4, count=n)),)) for n, each in enumerate(stores, start=1)
    ]
    for look in looks:
        look.start()
    for look in looks:
        look.join()

    [kept] = stores[0].starts.of("orders")
    for each in stores:
        each.close()

    assert (kept.first_count, kept.last_count) == (1, 4)


def test_no_secret_is_written(store: Store) -> None:
    """A restore point's address may carry one."""
    store.starts.add(seen(restored(4, path="s3://points/chk-4?X-Amz-Signature=0123456789abcdef0123456789abcdef")))

    with store.engine.connect() as connection:
        [body] = connection.scalars(text("SELECT body FROM seen_starts"))

    assert "0123456789abcdef" not in body


@pytest.mark.parametrize(
    "run",
    [
        run_b(restored=None, state="INITIALIZING"),
        run_b(restored=None, vertices=()),
        run_b(restored=None, from_history=True),
    ],
    ids=["not yet", "of no graph", "of a history server"],
)
def test_nothing_is_remembered_of_a_run_that_may_have_been_restored(run: JobRun) -> None:
    """That it began without state would be a wrong memory for ever."""
    assert start_of("orders", run, NOON) is None


class Broken:
    """A record that is away until it is mended; it counts what it was asked."""

    def __init__(self) -> None:
        self.is_away = True
        self.added: list[RememberedStart] = []

    def add(self, start: RememberedStart) -> None:
        """As the port says."""
        if self.is_away:
            raise CouldNotKeep("It is away.", "Nothing.", "Wait.")
        self.added.append(start)

    def of(self, job: str) -> tuple[RememberedStart, ...]:
        """As the port says."""
        if self.is_away:
            raise CouldNotKeep("It is away.", "Nothing.", "Wait.")
        return tuple(each for each in self.added if each.job == job)


def test_a_record_that_is_away_keeps_no_look_from_being_taken() -> None:
    """What it missed is kept at the next look, and what is kept is not written again."""
    record = Broken()
    starts = Starts(record, StandingClock())
    run = restored(4)

    starts.see("orders", [run])
    missed = starts.of(["orders"])
    record.is_away = False
    starts.see("orders", [run])
    starts.see("orders", [run])
    starts.see("orders", [restored(4, count=2)])

    assert missed == ()
    assert [(each.job_id, each.last_count) for each in record.added] == [(run.job_id, 1), (run.job_id, 2)]


def test_operators_are_those_of_every_look() -> None:
    """A graph that grew is one start still."""
    start = seen(restored(4))
    more = start.model_copy(update={"operator_ids": (OperatorId("f" * 32),)})

    assert start.with_seen(more).operator_ids == tuple(sorted({*start.operator_ids, "f" * 32}))
