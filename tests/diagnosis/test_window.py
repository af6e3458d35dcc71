"""Which commits a window holds."""

from bot.domain.table import Window
from tests.cases import Tale


def checkpoints(tale: Tale, since: int | None, run: str = "a") -> list[int | None]:
    assert tale.head is not None
    window = Window(since=None if since is None else tale.at(run, since), until=tale.head)
    return [s.checkpoint_id for s in window.of(tale.table)]


def test_a_window_begins_after_since_and_holds_its_head() -> None:
    """`since` is exclusive, `until` inclusive; None begins with the first commit that is listed."""
    tale = Tale().commits("a", 1, 2, 3, 4)

    assert checkpoints(tale, 2) == [3, 4]
    assert checkpoints(tale, None) == [1, 2, 3, 4]
    assert checkpoints(tale, 4) == []


def test_what_was_rolled_back_off_the_window_belongs_to_it() -> None:
    """Also when the rollback's target is the window's lower edge itself."""
    tale = Tale().commits("a", 1, 2, 3, 4, 5).rolls_back_to("a", 3).commits("a", 6)

    assert checkpoints(tale, 3) == [4, 5, 6]
    assert checkpoints(tale, 2) == [3, 4, 5, 6]


def test_what_was_rolled_back_below_the_window_does_not() -> None:
    """An old, settled rollback is neither read nor judged again: cost follows the window."""
    tale = Tale().commits("a", 1, 2, 3, 4, 5).rolls_back_to("a", 3).commits("a", 6, 7, 8)

    assert checkpoints(tale, 6) == [7, 8]
