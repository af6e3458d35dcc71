"""Ages and lateness of what came, against what is promised, by clocks that may be wrong."""

from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest
from pyiceberg.types import DateType

from bot.observation.contract import TableContract
from bot.observation.evidence import Ask, Verdict
from tests.evidence.conftest import Asks
from tests.evidence.histories import write
from tests.evidence.test_contract_agreement import terms_of
from tests.tables import CONTRACT, OrdersTable, of_flink, of_table, rows

MIDNIGHT = datetime(2026, 11, 3, tzinfo=UTC)
PROMISE = CONTRACT.model_copy(update={"freshness": timedelta(minutes=15)})


def looked_at(ask: Ask, at: datetime) -> Ask:
    """The same table, read at another time."""
    return of_table(ask, read_at=at)


def test_the_newest_event_is_told_from_the_bounds_of_files(orders: OrdersTable, judges: Asks) -> None:
    """The highest of the newest commits, not the newest commit's; the rows that a compaction copies are not new."""
    orders.commits("a", 1, range(600))
    before = orders.commits("a", 2, range(100))
    contract = PROMISE.model_copy(update={"freshness": timedelta(minutes=5)})
    ask = orders.ask(before, contract=contract)

    fresh = judges("freshness", looked_at(ask, MIDNIGHT + timedelta(seconds=599 + 300)))
    stale = judges("freshness", looked_at(ask, MIDNIGHT + timedelta(seconds=599 + 301)))

    assert (fresh.verdict, fresh.finding.event_age_s) == (Verdict.RULED_OUT, 300)
    assert (stale.verdict, stale.finding.event_age_s) == (Verdict.CONFIRMED, 301)
    assert stale.headline.startswith("The newest event is 5 min 1 s old, the contract promises 5 min")


def test_commits_that_stay_away_are_told_against_the_cadence(orders: OrdersTable, judges: Asks) -> None:
    """Up to twice the promised time is kept; an empty commit is no sign of life of the data."""
    commit = orders.commits("a", 1, range(100))
    at = orders.state().by_id[commit].committed_at
    orders.appends(rows([]), of_flink("a", 2))
    contract = TableContract(key=("order_id",), commit_every=timedelta(minutes=1))
    ask = orders.ask(None, contract=contract)

    kept = judges("freshness", looked_at(ask, at + timedelta(seconds=119)))
    broken = judges("freshness", looked_at(ask, at + timedelta(seconds=121)))

    assert (kept.verdict, broken.verdict) == (Verdict.RULED_OUT, Verdict.CONFIRMED)
    assert broken.finding.newest_commit == commit


def test_event_time_that_stands_still_is_told(orders: OrdersTable, judges: Asks) -> None:
    """Three commits with rows that raise nothing; two may happen."""
    orders.commits("a", 1, range(600))
    orders.commits("a", 2, range(500, 600))
    orders.commits("a", 3, range(100))
    rising = judges("freshness", looked_at(orders.ask(None, contract=PROMISE), MIDNIGHT + timedelta(minutes=11)))
    orders.commits("a", 4, range(599, 600))

    stuck = judges("freshness", looked_at(orders.ask(None, contract=PROMISE), MIDNIGHT + timedelta(minutes=11)))

    assert not rising.finding.is_event_time_stuck
    assert stuck.finding.stuck_at == MIDNIGHT + timedelta(seconds=599)
    assert stuck.verdict is Verdict.CONFIRMED
    assert stuck.headline == "The last 3 commits with rows brought no event newer than 2026-11-03 00:09:59 UTC."


def test_without_a_promise_ages_are_told_and_not_judged(orders: OrdersTable, judges: Asks) -> None:
    """What to promise is named."""
    orders.commits("a", 1, range(100))

    answer = judges("freshness", orders.ask(None))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.finding.event_age_s is not None
    assert answer.could_not_look[0].source == "contract.freshness"


def test_a_promise_about_events_is_not_kept_by_commits_alone(orders: OrdersTable, judges: Asks) -> None:
    """Without a column of event times a young commit proves nothing; an old one breaks the promise."""
    commit = orders.commits("a", 1, range(100))
    at = orders.state().by_id[commit].committed_at
    ask = orders.ask(None, contract=TableContract(key=("order_id",), freshness=timedelta(minutes=15)))

    young = judges("freshness", looked_at(ask, at + timedelta(minutes=1)))
    old = judges("freshness", looked_at(ask, at + timedelta(minutes=16)))

    assert (young.verdict, old.verdict) == (Verdict.INCONCLUSIVE, Verdict.CONFIRMED)


def test_an_empty_table_is_not_fresh(orders: OrdersTable, judges: Asks) -> None:
    """Commits without a row tell no age of the data."""
    orders.appends(rows([]), of_flink("a", 1))

    answer = judges("freshness", orders.ask(None, contract=PROMISE))

    assert answer.verdict is Verdict.INCONCLUSIVE


BY_DAY = TableContract(key=("order_id",), event_time="day")


@pytest.fixture
def days(orders: OrdersTable) -> OrdersTable:
    """The orders with the day of each."""
    orders.adds_column("day", DateType())
    return orders


def appended(days: OrdersTable, run: str, checkpoint: int, day: date) -> None:
    """Ten orders of this day, by one checkpoint."""
    some = rows(range(checkpoint * 10, checkpoint * 10 + 10))
    days.appends(some.append_column("day", pa.array([day] * len(some), pa.date32())), of_flink(run, checkpoint))


def test_commits_of_two_runs_on_one_day_repeat_nothing_of_each_other(days: OrdersTable, judges: Asks) -> None:
    """Their days are the same, which says nothing of their events."""
    for run, checkpoint in (("a", 1), ("a", 2), ("b", 3), ("b", 4)):
        appended(days, run, checkpoint, date(2026, 11, 3))

    answer = judges("duplicate_commits", days.ask(None, contract=BY_DAY))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "is not known" in answer.headline


FIVE_MINUTES = CONTRACT.model_copy(update={"late_after": timedelta(minutes=5)})


@pytest.mark.parametrize(
    ("line", "checked", "late", "worst_s"),
    [
        pytest.param("a1[900:1000] | a2[690:800] a3[1000:1100]", 210, 9, 309, id="below what came before by more"),
        pytest.param(
            "a1[900:1000] | a2[699,5000]", 2, 0, 300, id="exactly the allowed distance; its own newest is none"
        ),
        pytest.param(
            "a1[0:100] | a2[5000:5100] back a3[1000:1100] a4[500:510]", 110, 10, 599, id="the mark rises in the window"
        ),
        pytest.param("a1[1000:1100] | a2[0:10] drop[0:10]", 10, 10, 1099, id="deleted since: it was late all the same"),
        pytest.param("a1[0:10] | a2[]", 0, 0, None, id="a commit without rows is passed over"),
    ],
)
def test_rows_far_below_the_newest_event_before_them_are_late(
    orders: OrdersTable, asks: Asks, line: str, checked: int, late: int, worst_s: int | None
) -> None:
    """An event is a second a position, and the contract allows five minutes: the newest late commit is named."""
    history = write(orders, line)

    answer = asks("late_rows", orders.ask(history.before, contract=FIVE_MINUTES))

    found = answer.finding
    assert answer.verdict is (Verdict.CONFIRMED if late else Verdict.RULED_OUT)
    assert (found.rows_checked, found.late, found.allowed_s) == (checked, late, 300)
    assert not late or found.worst_s == worst_s
    assert [each.late for each in found.commits] == ([late] if late else [])
    assert {each.snapshot_id for each in found.commits} <= set(history.commits)
    assert not late or "the contract allows 5 min" in answer.headline


def test_without_an_allowance_any_row_below_the_mark_counts(orders: OrdersTable, asks: Asks) -> None:
    """The contract says nothing of lateness, so none is allowed; the headline says so."""
    answer = asks("late_rows", orders.ask(write(orders, "a1[0:100] | a2[98,100]").before))

    assert answer.finding.late == 1
    assert "names no allowance" in answer.headline


def test_files_without_bounds_are_read(orders: OrdersTable, asks: Asks) -> None:
    """A writer that keeps no bounds hides no late row."""
    orders.sets({"write.metadata.metrics.default": "none"})
    before, _ = write(orders, "a1[1000:1100] | a2[0:10]")

    answer = asks("late_rows", orders.ask(before, contract=FIVE_MINUTES))

    assert answer.finding.late == 10


def test_rows_that_a_delete_copied_are_not_new(orders: OrdersTable, judges: Asks) -> None:
    """Deleting some rows of a file writes the others again: they are not counted as late. That all were there before
    its writer must say: an `INSERT OVERWRITE` looks the same."""
    orders.commits("a", 1, range(100))
    before = orders.commits("a", 2, range(1000, 1100))
    orders.overwrites(rows(range(1000, 1020)), "order_id < 10")

    answer = judges("late_rows", orders.ask(before, contract=FIVE_MINUTES))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert (answer.finding.late, answer.finding.rows_checked) == (0, 20)
    assert "put 90 rows in the place of 1 file" in answer.headline


def test_a_window_whose_beginning_has_expired_is_not_ruled_out(orders: OrdersTable, judges: Asks) -> None:
    """What lay below is not known, so nothing can be said of what was late against it."""
    orders.commits("a", 1, range(100))
    ask = orders.ask(None)
    gone = ask.model_copy(update={"window": ask.window.model_copy(update={"since": 12345})})

    answer = judges("late_rows", gone)

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "no longer listed" in answer.headline


def test_a_contract_without_event_time_says_what_to_name(orders: OrdersTable, judges: Asks) -> None:
    """Also where the column is there and holds no time."""
    before = orders.commits("a", 1, range(10))

    unnamed = judges("late_rows", orders.ask(before, contract=TableContract(key=("order_id",))))
    no_time = judges("late_rows", orders.ask(before, contract=TableContract(key=("order_id",), event_time="customer")))

    assert (unnamed.verdict, no_time.verdict) == (Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE)
    assert unnamed.could_not_look[0].source == "contract.event_time"
    assert "holds string, and no time" in no_time.headline


FAR = datetime(2099, 1, 1, tzinfo=UTC)


def ahead(position: int, event: datetime = FAR) -> pa.Table:
    """One row by a clock that is far ahead."""
    made = rows([position])
    at = made.schema.get_field_index("event_time")
    return made.set_column(at, made.schema.field(at), pa.array([event], made.schema.field(at).type))


@pytest.mark.parametrize("task", ["freshness", "contract_agreement"])
@pytest.mark.parametrize("beside", [True, False])
def test_a_dead_job_is_stale_however_new_its_events_seem(
    orders: OrdersTable, asks: Asks, task: str, beside: bool
) -> None:
    """What was committed an hour ago cannot hold a younger event."""
    commit = orders.appends(pa.concat_tables([ahead(0), rows(range(1, 10 if beside else 1))]))
    hour_later = orders.state().by_id[commit].committed_at + timedelta(hours=1)

    answer = asks(task, looked_at(orders.ask(None, contract=PROMISE), hour_later))

    if task == "freshness":
        assert answer.verdict is Verdict.CONFIRMED
        assert (answer.finding.event_age_s is not None) == beside
    else:
        assert terms_of(answer)["The newest event is at most 15 min old."] is (False if beside else None)


def test_young_commits_of_such_events_alone_keep_no_promise(orders: OrdersTable, asks: Asks) -> None:
    """Nothing tells when they happened; what to name is said."""
    orders.appends(rows(range(10)))
    commit = orders.appends(ahead(10))
    soon = orders.state().by_id[commit].committed_at + timedelta(minutes=1)

    answer = asks("freshness", looked_at(orders.ask(None, contract=PROMISE), soon))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "1 file has no event but such that lie in the future" in answer.could_not_look[0].reason


def test_event_time_rises_after_an_event_of_the_future(orders: OrdersTable, asks: Asks) -> None:
    """F24 is of a stream whose own events get no newer."""
    orders.appends(pa.concat_tables([ahead(0), rows(range(1, 10))]))
    for number in range(1, 5):
        orders.appends(rows(range(10 * number, 10 * number + 10)))

    answer = asks("freshness", looked_at(orders.ask(None, contract=PROMISE), MIDNIGHT + timedelta(minutes=5)))

    assert not answer.finding.is_event_time_stuck
    assert answer.finding.event_age_s == 300 - 49


@pytest.mark.parametrize("beside", [True, False])
def test_rows_after_an_event_of_the_future_are_not_late(orders: OrdersTable, asks: Asks, beside: bool) -> None:
    """The mark is made of what can have happened: beside such an event, and in commits that have none."""
    before = orders.appends(rows(range(900, 1000)))
    orders.appends(pa.concat_tables([ahead(1000), rows(range(1001, 1100 if beside else 1001))]))
    orders.appends(rows(range(1100, 1200)))
    right = asks("late_rows", orders.ask(before, contract=FIVE_MINUTES))
    orders.appends(rows(range(890, 900)))

    late = asks("late_rows", orders.ask(before, contract=FIVE_MINUTES))

    assert right.verdict is (Verdict.RULED_OUT if beside else Verdict.INCONCLUSIVE)
    assert (late.finding.late, late.finding.worst_s) == (9, 1199 - 890)


def test_clocks_may_be_a_little_apart(orders: OrdersTable, judges: Asks) -> None:
    """Some minutes ahead of the commit is the newest event all the same, and no younger than the commit."""
    commit = orders.appends(ahead(0, datetime.now(UTC) + timedelta(minutes=3)))
    at = orders.state().by_id[commit].committed_at

    answer = judges("freshness", looked_at(orders.ask(None, contract=PROMISE), at + timedelta(minutes=14)))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.finding.event_age_s == pytest.approx(14 * 60)
