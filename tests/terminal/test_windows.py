"""What people write for a window, and the commits that they get."""

from datetime import timedelta

import pytest

from bot.domain.asked_window import asked_window
from bot.domain.errors import Refused
from bot.domain.ids import short
from bot.domain.table import TableState
from tests.cases import Tale


def _table() -> tuple[Tale, TableState]:
    """Ten commits of run a, ten seconds apart."""
    tale = Tale().commits("a", *range(1, 11))
    return tale, tale.table


def test_a_snapshot_id_is_the_lower_bound_exclusive() -> None:
    """`ID` reaches from after that commit to the head."""
    tale, table = _table()

    window = asked_window(str(tale.at("a", 4)), table)

    assert [5, 6, 7, 8, 9, 10] == [s.checkpoint_id for s in window.of(table)]


def test_two_snapshot_ids_bound_both_ends() -> None:
    """`ID..ID`: the first exclusive, the second inclusive."""
    tale, table = _table()

    window = asked_window(f"{tale.at('a', 4)}..{tale.at('a', 6)}", table)

    assert [5, 6] == [s.checkpoint_id for s in window.of(table)]


def test_an_open_lower_end_begins_with_the_first_commit() -> None:
    """`..ID` is everything up to that commit."""
    tale, table = _table()

    window = asked_window(f"..{tale.at('a', 3)}", table)

    assert [1, 2, 3] == [s.checkpoint_id for s in window.of(table)]


def test_an_age_counts_back_from_the_look() -> None:
    """`35s` holds the commits of the last 35 seconds."""
    _tale, table = _table()

    window = asked_window("35s", table)

    assert [7, 8, 9, 10] == [s.checkpoint_id for s in window.of(table)]


def test_times_mean_the_commits_between_them() -> None:
    """A commit at the lower time is below the window, one at the upper time within it."""
    tale, table = _table()
    start, end = (table.by_id[tale.at("a", n)].committed_at for n in (2, 5))

    window = asked_window(f"{start.isoformat()}..{(end + timedelta(seconds=3)).isoformat()}", table)

    assert [3, 4, 5] == [s.checkpoint_id for s in window.of(table)]


def test_a_time_without_zone_is_utc() -> None:
    """Nobody's local time is guessed."""
    tale, table = _table()
    start = table.by_id[tale.at("a", 8)].committed_at

    window = asked_window(f"{start.replace(tzinfo=None).isoformat()}..", table)

    assert [9, 10] == [s.checkpoint_id for s in window.of(table)]


@pytest.mark.parametrize("text", ["yesterday", "", "12 parsecs", "abc..def", "720²"])
def test_what_is_not_understood_is_refused_with_the_forms(text: str) -> None:
    """A typing error never becomes some other window."""
    _tale, table = _table()

    with pytest.raises(Refused, match=r"names no window.*snapshot ids"):
        asked_window(text, table)


def test_the_last_six_digits_are_enough_where_one_snapshot_has_them() -> None:
    """Messages show no more of an id; fewer digits, or a second snapshot that ends so, name none."""
    table = _named(8440393201885720061, 8440393201885720062, 8440393201995720061)

    window = asked_window("…720062", table)

    assert window.since == 8440393201885720062
    assert asked_window("720062..", table) == window
    with pytest.raises(Refused, match=r"lists 2 snapshots .* end with 720061\..*Write the whole id"):
        asked_window("720061", table)
    with pytest.raises(Refused, match="lists no snapshot 20062"):
        asked_window("20062", table)


def _named(*ids: int) -> TableState:
    """A chain of commits with these ids."""
    _tale, table = _table()
    chain = [
        commit.model_copy(update={"snapshot_id": each, "parent_id": parent})
        for commit, each, parent in zip(table.snapshots, ids, (None, *ids), strict=False)
    ]
    return table.model_copy(update={"snapshots": tuple(chain), "head": ids[-1]})


def test_an_unknown_snapshot_is_refused() -> None:
    """An expired id is not silently the beginning."""
    _tale, table = _table()

    with pytest.raises(Refused, match="lists no snapshot 42"):
        asked_window("42", table)


def test_an_end_before_the_first_commit_is_refused_with_its_time() -> None:
    """There is nothing to look at, and the message says from when on there is."""
    _tale, table = _table()

    with pytest.raises(Refused, match="The oldest that main still lists"):
        asked_window("..2001-01-01T00:00:00", table)


def test_an_end_that_main_was_rolled_back_from_is_refused() -> None:
    """No answer about it is one about main; what main lost is of every window around it anyway."""
    tale = Tale().commits("a", 1, 2, 3, 4).rolls_back_to("a", 2).commits("b", 3)

    with pytest.raises(Refused, match=r"not on main.*End the window at a commit on main"):
        asked_window(f"{tale.at('a', 1)}..{tale.at('a', 4)}", tale.table)


@pytest.mark.parametrize("form", ["ids", "times", "a time and an id"])
def test_a_beginning_above_the_end_is_refused(form: str) -> None:
    """Two ends the wrong way round would make an empty window, in which nothing is wrong."""
    tale, table = _table()
    end = tale.at("a", 2)
    later, earlier = (table.by_id[tale.at("a", n)].committed_at.isoformat() for n in (4, 2))
    text = {"ids": f"{tale.at('a', 4)}..{end}", "times": f"{later}..{earlier}", "a time and an id": f"{later}..{end}"}

    with pytest.raises(Refused, match=r"begins above its end.*Turn the two round"):
        asked_window(text[form], table)


def test_a_beginning_that_main_was_rolled_back_from_is_understood() -> None:
    """The window then begins where main left its line, and holds what main lost above."""
    tale = Tale().commits("a", 1, 2, 3, 4).rolls_back_to("a", 2).commits("b", 3, 4)

    window = asked_window(f"{tale.at('a', 3)}..{tale.at('b', 3)}", tale.table)

    assert [tale.at("a", 3), tale.at("a", 4), tale.at("b", 3)] == [s.snapshot_id for s in window.of(tale.table)]


def test_a_beginning_whose_line_main_left_above_the_end_is_refused() -> None:
    """Where main left the line is where the window would begin."""
    tale = Tale().commits("a", 1, 2, 3, 4).rolls_back_to("a", 3).commits("b", 4)

    with pytest.raises(Refused, match=f"main left the line of {short(tale.at('a', 4))} at {short(tale.at('a', 3))}"):
        asked_window(f"{tale.at('a', 4)}..{tale.at('a', 2)}", tale.table)


def test_a_window_of_times_between_two_commits_is_empty() -> None:
    """That is no mistake: nothing came in that time."""
    tale, table = _table()
    after = table.by_id[tale.at("a", 4)].committed_at + timedelta(seconds=1)

    window = asked_window(f"{after.isoformat()}..{(after + timedelta(seconds=2)).isoformat()}", table)

    assert () == window.of(table)
