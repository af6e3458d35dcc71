"""Which checkpoints of which runs a state has behind it."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from bot.history.rewinds import rewinds_of
from tests.cases import Tale, job_id


def chk(run: str, checkpoint: int) -> str:
    """Where Flink keeps a checkpoint of the run."""
    return f"s3://lake/checkpoints/{job_id(run)}/chk-{checkpoint}"


def handed_on() -> Tale:
    """Run a begins, b goes on from its 3, and c from b's 5."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "FINISHED")
    tale.flink_runs("b").came_from("b", 3, chk("a", 3)).commits("b", 4, 5).becomes("b", "FINISHED")
    return tale.flink_runs("c").came_from("c", 5, chk("b", 5)).commits("c", 6)


def back_to(checkpoint: int) -> Tale:
    """Run b goes on from an older checkpoint of run a, which had come to 3."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "FINISHED")
    return tale.flink_runs("b").came_from("b", checkpoint, chk("a", checkpoint))


def failed_over() -> Tale:
    """Run a goes back to its own 2, which it has committed, and commits on."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    return tale.came_from("a", 2, chk("a", 2)).commits("a", 3)


def set_back() -> Tale:
    """Run a goes back to its own 1 although it has committed 3."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    tale.now += timedelta(minutes=1)
    return tale.came_from("a", 1, chk("a", 1))


@pytest.mark.parametrize(
    ("tale", "expected"),
    [
        (handed_on, []),
        (failed_over, []),
        (lambda: back_to(3), []),
        (lambda: back_to(2), [("b", "a", 2, 3)]),
        (set_back, [("a", "a", 1, 3)]),
    ],
    ids=["handed on", "a failover", "from its end", "an older point", "set back under its id"],
)
def test_what_main_has_and_it_does_not_is_read_again(
    tale: Callable[[], Tale], expected: list[tuple[str, str, int, int]]
) -> None:
    """(run, whose commits, restored from, what main had)."""
    found = rewinds_of(tale().case())

    assert expected == [(r.run[0], r.earlier[0], r.restored, r.reached) for r in found]
