"""Kafka numbers the partitions of every topic from 0: a column with that number alone does not tell a job's topics
apart, and then a record of one hides what is missing of another."""

from collections.abc import Iterable
from datetime import timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from bot.domain.evidence import Verdict
from tests.evidence.conftest import Asks
from tests.evidence.test_missing_positions import BY_PARTITION, gaps_of
from tests.evidence.test_replayed_rows import replayed_of
from tests.tables import OrdersTable, rows


def of_topic_b(positions: Iterable[int]) -> pa.Table:
    """Rows of another topic: the same partition and positions, other orders at other times."""
    places = list(positions)
    made = rows(places, orders=[9_000 + place for place in places])
    later = pc.add(made["event_time"], pa.scalar(timedelta(minutes=7)))
    return made.set_column(made.schema.get_field_index("event_time"), made.schema.field("event_time"), later)


def test_a_hole_that_another_topic_fills_is_not_ruled_out(orders: OrdersTable, asks: Asks) -> None:
    """Topic A lost 50 to 59 of its partition 0, topic B has these positions of its own. Both stand at 39 to 49 and 60
    to 64."""
    before = orders.appends(pa.concat_tables([rows(range(40)), of_topic_b(range(45))]))
    orders.appends(pa.concat_tables([rows([*range(40, 50), *range(60, 70)]), of_topic_b(range(45, 65))]))

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "16 positions of one source_partition are carried by rows of different keys" in answer.headline
    assert "several topics" in answer.headline
    assert answer.could_not_look[0].source == "contract.position_partition"
    assert "topic and partition together" in answer.could_not_look[0].remedy


@pytest.mark.parametrize(("named", "verdict"), [("event_time", Verdict.CONFIRMED), (None, Verdict.INCONCLUSIVE)])
def test_rows_of_one_record_share_its_time(
    orders: OrdersTable, asks: Asks, named: str | None, verdict: Verdict
) -> None:
    """A record may make several rows of different keys: where the time of the event is named, it shows that."""
    before = orders.appends(rows(range(10)))
    lines = rows([*range(10, 15), *range(17, 20)])
    more = rows(lines["source_position"].to_pylist(), orders=range(500, 508))
    orders.appends(pa.concat_tables([lines, more]))
    contract = BY_PARTITION.model_copy(update={"event_time": named})

    answer = asks("missing_positions", orders.ask(before, contract=contract))

    assert answer.verdict is verdict
    if named:
        assert gaps_of(answer).missing == 2
    else:
        assert "name event_time" in answer.could_not_look[0].remedy


def test_records_of_two_topics_do_not_repeat_each_other(orders: OrdersTable, asks: Asks) -> None:
    """What has the same place, another key and another time may be another record, and nobody knows."""
    before = orders.appends(rows(range(20)))
    orders.appends(of_topic_b(range(10, 20)))

    answer = asks("replayed_rows", orders.ask(before, contract=BY_PARTITION))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert replayed_of(answer).replayed == 0
    assert "10 rows of the window carry a position that a row of another key had before" in answer.headline


def test_what_surely_came_again_is_told_beside_them(orders: OrdersTable, asks: Asks) -> None:
    """Rows of the same key or the same time are copies, whatever else the window brought."""
    before = orders.appends(rows(range(20)))
    again = orders.appends(pa.concat_tables([rows(range(5)), of_topic_b(range(10, 20))]))

    answer = asks("replayed_rows", orders.ask(before, contract=BY_PARTITION))

    assert answer.verdict is Verdict.CONFIRMED
    assert [(pair.first, pair.second, pair.keys) for pair in replayed_of(answer).pairs] == [(before, again, 5)]
    assert answer.could_not_look[0].source == "contract.position_partition"
