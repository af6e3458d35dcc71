"""What a window holds after main was set back."""

from bot.domain.table import Window
from tests.cases import Tale


def test_a_window_up_to_the_head_has_what_was_rolled_back_until_now() -> None:
    """Nothing was committed since, so each lost commit is younger than the head."""
    table = Tale().flink_runs("a").commits("a", 1, 2, 3, 4).rolls_back_to("a", 2).table

    inside = Window(since=table.chain[-1].snapshot_id, until=table.head).of(table)

    assert [2, 3, 4] == [s.checkpoint_id for s in inside]


def test_a_window_that_ended_before_has_it_not() -> None:
    """It speaks of what was there then."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).rolls_back_to("a", 2)
    until = tale.head

    assert [1, 2] == [s.checkpoint_id for s in Window(since=None, until=until).of(tale.commits("a", 4).table)]
