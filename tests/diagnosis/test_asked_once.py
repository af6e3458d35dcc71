"""What a mode asks for and gave no answer is not run again at every diagnosis."""

from bot.domain.diagnosis import HEALTHY
from bot.domain.errors import Refused
from tests.cases import Tale
from tests.diagnosis.test_asked_for import WL_1, World, diagnosed, doubtful


def compacted(tale: Tale) -> None:
    """Somebody else has written all rows into fewer files."""
    tale.commits(None, rows=30, operation="replace")
    counts = {"deleted-records": "30", "added-records": "30"}
    tale.snapshots[-1] = tale.snapshots[-1].model_copy(update={"summary": counts})


def test_what_gave_no_answer_is_not_asked_again_for_the_same() -> None:
    """It was run anew at every diagnosis, and failed again; now it is said why, and once the table has changed by
    another hand, or somebody asks, it is asked again."""
    world = World(Refused)

    first = {mode.code: found for mode, found in diagnosed(world).undecided}[HEALTHY]
    second = {mode.code: found for mode, found in diagnosed(world).undecided}[HEALTHY]
    asked = world.asked.count("replayed_rows")
    world.case = doubtful(compacted)
    world.looks()
    diagnosed(world)

    assert first == second
    assert first.missing[0].startswith("replayed_rows (it ran and could not answer: Spark went away.)")
    assert asked == 1
    assert world.asked.count("replayed_rows") == 2


def test_an_answer_that_somebody_asked_for_takes_the_place_of_the_failure() -> None:
    """Spark is back."""
    world = World(Refused)
    diagnosed(world)
    world.answers()

    world.collected(WL_1, "replayed_rows")

    assert HEALTHY in diagnosed(world).codes
