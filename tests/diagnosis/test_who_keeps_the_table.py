"""Which of two writers stays is for people to say; where nobody does, the one that is left alive."""

from bot.diagnosis import two_jobs_write_the_table as mode
from bot.domain.diagnosis import Case, Matches, Remedy
from tests.cases import job_id
from tests.diagnosis.test_two_jobs_write_the_table import forked
from tests.found import point, points


def kept(case: Case, run: str) -> Case:
    """The case in which people chose this run."""
    return case.model_copy(update={"keeps": job_id(run)})


def test_the_later_run_stays_where_people_chose_it() -> None:
    """The rows to take back are those of the other since the checkpoint from which the chosen one was restored."""
    tale = forked()

    found = mode.examine(kept(tale.looked_at(duplicates=10), "b"))

    assert isinstance(found, Matches)
    assert (Remedy.RESOLVE_FORK, job_id("a"), tale.at("a", 4)) == (found.remedy, found.wrong_run, found.last_good)
    assert (tale.at("a", 5), tale.at("a", 6), tale.at("a", 7)) == found.rows
    assert any("People chose run" in reason for reason in found.reasons)


def test_the_choice_holds_when_the_other_stands_still() -> None:
    """The older run was stopped: its rows go, whatever came first."""
    tale = forked().becomes("a", "FINISHED")
    pairing = points(point(job_id("a"), 4, tale.at("a", 4)))

    found = mode.examine(kept(tale.looked_at(duplicates=10, pairing=pairing), "b"))

    assert isinstance(found, Matches)
    assert (Remedy.REWIND_TABLE_AND_JOB, job_id("a")) == (found.remedy, found.wrong_run)


def test_the_run_that_is_left_alive_stays_where_nobody_chose() -> None:
    """Somebody stopped the older one by hand: the living run is never named as the wrong one."""
    tale = forked().becomes("a", "CANCELED")

    found = mode.examine(tale.looked_at(duplicates=10))

    assert isinstance(found, Matches)
    assert (job_id("a"), tale.at("a", 4)) == (found.wrong_run, found.last_good)


def test_of_a_run_that_came_first_only_what_the_other_brings_too_is_wrong() -> None:
    """Not known from where the other was restored: what was committed beside it, and nothing before."""
    tale = forked().becomes("a", "CANCELED")
    tale.runs["b"] = tale.runs["b"].model_copy(update={"restored": None})

    found = mode.examine(tale.looked_at(duplicates=10))

    assert isinstance(found, Matches)
    assert (tale.at("a", 7),) == found.rows


def test_a_choice_of_another_fork_says_nothing() -> None:
    """The run that was chosen then is none of these two."""
    found = mode.examine(kept(forked().looked_at(duplicates=10), "z"))

    assert isinstance(found, Matches)
    assert job_id("b") == found.wrong_run
