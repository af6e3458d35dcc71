"""Each promise is held against what was observed; what nobody looked at is never kept."""

from datetime import UTC, datetime, timedelta

from bot.observation.contract import ContractColumn, TableContract
from bot.observation.evidence import Answer, Verdict
from bot.observation.flink import CheckpointKind, CheckpointSettings, CompletedCheckpoint, JobRun, StoredCheckpoint
from bot.observation.ids import CheckpointId
from tests.evidence.conftest import Asks
from tests.evidence.restore_points import stored
from tests.tables import OrdersTable, job, unseen

NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)
PROMISE = TableContract(
    key=("order_id",),
    checkpoint_every=timedelta(minutes=1),
    columns=(ContractColumn(name="order_id", type="long"),),
    keep_snapshots=timedelta(days=5),
)


def terms_of(answer: Answer) -> dict[str, bool | None]:
    """Every promise, and whether it holds."""
    return {term.term: term.holds for term in answer.finding.terms}


def run(
    *, interval_s: int = 60, mode: str | None = "exactly_once", survives: bool | None = True, failed: int = 0
) -> JobRun:
    """Run `a`: three checkpoints on object storage, an interval apart; the third is in the table."""
    checkpoints = tuple(
        CompletedCheckpoint(
            checkpoint_id=CheckpointId(number),
            kind=CheckpointKind.CHECKPOINT,
            status="COMPLETED",
            triggered_at=NOON + number * timedelta(seconds=interval_s),
            path=f"s3://state/{job('a')}/chk-{number}",
        )
        for number in (3, 2, 1)
    )
    return JobRun(
        job_id=job("a"),
        name="orders",
        state="RUNNING",
        started_at=NOON,
        checkpoint_interval_ms=interval_s * 1000,
        checkpoints=checkpoints,
        completed_count=3,
        failed_count=failed,
        settings=CheckpointSettings(mode=mode, survives_cancel=survives),
    )


def savepoint(checkpoint: int) -> StoredCheckpoint:
    """A stop-with-savepoint of run `a`."""
    return stored(job("a"), checkpoint, path=f"s3://state/savepoint-{checkpoint}")


def test_terms_that_are_kept_are_all_told(orders: OrdersTable, judges: Asks) -> None:
    """State, checkpoint and table in this order; what cannot be told yet is counted, and breaks nothing."""
    before = orders.commits("a", 1, range(10))
    trusted = orders.commits("a", 3, range(10, 20))
    ask = orders.ask(before, contract=PROMISE, jobs=[run()], checkpoints=[savepoint(3)])

    answer = judges("contract_agreement", ask.model_copy(update={"trusted": trusted}))

    told = terms_of(answer)
    assert answer.verdict is Verdict.RULED_OUT
    assert False not in told.values()
    assert told["A checkpoint every 1 min."] is True
    assert told["Checkpoints are exactly-once."] is True
    assert told["State outlives a run that is cancelled."] is True
    assert told["The table has every promised column."] is True
    assert told["Snapshots stay readable for 5 d."] is True
    assert told["Storage keeps a restore point that pairs with the trusted table state."] is True


def test_what_is_set_otherwise_than_promised_is_broken(orders: OrdersTable, judges: Asks) -> None:
    """Interval, mode, state that dies with its run, a column, and an expiry that takes too much."""
    orders.sets({"history.expire.max-snapshot-age-ms": "3600000"})
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 3, range(10, 20))
    wrong = run(interval_s=300, mode="at_least_once", survives=False)
    contract = PROMISE.model_copy(update={"columns": (ContractColumn(name="amount", type="long"),)})

    answer = judges(
        "contract_agreement", orders.ask(before, contract=contract, jobs=[wrong], checkpoints=[savepoint(3)])
    )

    broken = {promise for promise, holds in terms_of(answer).items() if holds is False}
    assert answer.verdict is Verdict.CONFIRMED
    assert broken == {
        "A checkpoint every 1 min.",
        "Checkpoints are exactly-once.",
        "State outlives a run that is cancelled.",
        "The table has every promised column.",
        "Snapshots stay readable for 5 d.",
    }
    assert answer.rows[0][2] == "NO"


def test_freshness_is_held_against_the_newest_event(orders: OrdersTable, judges: Asks) -> None:
    """As the evidence task of freshness tells it."""
    before = orders.commits("a", 1, range(10))
    contract = PROMISE.model_copy(update={"event_time": "event_time", "freshness": timedelta(minutes=15)})
    ask = orders.ask(before, contract=contract, jobs=[run()], checkpoints=[savepoint(1)])

    def read_at(minutes: int) -> Answer:
        at = datetime(2026, 11, 3, tzinfo=UTC) + timedelta(minutes=minutes)
        table = ask.observation.table.model_copy(update={"read_at": at})
        world = ask.observation.model_copy(update={"table": table})
        return judges("contract_agreement", ask.model_copy(update={"observation": world}))

    fresh, stale = read_at(10), read_at(20)

    promise = "The newest event is at most 15 min old."
    assert (terms_of(fresh)[promise], terms_of(stale)[promise]) == (True, False)


def test_sources_that_are_down_keep_no_promise(orders: OrdersTable, judges: Asks) -> None:
    """Could not look is not kept."""
    before = orders.commits("a", 1, range(10))
    ask = orders.ask(before, contract=PROMISE, jobs=unseen("Flink"), checkpoints=unseen("the checkpoint folder"))

    answer = judges("contract_agreement", ask)

    told = terms_of(answer)
    assert answer.verdict is Verdict.INCONCLUSIVE
    assert told["Checkpoints are exactly-once."] is None
    assert told["A checkpoint every 1 min."] is None
    assert {source.source for source in answer.could_not_look} == {"Flink", "the checkpoint folder"}


def test_nothing_is_ruled_out_where_no_term_can_be_told(orders: OrdersTable, judges: Asks) -> None:
    """Flink and storage were asked, and know of nothing: that keeps no promise."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 3, range(10, 20))

    answer = judges("contract_agreement", orders.ask(before, contract=TableContract(), jobs=[], checkpoints=[]))

    assert set(terms_of(answer).values()) == {None}
    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "is known yet" in answer.headline
