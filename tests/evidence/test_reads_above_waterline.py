"""Who read above the trusted snapshot is told from events, and what no event tells is not ruled out."""

from datetime import datetime, timedelta

from bot.domain.evidence import Answer, Ask, Verdict
from bot.domain.findings import ReadsFinding
from bot.domain.ids import SnapshotId
from bot.domain.reads import ReadRun
from tests.evidence.conftest import Asks
from tests.tables import OrdersTable, unseen


def reads_of(answer: Answer) -> ReadsFinding:
    """The finding that the answer carries."""
    assert isinstance(answer.finding, ReadsFinding)
    return answer.finding


def read(orders: OrdersTable, snapshot: int | None, consumer: str = "revenue_daily", after_s: float = 60) -> ReadRun:
    """A run that read `snapshot` so many seconds after the newest commit."""
    newest: datetime = orders.state().snapshots[-1].committed_at
    told = None if snapshot is None else SnapshotId(snapshot)
    return ReadRun(
        consumer=consumer,
        run_id=f"{consumer}-{snapshot}",
        at=newest + timedelta(seconds=after_s),
        snapshot_id=told,
    )


def trusting(ask: Ask, snapshot: SnapshotId | None) -> Ask:
    """The same, with the snapshot that consumers are told to pin to."""
    return ask.model_copy(update={"trusted": snapshot})


def test_reads_above_and_of_rolled_back_states_are_told(orders: OrdersTable, asks: Asks) -> None:
    """Also a read of a snapshot that was rolled back since; reads at or below the trusted one are not."""
    old = orders.commits("a", 1, range(10))
    trusted = orders.commits("a", 2, range(10, 20))
    lost = orders.commits("a", 3, range(20, 30))
    orders.rolls_back_to(trusted)
    above = orders.commits("b", 3, range(20, 30))
    runs = [
        read(orders, above, "fraud_features", 90),
        read(orders, lost),
        read(orders, trusted, "quiet"),
        read(orders, old, "pinned"),
    ]

    answer = asks("reads_above_waterline", trusting(orders.ask(old, reads=runs), trusted))

    found = reads_of(answer)
    assert answer.verdict is Verdict.CONFIRMED
    assert [(run.consumer, run.snapshot_id) for run in found.above] == [
        ("revenue_daily", lost),
        ("fraud_features", above),
    ]
    assert (found.trusted, found.runs_checked, found.not_told) == (trusted, 4, ())
    assert "1 run of them a state that was rolled back" in answer.headline


def test_reads_below_the_waterline_are_fine(orders: OrdersTable, asks: Asks) -> None:
    """Nobody read above, and every run's snapshot is known."""
    trusted = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))

    answer = asks("reads_above_waterline", trusting(orders.ask(trusted, reads=[read(orders, trusted)]), trusted))

    assert answer.verdict is Verdict.RULED_OUT
    assert reads_of(answer).runs_checked == 1


def test_a_run_whose_snapshot_is_not_told_may_have_read_anything(orders: OrdersTable, asks: Asks) -> None:
    """Unless it came before the trusted snapshot was committed. An expired snapshot tells no more than none."""
    trusted = orders.commits("a", 1, range(10))
    early = read(orders, None, "early", after_s=-60)
    expired_early = read(orders, 4711, "expired", after_s=-60)
    orders.commits("a", 2, range(10, 20))
    runs = [early, expired_early]

    fine = asks("reads_above_waterline", trusting(orders.ask(trusted, reads=runs), trusted))
    unclear = asks(
        "reads_above_waterline",
        trusting(orders.ask(trusted, reads=[*runs, read(orders, None), read(orders, 4711)]), trusted),
    )

    assert fine.verdict is Verdict.RULED_OUT
    assert unclear.verdict is Verdict.INCONCLUSIVE
    assert [run.snapshot_id for run in reads_of(unclear).not_told] == [None, 4711]


def test_without_an_incident_the_tag_is_the_waterline(orders: OrdersTable, asks: Asks) -> None:
    """The table itself says what is trusted; with neither, nothing is judged."""
    trusted = orders.commits("a", 1, range(10))
    above = orders.commits("a", 2, range(10, 20))
    ask = orders.ask(trusted, reads=[read(orders, above)])

    untagged = asks("reads_above_waterline", ask)
    orders.tags("waterline", trusted)
    tagged = asks("reads_above_waterline", orders.ask(trusted, reads=[read(orders, above)]))

    assert untagged.verdict is Verdict.INCONCLUSIVE
    assert (tagged.verdict, reads_of(tagged).trusted) == (Verdict.CONFIRMED, trusted)


def test_a_lineage_source_that_is_down_rules_nothing_out(orders: OrdersTable, asks: Asks) -> None:
    """Could not look is not nothing found."""
    trusted = orders.commits("a", 1, range(10))

    answer = asks("reads_above_waterline", trusting(orders.ask(trusted, reads=unseen("Marquez")), trusted))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.could_not_look[0].source == "Marquez"
