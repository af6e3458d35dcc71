"""Positions without a record are no missing rows: where the contract says so, or commits below the window show it."""

from datetime import timedelta

import pyarrow as pa
import pytest

from bot.domain.evidence import Ask, Verdict
from bot.domain.flink import CheckpointSettings
from bot.domain.kafka import KafkaPartition
from bot.domain.looked import Seen
from tests.evidence.conftest import Asks
from tests.evidence.flink_words import V1, run
from tests.evidence.restore_points import stored
from tests.evidence.test_missing_positions import gaps_of
from tests.evidence.test_recovery_extent import reading_on
from tests.tables import CONTRACT, OrdersTable, job, of_flink, rows

NOT_DENSE = CONTRACT.model_copy(update={"position_is_dense": False})


def marked(first: int, last: int) -> list[int]:
    """Positions of a transactional topic: each tenth is a marker, the last one too."""
    return [each for each in range(first, last + 1) if each % 10 != 9]


def test_holes_between_rows_of_one_commit_are_no_loss(orders: OrdersTable, asks: Asks) -> None:
    """They end within each commit here, and the next commit goes on right behind."""
    before = orders.commits("a", 1, marked(0, 94))
    orders.commits("a", 2, marked(95, 204))
    orders.commits("b", 3, marked(205, 298))

    answer = asks("missing_positions", orders.ask(before, contract=NOT_DENSE))

    assert answer.verdict is Verdict.RULED_OUT
    assert gaps_of(answer).missing == 0


def test_a_marker_between_two_commits_is_left_to_what_the_job_began_from(orders: OrdersTable, asks: Asks) -> None:
    """It is no wider than those within commits; a copy that came again does not change it."""
    before = orders.commits("a", 1, marked(0, 99))
    orders.commits("b", 2, marked(100, 199))
    orders.commits("b", 3, marked(150, 250))

    answer = asks("missing_positions", orders.ask(before, contract=NOT_DENSE))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert (gaps_of(answer).missing, gaps_of(answer).is_untold) == (1, True)
    assert "at most 1 in a row" in answer.headline


@pytest.mark.parametrize("again", [[], marked(700, 720)], ids=["by ranges", "by rows"])
def test_a_true_hole_is_found_among_others(orders: OrdersTable, asks: Asks, again: list[int]) -> None:
    """Of 500 positions, many times as wide as a marker."""
    before = orders.commits("a", 1, marked(0, 99))
    orders.commits("b", 2, marked(100, 199))
    orders.commits("c", 3, [*marked(700, 799), *again])

    answer = asks("missing_positions", orders.ask(before, contract=NOT_DENSE))

    assert answer.verdict is Verdict.CONFIRMED
    assert [(gap.first, gap.last) for gap in gaps_of(answer).gaps] == [(199, 699)]


def test_rows_that_main_lost_are_missing_however_few(orders: OrdersTable, asks: Asks) -> None:
    """What a rolled-back commit had brought had a record."""
    before = orders.commits("a", 1, marked(0, 99))
    orders.commits("a", 2, [100, 102])
    orders.rolls_back_to(before)
    orders.commits("a", 3, marked(103, 199))

    answer = asks("missing_positions", orders.ask(before, contract=NOT_DENSE))

    assert answer.verdict is Verdict.CONFIRMED
    assert [(gap.first, gap.last) for gap in gaps_of(answer).gaps] == [(99, 102)]


def test_holes_like_those_before_the_incident_accuse_nobody(orders: OrdersTable, asks: Asks) -> None:
    """Also where the contract promises each position; a wider one still does."""
    before = orders.commits("a", 1, marked(0, 99))
    orders.commits("b", 2, marked(100, 199))
    alike = asks("missing_positions", orders.ask(before))
    orders.commits("c", 3, marked(400, 450))

    wider = asks("missing_positions", orders.ask(before))

    assert alike.verdict is Verdict.INCONCLUSIVE
    assert "position_is_dense" in alike.could_not_look[0].remedy
    assert gaps_of(alike).is_untold
    assert wider.verdict is Verdict.CONFIRMED
    assert gaps_of(wider).missing == 201


PARTED = CONTRACT.model_copy(update={"position_partition": "source_partition"})
"""It does not say whether positions are dense."""
USUAL = [marked(0, 99), marked(100, 199), marked(200, 299), marked(300, 399)]


def on_broker(ask: Ask, *, is_compacted: bool) -> Ask:
    held = KafkaPartition(topic="orders", partition=0, earliest=0, latest=900, is_compacted=is_compacted)
    seen = Seen[KafkaPartition](source="Kafka", values=(held,))
    return ask.model_copy(update={"observation": ask.observation.model_copy(update={"kafka": seen})})


def test_commits_from_before_the_incident_show_that_positions_are_not_dense(orders: OrdersTable, asks: Asks) -> None:
    """Below the window or, where too few are there, by the runs before its newest. Without a partition nobody knows
    that one reader read them in order."""
    for checkpoint, positions in enumerate(USUAL, 1):
        before = orders.commits("a", checkpoint, positions)
    orders.commits("b", 5, marked(400, 498))

    young = asks("missing_positions", orders.ask(None, contract=PARTED))
    grown = asks("missing_positions", orders.ask(before, contract=PARTED))
    bare = asks("missing_positions", orders.ask(None))

    assert [(gaps_of(each).missing, gaps_of(each).is_untold, gaps_of(each).is_dense) for each in (young, grown)] == [
        (4, True, False),
        (1, True, False),
    ]
    assert gaps_of(bare).is_dense


def test_a_hole_that_is_much_wider_than_those_before_is_a_loss(orders: OrdersTable, asks: Asks) -> None:
    """Retention may have passed a job that was running: its rows lie beside the hole in one commit. A job that loses
    rows in flight leaves usual ones."""
    for checkpoint, positions in enumerate(USUAL, 1):
        before = orders.commits("a", checkpoint, positions)
    unsafe = run("a", sink=V1).model_copy(update={"settings": CheckpointSettings(is_unaligned=True)})
    in_flight = asks("missing_positions", orders.ask(None, contract=PARTED, jobs=[unsafe]))
    orders.commits("a", 5, [*marked(400, 450), *marked(700, 750)])

    wide = asks("missing_positions", orders.ask(before, contract=PARTED))

    assert gaps_of(in_flight).is_dense
    assert wide.verdict is Verdict.CONFIRMED
    assert gaps_of(wide).missing == 249


@pytest.mark.parametrize(("is_compacted", "verdict"), [(True, Verdict.INCONCLUSIVE), (False, Verdict.CONFIRMED)])
def test_compaction_makes_holes_of_any_width(
    orders: OrdersTable, asks: Asks, is_compacted: bool, verdict: Verdict
) -> None:
    """Between commits it is left to what the job began from."""
    before = orders.commits("a", 1, range(100))
    orders.commits("b", 2, [*range(300, 350), *range(390, 400)])

    answer = asks("missing_positions", on_broker(orders.ask(before, contract=PARTED), is_compacted=is_compacted))

    assert answer.verdict is verdict
    assert gaps_of(answer).missing == (200 if is_compacted else 240)


@pytest.mark.parametrize(("read", "late", "missing"), [(1, False, 0), (20, False, 20), (1, True, 1)])
def test_a_hole_at_the_end_of_the_newest_commit_is_one_of_it(
    orders: OrdersTable, asks: Asks, read: int, late: bool, missing: int
) -> None:
    """What the job had read by the commit's own checkpoint, if that came before it. A wide one is a loss."""
    before = orders.commits("a", 1, marked(0, 98))
    orders.appends(pa.concat_tables([rows(marked(100, 149)), rows(marked(0, 48), partition=1)]), of_flink("a", 2))
    at = orders.state().snapshots[-1].committed_at + timedelta(minutes=1 if late else -1)
    state = reading_on(stored(job("a"), 2, owes=()), 149 + read, 49).model_copy(update={"written_at": at})
    contract = PARTED.model_copy(update={"position_is_dense": False})

    answer = asks("missing_positions", orders.ask(before, contract=contract, checkpoints=[state]))

    assert sum(gap.size for gap in gaps_of(answer).gaps if gap.first > 148) == missing
