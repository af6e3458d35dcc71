"""`no-advance`: the job stands still over a right table; and never over a wrong or unseen one."""

import pytest

from bot.diagnosis import no_snapshot_advanced as mode
from bot.domain.contract import TableContract
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches, Remedy
from bot.domain.findings import LeakStanding, PairingFinding, PairVerdict
from bot.domain.ids import DRAINED
from tests.cases import Tale, job_id
from tests.found import files_twice, leaks, point, points


def given_up() -> Tale:
    """Three commits, and the run failed for good."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "FAILED")


def looping() -> Tale:
    """The run fails and restarts."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3).completes("a", 3).fails("a", times=3).becomes("a", "RESTARTING")


def forgotten() -> Tale:
    """The cluster knows no such job."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3).forgets("a")


@pytest.mark.parametrize(
    ("tale", "said"), [(given_up(), "is FAILED"), (looping(), "failed 3 times"), (forgotten(), "knows no run")]
)
def test_a_job_that_stands_still_is_recovered_without_the_table(tale: Tale, said: str) -> None:
    """Failed, looping or gone: the head is right, and the point that pairs with it is named."""
    pairing = points(point(job_id("a"), 3, tale.at("a", 3)))

    found = mode.examine(tale.looked_at(pairing=pairing))

    assert isinstance(found, Matches)
    assert (Remedy.RESTORE_JOB_ONLY, tale.head, None) == (found.remedy, found.last_good, found.wrong_run)
    assert said in found.reasons[0]
    assert Remedy.RESTORE_JOB_ONLY.words == found.what_to_do
    assert "s3://state/savepoint-aaaaaa-3" in found.reasons[-1]


def test_a_point_ahead_of_the_head_commits_what_it_owes() -> None:
    """Newer than any commit is not too new: the sink commits at the restore."""
    pairing = points(point(job_id("a"), 4, None, PairVerdict.AHEAD))

    found = mode.examine(given_up().looked_at(pairing=pairing))

    assert isinstance(found, Matches)
    assert Remedy.RESTORE_JOB_ONLY is found.remedy


def test_an_older_point_alone_takes_the_table_along() -> None:
    """Restored from 2 against checkpoint 3 the job would write rows twice."""
    tale = given_up()

    found = mode.examine(tale.looked_at(pairing=points(point(job_id("a"), 2, tale.at("a", 2)))))

    assert isinstance(found, Matches)
    assert (Remedy.REWIND_TABLE_AND_JOB, job_id("a")) == (found.remedy, found.wrong_run)


@pytest.mark.parametrize(
    ("pairing", "said"),
    [
        (points(), "holds no restore point that"),
        (points(point(job_id("a"), 4, None, PairVerdict.BEHIND)), "None of 1 restore point on storage"),
    ],
)
def test_without_a_point_that_fits_it_says_so(pairing: PairingFinding, said: str) -> None:
    """No table state goes with any, so nothing "goes together"; the source's position is what is left."""
    found = mode.examine(given_up().looked_at(pairing=pairing))

    assert isinstance(found, Matches)
    assert (Remedy.RESTORE_JOB_ONLY, None) == (found.remedy, found.wrong_run)
    assert found.headline.endswith("but no restore point is left from which the job could go on.")
    assert said in found.reasons[-1]
    assert found.what_to_do.startswith("find a restore point elsewhere, as none that was found fits the table")
    assert "after position 99" in found.reasons[-1]
    assert not any("go together" in reason for reason in found.reasons)


def test_before_anybody_looked_no_restore_point_is_promised() -> None:
    """What to do is to look first; once a point is known, the remedy's own words are true."""
    found = mode.examine(given_up().looked_at())

    assert isinstance(found, Matches)
    assert found.what_to_do.startswith("look which restore point")
    assert "newest restore point" not in found.what_to_do


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (given_up().looked_at(duplicates=3), "keys live more than once"),
        (given_up().looked_at(missing=3), "are missing"),
        (Tale().flink_runs("a").commits("a", 1, DRAINED).becomes("a", "FINISHED").looked_at(), "F5"),
        (given_up().misses_manifest("a", "a", 4).looked_at(), "F7, F8, F9"),
    ],
)  # fmt: skip
def test_a_wrong_table_is_never_left_to_the_job(case: Case, said: str) -> None:
    """Whatever is wrong with rows or history is named instead."""
    found = mode.examine(case)

    assert isinstance(found, Excluded)
    assert said in found.reason


def test_a_hole_is_never_left_to_the_job() -> None:
    """A rollback under the running job: before positions were counted nobody knows, without any it is wrong."""
    tale = (
        Tale().flink_runs("a").commits("a", *range(1, 6)).rolls_back_to("a", 3).commits("a", 6).becomes("a", "FAILED")
    )
    uncounted = tale.looked_at(gaps=None)
    unnamed = uncounted.model_copy(update={"contract": TableContract(key=("id",))})

    assert isinstance(mode.examine(uncounted), CannotTell)
    assert isinstance(mode.examine(unnamed), Excluded)


def test_dropped_rows_are_never_left_to_the_job() -> None:
    """A restart would not read them again."""
    tale = given_up().leaves_manifest("a", 2)

    found = mode.examine(tale.looked_at(leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED)))

    assert isinstance(found, Excluded)


@pytest.mark.parametrize("lacks", ["duplicates", "gaps", "leaked", "unreadable"])
def test_the_table_is_not_called_right_before_it_was_looked_at(lacks: str) -> None:
    """Each source may show what the others do not."""
    case = given_up().looked_at().model_copy(update={lacks: None})

    found = mode.examine(case)

    assert isinstance(found, CannotTell)
    assert 1 == len(found.missing)


def test_a_run_that_is_alive_does_not_stand_still() -> None:
    """Running, or restarting for the first time: see `wait`."""
    running = Tale().flink_runs("a").commits("a", 1, 2)

    assert isinstance(mode.examine(running.looked_at()), Excluded)
    assert isinstance(mode.examine(running.fails("a").becomes("a", "RESTARTING").looked_at()), Excluded)


def test_flink_must_be_asked() -> None:
    """A table that does not advance may have a job that runs."""
    assert isinstance(mode.examine(given_up().flink_is_down().looked_at()), CannotTell)


def test_files_that_are_live_twice_are_never_left_to_the_job() -> None:
    """Evidence that was not asked for but is there counts, too."""
    tale = given_up()

    found = mode.examine(tale.looked_at(duplicate_files=files_twice(10, tale.at("a", 2), tale.at("a", 3))))

    assert isinstance(found, Excluded)
