"""F13 between the runs of two jobs that one table declares: kin are a fork, a writer by design is none."""

import pytest

from bot.diagnosis import two_jobs_write_the_table as mode
from bot.diagnosis._may_commit_on import may_commit_on
from bot.domain.diagnosis import Case, Excluded, Matches, Remedy
from bot.domain.flink import JobRun, Restored
from bot.domain.guests import Guests, commits_of_job
from bot.domain.ids import CheckpointId
from bot.domain.kin import kin
from bot.domain.looked import Seen
from tests.cases import NOON, Tale, job_id

GREEN = "orders-green"
OF_A = f"s3://state/savepoint-{job_id('a')[:6]}-0123456789ab"


def tale() -> Tale:
    """`a` has committed up to 4; `b` runs on another cluster, under another job's name, and `a` goes on."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3, 4).flink_runs("b", restored=4)


def apart(case: Case, whence: str | None, state: str = "RUNNING") -> Case:
    """The same case where `b` is a run of the other job, restored from that path."""
    jobs = case.observation.jobs
    b = next(run for run in jobs.values if run.job_id == job_id("b"))
    origin = Restored(checkpoint_id=CheckpointId(4), at=b.started_at, is_savepoint=True, path=whence)
    b = b.model_copy(update={"name": GREEN, "state": state, "restored": origin})
    told = {
        "jobs": Seen[JobRun](source="Flink", values=tuple(run for run in jobs.values if run.job_id != job_id("b"))),
        "others": Seen[JobRun](source="the other Flink", values=(b,)),
    }
    return case.model_copy(update={"observation": case.observation.model_copy(update=told)})


def test_a_run_of_the_other_job_from_this_ones_savepoint_is_a_fork_before_it_commits() -> None:
    """A blue/green deployment in which nobody stopped blue: nothing is spoilt yet, and both are named by their jobs."""
    found = mode.examine(apart(tale().looked_at(), OF_A))

    assert isinstance(found, Matches)
    assert (Remedy.RESOLVE_FORK, job_id("b")) == (found.remedy, found.wrong_run)
    assert any(f"of {GREEN} RUNNING" in reason for reason in found.reasons)


def test_once_both_have_committed_the_rows_of_the_fork_are_told() -> None:
    """The table is trusted up to the commit before its first."""
    story = tale().commits("b", 5).commits("a", 5).commits("b", 6)

    found = mode.examine(apart(story.looked_at(duplicates=10), OF_A))

    assert isinstance(found, Matches)
    assert (job_id("b"), story.at("a", 4)) == (found.wrong_run, found.last_good)
    assert (story.at("b", 5), story.at("b", 6)) == found.rows


def test_after_an_orderly_hand_over_nothing_is_a_fork() -> None:
    """Blue was stopped before green was started."""
    story = tale().becomes("a", "FINISHED").commits("b", 5, 6)

    assert isinstance(mode.examine(apart(story.looked_at(), OF_A)), Excluded)


BESIDE = ["b", "a", "a", "a", "b"]


def beside(story: Tale) -> Tale:
    """Both go on committing."""
    for number, run in enumerate(BESIDE):
        story.commits(run, 5 + number)
    return story


@pytest.mark.parametrize("whence", [None, "s3://state/savepoint-eeeeee-0123456789ab"])
def test_a_second_writer_by_design_is_none(whence: str | None) -> None:
    """Each brings its own keys, from its own state: they may be alive together, and take turns."""
    story = beside(tale())
    case = apart(story.looked_at(duplicates=0), whence)

    found = mode.examine(case)

    assert isinstance(found, Excluded)
    assert f"Flink lists it as a run of {GREEN}" in found.reason
    assert Guests(case).has(story.snapshots[-1])


def test_a_job_that_was_split_in_two_is_none_once_commits_show_it() -> None:
    """Each half reads its own topics, from one savepoint: a fork would have brought keys twice by then."""
    story = beside(tale())

    assert isinstance(mode.examine(apart(story.looked_at(duplicates=0), OF_A)), Excluded)
    assert isinstance(mode.examine(apart(story.case(), OF_A)), Matches)
    assert isinstance(
        mode.examine(apart(tale().commits("b", 5).commits("a", 5).looked_at(duplicates=0), OF_A)), Matches
    )


def test_in_a_table_that_is_written_by_key_no_count_of_keys_shows_it() -> None:
    """Each row replaces its copy."""
    story = beside(tale())
    story.properties["write.upsert.enabled"] = "true"

    assert isinstance(mode.examine(apart(story.looked_at(duplicates=0), OF_A)), Matches)


@pytest.mark.parametrize("alive", ["RUNNING", "FAILED"])
def test_who_took_over_and_tells_no_more_from_where_is_no_guest(alive: str) -> None:
    """It failed over, and names its own checkpoint: the job is not restarted below what it has committed since."""
    story = tale().becomes("a", "FINISHED").commits("b", 5, 6, 7, 8)
    case = apart(story.looked_at(duplicates=0), f"s3://state/{job_id('b')}/chk-7", alive)

    assert not Guests(case).has(story.snapshots[-1])
    assert commits_of_job(case)[-1].job_id == job_id("b")
    doubt = may_commit_on(case)
    assert doubt is not None
    assert (f"of {GREEN}, which is RUNNING" in doubt) is (alive == "RUNNING")


def test_a_run_of_the_job_that_flink_forgot_does_not_make_a_fork_doubtful() -> None:
    """The first blue run and green took turns; blue came back from the same savepoint, and green was stopped."""
    story = Tale().flink_runs("a").commits("a", 1, 2, 3, 4).flink_runs("b", restored=4)
    story.commits("b", 5).commits("a", 5).commits("b", 6).forgets("a").flink_runs("c", restored=4)
    case = apart(story.looked_at(duplicates=0), OF_A, "CANCELED")

    assert isinstance(mode.examine(case), Matches)


def test_rows_that_both_brought_show_a_fork_whatever_flink_remembers() -> None:
    """Green was started anew without state: it read the topic from its beginning."""
    story = tale().commits("b", 5).commits("a", 5).commits("b", 6)

    assert isinstance(mode.examine(apart(story.looked_at(duplicates=10), None)), Matches)


RUN = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("blue", "green", "are_kin"),
    [
        (None, f"s3://x/{job_id('a')}/chk-4", True),
        (f"s3://x/{job_id('b')}/chk-9", None, True),
        ("s3://x/copy-1", "s3a://x/copy-1/", True),
        (f"s3://x/{RUN}/chk-4", f"s3://y/savepoint-{RUN[:6]}-00112233", True),
        (f"s3://x/{job_id('a')}/chk-7", f"s3://x/{job_id('b')}/chk-7", False),
        ("s3://x/copy-1", "s3://x/copy-2", False),
        ("s3://x/savepoint-000000-0011", "s3://y/savepoint-000000-2233", False),
        (f"s3://x/{'0' * 32}/chk-4", f"s3://y/{'0' * 32}/chk-4", False),
        (None, None, False),
    ],
)
def test_kin_is_told_by_where_they_began(blue: str | None, green: str | None, are_kin: bool) -> None:
    """By the run that wrote the restore point, or by the point itself; a failover's own checkpoint tells nothing."""

    def run(name: str, path: str | None) -> JobRun:
        origin = Restored(checkpoint_id=CheckpointId(4), at=NOON, is_savepoint=True, path=path)
        return Tale().flink_runs(name).runs[name].model_copy(update={"restored": origin})

    jobs = Seen[JobRun](source="Flink", values=(run("a", blue),))
    others = Seen[JobRun](source="Flink", values=(run("b", green),))

    assert kin(jobs, others) == (others.values if are_kin else ())
    assert kin(jobs, None) == ()
