"""What became of the rows that main lost by a rollback, as a table of stories: a job, its restores, and others."""

from collections.abc import Callable

import pytest

from bot.history.rolled_back import Outcome, rollbacks_of
from bot.observation.ids import DRAINED, OperatorId
from tests.cases import Tale, job_id

GUEST, NEW_UID = OperatorId("ee" * 16), OperatorId("dd" * 16)
HELD, READ_AGAIN, UNTOLD, NOBODY, NO_ROWS = Outcome


def chk(run: str, checkpoint: int) -> str:
    """Where Flink keeps a checkpoint of the run."""
    return f"s3://lake/checkpoints/{job_id(run)}/chk-{checkpoint}"


def back_to_3() -> Tale:
    """Run a commits 1 to 7, and somebody sets main back to 3."""
    return Tale().flink_runs("a").commits("a", *range(1, 8)).rolls_back_to("a", 3)


def stopped() -> Tale:
    """The same with the job stopped."""
    return back_to_3().becomes("a", "FINISHED")


def restored(checkpoint: int, *commits: int, of: str | None = None) -> Callable[[], Tale]:
    """Run b is restored then, from a checkpoint of `of` where the path tells."""

    def tale() -> Tale:
        told = stopped().flink_runs("b", restored=checkpoint)
        told = told.came_from("b", checkpoint, chk(of, checkpoint)) if of is not None else told
        return told.commits("b", *commits) if commits else told

    return tale


def goes_back_itself(checkpoint: int, *commits: int) -> Callable[[], Tale]:
    """Run a is restored under its own id."""
    return lambda: back_to_3().flink_runs("a", restored=checkpoint).commits("a", *commits)


def led_through(point: int, began: int) -> Callable[[], Tale]:
    """Run c began from run b's point, and run b from one of run a."""
    return lambda: (
        stopped()
        .flink_runs("b")
        .came_from("b", began, chk("a", began))
        .becomes("b", "FINISHED")
        .flink_runs("c")
        .came_from("c", point, chk("b", point))
    )


def without_its_end() -> Tale:
    """As a history server may tell it."""
    tale = stopped()
    tale.runs["a"] = tale.runs["a"].model_copy(update={"ended_at": None})
    return tale


STORIES: dict[str, tuple[Callable[[], Tale], Outcome, str | None]] = {
    "it goes on": (lambda: back_to_3().commits("a", 8), HELD, "a"),
    "it goes on, and has committed nothing": (back_to_3, HELD, "a"),
    "it goes on, and Flink is down": (lambda: back_to_3().commits("a", 8).flink_is_down(), HELD, "a"),
    "it was stopped first, and nothing runs": (
        lambda: Tale().flink_runs("a").commits("a", 1, 2, 3, 4).becomes("a", "FINISHED").rolls_back_to("a", 2),
        NOBODY,
        None,
    ),
    "it is over, and Flink does not say since when": (without_its_end, NOBODY, None),
    "restored from the target": (restored(3, 4), READ_AGAIN, "b"),
    "restored from the target, and silent": (restored(3), READ_AGAIN, "b"),
    "restored from the target, quiet at first": (restored(3, 9), READ_AGAIN, "b"),
    "restored from below the target": (restored(2, of="a"), READ_AGAIN, "b"),
    "restored from beyond": (restored(5, 6), HELD, "b"),
    "restored from beyond by its path": (restored(5, of="a"), HELD, "b"),
    "restored under its id from the target": (goes_back_itself(3, 4), READ_AGAIN, "a"),
    "restored under its id from beyond": (goes_back_itself(6, 7, 8), HELD, "a"),
    "began without state": (lambda: stopped().flink_runs("b").commits("b", 1), UNTOLD, "b"),
    "it led through what was lost": (led_through(8, 7), HELD, "c"),
    "it led through the target": (led_through(8, 3), READ_AGAIN, "c"),
    "a drain is no count": (
        lambda: (
            Tale()
            .flink_runs("a", v1=True)
            .commits("a", 1, 2, DRAINED)
            .becomes("a", "FINISHED")
            .flink_runs("b", restored=3)
            .commits("b", 5, 6, 7)
            .becomes("b", "FINISHED")
            .rolls_back_to("a", DRAINED)
            .flink_runs("c", restored=7)
            .commits("c", 8)
        ),
        HELD,
        "c",
    ),
    "another job commits by its sink": (lambda: back_to_3().commits("z", 2).by_sink(GUEST), HELD, "a"),
    "another job under the same uid repeats what it lost itself": (
        lambda: Tale().flink_runs("a").commits("a", *range(1, 8)).commits("z", 5).rolls_back_to("a", 3).commits("z", 5),
        HELD,
        "a",
    ),
    "main lost another job's commit alone": (
        lambda: Tale().flink_runs("a").commits("a", 1, 2).commits("z", 5).by_sink(GUEST).rolls_back_to("a", 2),
        NO_ROWS,
        None,
    ),
    "a forgotten run under a new uid may have led there": (
        lambda: stopped().commits("b", 4).by_sink(NEW_UID).flink_runs("c", restored=9).commits("c", 10).forgets("a"),
        UNTOLD,
        "c",
    ),
    "read again, and then restored from what was lost": (
        lambda: (
            stopped()
            .flink_runs("b")
            .came_from("b", 3, chk("a", 3))
            .commits("b", 4)
            .becomes("b", "FINISHED")
            .flink_runs("c")
            .came_from("c", 7, chk("a", 7))
        ),
        HELD,
        "c",
    ),
}


@pytest.mark.parametrize("story", STORIES)
def test_what_became_of_them(story: str) -> None:
    """And of which run that is told."""
    tale, outcome, run = STORIES[story]

    ((_, told),) = rollbacks_of(tale().case())

    assert (outcome, job_id(run) if run is not None else None) == (told.outcome, told.run)
