"""Ages are of what came, against what is promised; a stream whose event time stands still is told."""

from datetime import UTC, datetime, timedelta

from bot.domain.contract import TableContract
from bot.domain.evidence import Answer, Ask, Verdict
from bot.domain.findings import FreshnessFinding
from tests.evidence.conftest import Asks
from tests.tables import CONTRACT, OrdersTable, of_flink, rows

MIDNIGHT = datetime(2026, 11, 3, tzinfo=UTC)
PROMISE = CONTRACT.model_copy(update={"freshness": timedelta(minutes=15)})


def fresh_of(answer: Answer) -> FreshnessFinding:
    """The finding that the answer carries."""
    assert isinstance(answer.finding, FreshnessFinding)
    return answer.finding


def looked_at(ask: Ask, at: datetime) -> Ask:
    """The same table, read at another time."""
    table = ask.observation.table.model_copy(update={"read_at": at})
    return ask.model_copy(update={"observation": ask.observation.model_copy(update={"table": table})})


def test_the_newest_event_is_told_from_the_bounds_of_files(orders: OrdersTable, asks: Asks) -> None:
    """The highest of the newest commits, not the newest commit's; the rows that a compaction copies are not new."""
    orders.commits("a", 1, range(600))
    before = orders.commits("a", 2, range(100))
    contract = PROMISE.model_copy(update={"freshness": timedelta(minutes=5)})
    ask = orders.ask(before, contract=contract)

    fresh = asks("freshness", looked_at(ask, MIDNIGHT + timedelta(seconds=599 + 300)))
    stale = asks("freshness", looked_at(ask, MIDNIGHT + timedelta(seconds=599 + 301)))

    assert (fresh.verdict, fresh_of(fresh).event_age_s) == (Verdict.RULED_OUT, 300)
    assert (stale.verdict, fresh_of(stale).event_age_s) == (Verdict.CONFIRMED, 301)
    assert stale.headline.startswith("The newest event is 5 min 1 s old, the contract promises 5 min")


def test_commits_that_stay_away_are_told_against_the_cadence(orders: OrdersTable, asks: Asks) -> None:
    """Up to twice the promised time is kept; an empty commit is no sign of life of the data."""
    commit = orders.commits("a", 1, range(100))
    at = orders.state().by_id[commit].committed_at
    orders.appends(rows([]), of_flink("a", 2))
    contract = TableContract(key=("order_id",), commit_every=timedelta(minutes=1))
    ask = orders.ask(None, contract=contract)

    kept = asks("freshness", looked_at(ask, at + timedelta(seconds=119)))
    broken = asks("freshness", looked_at(ask, at + timedelta(seconds=121)))

    assert (kept.verdict, broken.verdict) == (Verdict.RULED_OUT, Verdict.CONFIRMED)
    assert fresh_of(broken).newest_commit == commit


def test_event_time_that_stands_still_is_told(orders: OrdersTable, asks: Asks) -> None:
    """Three commits with rows that raise nothing; two may happen."""
    orders.commits("a", 1, range(600))
    orders.commits("a", 2, range(500, 600))
    orders.commits("a", 3, range(100))
    rising = asks("freshness", looked_at(orders.ask(None, contract=PROMISE), MIDNIGHT + timedelta(minutes=11)))
    orders.commits("a", 4, range(599, 600))

    stuck = asks("freshness", looked_at(orders.ask(None, contract=PROMISE), MIDNIGHT + timedelta(minutes=11)))

    assert not fresh_of(rising).is_event_time_stuck
    assert fresh_of(stuck).stuck_at == MIDNIGHT + timedelta(seconds=599)
    assert stuck.verdict is Verdict.CONFIRMED
    assert stuck.headline == "The last 3 commits with rows brought no event newer than 2026-11-03 00:09:59 UTC."


def test_without_a_promise_ages_are_told_and_not_judged(orders: OrdersTable, asks: Asks) -> None:
    """What to promise is named."""
    orders.commits("a", 1, range(100))

    answer = asks("freshness", orders.ask(None))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert fresh_of(answer).event_age_s is not None
    assert answer.could_not_look[0].source == "contract.freshness"


def test_a_promise_about_events_is_not_kept_by_commits_alone(orders: OrdersTable, asks: Asks) -> None:
    """Without a column of event times a young commit proves nothing; an old one breaks the promise."""
    commit = orders.commits("a", 1, range(100))
    at = orders.state().by_id[commit].committed_at
    ask = orders.ask(None, contract=TableContract(key=("order_id",), freshness=timedelta(minutes=15)))

    young = asks("freshness", looked_at(ask, at + timedelta(minutes=1)))
    old = asks("freshness", looked_at(ask, at + timedelta(minutes=16)))

    assert (young.verdict, old.verdict) == (Verdict.INCONCLUSIVE, Verdict.CONFIRMED)


def test_an_empty_table_is_not_fresh(orders: OrdersTable, asks: Asks) -> None:
    """Commits without a row tell no age of the data."""
    orders.appends(rows([]), of_flink("a", 1))

    answer = asks("freshness", orders.ask(None, contract=PROMISE))

    assert answer.verdict is Verdict.INCONCLUSIVE
