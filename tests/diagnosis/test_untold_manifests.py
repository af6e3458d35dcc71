"""A manifest of which nobody tells what became stops `healthy` only until source positions tell."""

from typing import Any

import pytest

from bot.diagnosis import recovered_by_itself, source_positions_skipped
from bot.domain.diagnosis import CannotTell, Case, Matches
from bot.domain.evidence import Verdict
from bot.domain.findings import GapsFinding, LeakedManifestsFinding, LeakStanding, PositionGap
from bot.domain.looked import NotSeen
from tests.cases import Tale
from tests.diagnosis.little_evidence import case_of, look
from tests.diagnosis.little_world import World
from tests.diagnosis.test_recovered_by_itself import pinned
from tests.found import leaks

UNSEEN = NotSeen(source="Flink", reason="It was away.", remedy="Ask again.")


def leftover(low: int | None, high: int | None) -> tuple[Tale, LeakedManifestsFinding]:
    """A job that is well, and a manifest of these positions below what it has committed."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).leaves_manifest("a", 3).commits("a", 4, 5)
    found = leaks(*tale.manifests, standing=LeakStanding.UNTOLD)
    placed = found.manifests[0].model_copy(update={"position_from": low, "position_until": high})
    return tale, found.model_copy(update={"manifests": (placed,)})


def case_with(low: int | None, high: int | None, *, unseen: bool = False, **found: Any) -> Case:
    """All evidence in; that of manifests could not tell."""
    tale, leaked = leftover(low, high)
    case = pinned(tale.looked_at(leaked=leaked, **found), tale.at("a", 5))
    could_not = {"verdict": Verdict.INCONCLUSIVE, "could_not_look": (UNSEEN,) if unseen else ()}
    told = [e.model_copy(update=could_not) if e.task == "leaked_manifests" else e for e in case.evidence]
    return case.model_copy(update={"evidence": tuple(told)})


def test_positions_that_are_all_there_release_it_and_are_shown() -> None:
    """Its rows were read again: the table has every position of theirs."""
    found = recovered_by_itself.examine(case_with(20, 29))

    assert isinstance(found, Matches)
    assert (
        "The Flink manifest of checkpoint 3 of run aaaaaa was left behind, and its rows were read again: every source "
        "position from 20 to 29 is in the table."
    ) in found.reasons


@pytest.mark.parametrize(("low", "high"), [(95, 100), (-1, 5), (None, None)], ids=["above", "below", "not known"])
def test_positions_that_nobody_looked_at_release_nothing(low: int | None, high: int | None) -> None:
    """Missing positions were looked for between 0 and 99 only."""
    assert isinstance(recovered_by_itself.examine(case_with(low, high)), CannotTell)


def test_a_source_that_was_not_seen_is_not_made_up_for() -> None:
    """There may be manifests besides those that were told."""
    assert isinstance(recovered_by_itself.examine(case_with(20, 29, unseen=True)), CannotTell)


def test_bounds_of_several_source_partitions_release_nothing() -> None:
    """They are of all partitions together."""
    case = case_with(20, 29)
    several = case.contract.model_copy(update={"position_partition": "part"})

    assert isinstance(recovered_by_itself.examine(case.model_copy(update={"contract": several})), CannotTell)


def test_an_overdue_one_beside_it_hides_no_doubt() -> None:
    """Then the verdict is `confirmed`, and the untold one is as untold as before."""
    case = case_with(95, 100)
    told = tuple(e.model_copy(update={"verdict": Verdict.CONFIRMED}) for e in case.evidence)

    assert isinstance(recovered_by_itself.examine(case.model_copy(update={"evidence": told})), CannotTell)


@pytest.mark.parametrize(("gap", "expected"), [((40, 49), Matches), ((25, 34), CannotTell)])
def test_what_lies_beside_the_gap_is_not_what_is_missing(gap: tuple[int, int], expected: type) -> None:
    """Only a manifest whose positions reach into the gap may hold the missing rows (F18)."""
    missing = GapsFinding(
        lowest=0, highest=99, positions=90, missing=10, gaps=(PositionGap(first=gap[0], last=gap[1]),)
    )

    assert isinstance(source_positions_skipped.examine(case_with(20, 29, gaps=missing)), expected)
    assert isinstance(source_positions_skipped.examine(case_with(None, None, gaps=missing)), CannotTell)


def test_a_job_that_failed_in_flight_long_ago_is_healthy_again() -> None:
    """It was "cannot tell" for as long as the manifest lay there."""
    world = World(forgets=True)
    world.reads(2)
    world.fails_in_flight(2)
    doubtful = case_of(world, look(world))
    world.reads(2)
    world.reads(1)

    assert isinstance(recovered_by_itself.examine(doubtful), CannotTell)
    assert isinstance(recovered_by_itself.examine(case_of(world, look(world))), Matches)
