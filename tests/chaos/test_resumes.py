"""What `make chaos` says of how soon the bot was back."""

from tests.chaos.experiment import Figures
from tests.chaos.resumes import Resumes


def test_median_and_longest_are_told_for_each_kind_of_start() -> None:
    """What an operator sees apart from the fork that makes a thousand kills affordable."""
    resumes = Resumes()
    for took_s in (1.0, 2.0, 6.5):
        resumes.add(took_s, is_cold=True, is_idle=True)
    resumes.add(0.25, is_cold=False, is_idle=True)

    assert resumes.told() == (
        "connected again after a cold start: median 2.00 s, longest 6.50 s; after a fork: median 0.25 s, longest "
        "0.25 s; later than 5 s on an idle machine: 1 of 4"
    )


def test_a_late_one_on_a_busy_machine_is_not_counted() -> None:
    """It tells of the others' work; where the machine was never idle, that is said."""
    resumes = Resumes()
    resumes.add(9.0, is_cold=True, is_idle=False)

    assert 0 == resumes.late
    assert "longest 9.00 s" in resumes.told()
    assert resumes.told().endswith("later than 5 s on an idle machine: none was tried")


def test_they_stand_in_the_report_and_a_slow_cold_start_breaks_no_rule() -> None:
    """It imports everything anew: a figure of its own."""
    figures = Figures()
    figures.resumes.add(9.0, is_cold=True, is_idle=True)

    assert "0 violations; connected again after a cold start: median 9.00 s" in figures.told()
    assert "later than 5 s on an idle machine: 1 of 1" in figures.told()
    assert [] == figures.resumes.violations()


def test_a_late_fork_breaks_the_rule_on_an_idle_machine_alone() -> None:
    """Five seconds are the promise; on a busy machine they tell of the others' work."""
    resumes = Resumes()
    resumes.add(5.0, is_cold=False, is_idle=True)
    resumes.add(9.0, is_cold=False, is_idle=False)
    resumes.add(6.25, is_cold=False, is_idle=True)

    assert ["resumes: connected again only after 6.2 s, on an idle machine"] == resumes.violations()
