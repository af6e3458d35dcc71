"""What the bot says of ordinary histories of a job and its table: thousands of seeds, each a history.

A failing seed is reduced, and printed with what happened, what is true, and what was said.
"""

from collections.abc import Callable, Iterator

import pytest

from tests.diagnosis.histories.drawn import Drawn, Plan, plan_of, played, reduced
from tests.diagnosis.histories.held import (
    answered,
    false_alarms,
    in_words,
    wrongly_acquitted,
    wrongly_clean,
    wrongly_excused,
    wrongly_safe,
)
from tests.diagnosis.histories.truth import truth_of
from tests.made_up import BASE, EXAMPLES

pytestmark = pytest.mark.made_up

TOGETHER = 100
SHOWN = 3
SEEDS = [range(first, min(first + TOGETHER, BASE + EXAMPLES)) for first in range(BASE, BASE + EXAMPLES, TOGETHER)]
Held = Callable[[Drawn], tuple[str, ...]]
RULES = (wrongly_safe, wrongly_clean, wrongly_acquitted, wrongly_excused)


@pytest.mark.parametrize("wide", [False, True], ids=["plain", "wide"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_wrong_rows_are_never_called_right(seeds: range, rule: Held, wide: bool) -> None:
    """Where rows are lost or doubled, or will be: no answer is safe without a doubt, nothing above the first wrong
    commit is called clean, not every mode that could be the cause is excluded, and no declared plan changes that."""
    found = _stories(seeds, rule, with_mistakes=True, wide=wide)

    assert [] == found, "\n\n".join(found)


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_nothing_is_said_against_a_history_without_a_fault(seeds: range) -> None:
    """Upgrades, failovers, rewinds of table and job, compactions, expiry and other jobs accuse nobody."""
    found = _stories(seeds, false_alarms, with_mistakes=False)

    assert [] == found, "\n\n".join(found)


def test_histories_are_of_both_kinds() -> None:
    """The rules above would hold for a bot that is always in doubt, and for histories in which nothing goes wrong."""
    well = [played(plan_of(seed, with_mistakes=False)) for seed in range(100)]
    badly = [played(plan_of(seed, with_mistakes=True)) for seed in range(100)]

    assert 20 < sum("healthy" in answered(drawn).codes for drawn in well)
    assert 30 < sum(truth_of(drawn.history).is_wrong for drawn in badly) < 80


def test_a_failing_seed_is_reduced_and_told() -> None:
    """Nothing is left in the story but what the failure needs."""

    def is_set_back(drawn: Drawn) -> tuple[str, ...]:
        return ("Main was set back.",) if drawn.history.tale.table.rolled_back else ()

    story = _stories(range(40), is_set_back, with_mistakes=True)[0]

    assert story.endswith("WRONG: Main was set back.")
    assert "rolled back while the job runs: main is set to …" in story or "table and job rewound together" in story
    assert 6 >= len(story.split("\n\n", 1)[0].splitlines())


def _stories(seeds: range, held: Held, *, with_mistakes: bool, wide: bool = False) -> list[str]:
    """Of the first seeds at which something is wrong."""
    told = _told(seeds, held, with_mistakes, wide)
    return [story for _, story in zip(range(SHOWN), told, strict=False)]


def _told(seeds: range, held: Held, with_mistakes: bool, wide: bool) -> Iterator[str]:
    for seed in seeds:
        plan = plan_of(seed, with_mistakes=with_mistakes, wide=wide)
        if held(played(plan)):
            least = reduced(plan, lambda smaller: _fails(smaller, held))
            yield in_words(least, held(played(least)))


def _fails(plan: Plan, held: Held) -> bool:
    return bool(held(played(plan)))
