"""A job that leaves no `flink.*` keys, as Flink CDC does: ids exclude nothing, and time tells the rest."""

import pytest

import bot.diagnosis
from bot.diagnosis._support.examine import diagnose, scan
from bot.history.case import Case
from bot.history.rollbacks import rollbacks
from bot.history.without_ids import who_went_on
from bot.incident.diagnosis import HEALTHY, Diagnosis
from bot.observation.contract import why_by_key
from tests.cases import Tale
from tests.job_tale import job_id

MODES = scan(bot.diagnosis)
TOLD_BY_IDS = {"F1", "F2", "F3", "F4", "F5", "F6", "F11", "F12", "F13", "F14", "F15"}


def bare(tale: Tale, missing: int = 0) -> Case:
    """What is seen of it where no commit tells its run."""
    for place, commit in enumerate(tale.snapshots):
        kept = {key: value for key, value in commit.summary.items() if "flink." not in key}
        tale.snapshots[place] = commit.model_copy(update={"summary": kept | {"engine-name": "flink"}})
    return tale.looked_at(missing=missing)


def rolled_back() -> Tale:
    """Five commits, main back at the second, and two more by the run that goes on."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).rolls_back_to("a", 2).commits("a", 6, 7)


def codes(told: Diagnosis) -> set[str]:
    return {mode.code for mode, _ in told.excluded}


def test_nothing_that_ids_tell_is_excluded() -> None:
    """Each says why it cannot tell; what rows and files tell is told as ever."""
    told = diagnose(bare(rolled_back()), MODES)
    undecided = {mode.code: cannot for mode, cannot in told.undecided}

    assert not codes(told) & (TOLD_BY_IDS | {HEALTHY})
    assert all("no `flink.*` key" in undecided[code].missing[0] for code in TOLD_BY_IDS & undecided.keys())
    assert "no `flink.*` key" in " ".join(undecided[HEALTHY].missing)
    assert "F18" in codes(told)


def test_a_rollback_under_such_a_job_is_named_by_time() -> None:
    """It went on above the hole, and no checkpoint id is made up for it."""
    told = diagnose(bare(rolled_back(), missing=30), MODES)

    ((_, found),) = [each for each in told.matches if each[0].code == "F6"]
    assert found.wrong_run == job_id("a")
    assert "None" not in " ".join(found.reasons)


def test_a_job_that_commits_so_has_committed() -> None:
    """It failed: nobody says that it never wrote the table."""
    told = diagnose(bare(Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "FAILED")), MODES)

    assert "no-advance" not in told.codes


def test_the_run_that_lived_when_main_went_back_went_on_above_the_hole() -> None:
    """By time: it was there before, and was not restored since."""
    case = bare(rolled_back())

    (lost,) = rollbacks(case.observation.table)
    found = who_went_on(case, lost)

    assert found[0].job_id == job_id("a")
    assert found[1] == case.observation.table.chain[1]


@pytest.mark.parametrize(
    "tale",
    [
        Tale().flink_runs("a").commits("a", 1, 2, 3).rolls_back_to("a", 2).flink_runs("b", restored=2).commits("b", 3),
        Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").rolls_back_to("a", 2),
        rolled_back().forgets("a"),
    ],
    ids=["another run came", "it was stopped first", "Flink lists none"],
)
def test_else_time_tells_nothing(tale: Tale) -> None:
    """Which run made a commit is not known then."""
    case = bare(tale)

    assert [None] == [who_went_on(case, each) for each in rollbacks(case.observation.table)]


def test_deletes_by_key_of_such_a_job_show_that_it_writes_by_key() -> None:
    """As those of any Flink job."""
    commit = bare(rolled_back()).observation.table.chain[0]
    commit = commit.model_copy(update={"summary": {**commit.summary, "added-equality-deletes": "3"}})

    assert why_by_key({}, [commit]) is not None
