"""F13: two runs, two jobs or two sinks at the same time, and which of them stays."""

from datetime import timedelta
from typing import Any

import pytest

import bot.diagnosis
from bot.diagnosis import checkpoint_committed_twice, commit_not_made_yet, healthy
from bot.diagnosis import two_jobs_write_the_table as mode
from bot.diagnosis._support.examine import diagnose, scan
from bot.diagnosis._support.may_commit_on import may_commit_on
from bot.history.case import Case
from bot.history.other_jobs import OtherJobs, commits_of_job, related_runs
from bot.incident.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.observation.findings import RepeatedCommit
from bot.observation.flink import JobRun, Restored
from bot.observation.ids import CheckpointId, OperatorId
from bot.observation.looked import Seen
from tests.cases import NOON, Tale, job_id
from tests.diagnosis.answers import Asks, LastGood, Rows, WrongRun, answer_table, check
from tests.found import leaks, orphans, point, points, repeats, twice


def forked() -> Tale:
    """`b` was started from `a`'s checkpoint 4 while `a` ran on."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 7)).flink_runs("b", restored=4)
    return tale.commits("b", 5).commits("a", 7).commits("b", 6)


def test_the_same_restore_path_is_told() -> None:
    """Both from one savepoint: one is a copy of the other."""
    tale = Tale().flink_runs("a", restored=3).flink_runs("b", restored=3).commits("a", 4).commits("b", 4)
    for run in "ab":
        point = tale.runs[run].restored
        assert isinstance(point, Restored)
        told = point.model_copy(update={"path": "s3://state/savepoint-1"})
        tale.shows(run, restored=told)

    found = mode.examine(tale.looked_at())

    assert any("restored from the same point" in reason for reason in found.reasons)


def second_writer() -> Tale:
    """Another Flink job with a sink of its own commits in turns with ours."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    for checkpoint, theirs in ((3, 7), (4, 8)):
        tale.commits("x", theirs).by_sink(OperatorId("ee" * 16)).commits("a", checkpoint)
    return tale


def repeating() -> Tale:
    """As run on Flink 2.1 with the V2 sink: `b` brought `a`'s savepoint 4 once more, after `a` had committed it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).flink_runs("b", restored=4)
    return tale.commits("a", 4).commits("b", 5).commits("a", 6).commits("b", 6)


def again(tale: Tale) -> RepeatedCommit:
    """The two commits of checkpoint 4."""
    first, second = (s.snapshot_id for s in tale.snapshots if s.checkpoint_id == 4)
    return RepeatedCommit(
        first=first, again=second, how="same-files", job_id=job_id("a"), checkpoint_id=CheckpointId(4), rows=10
    )


def test_what_the_fork_brought_of_its_savepoint_goes_with_it() -> None:
    """It bears the older run's id; the table is good below it, and it is no accident of its own (F1)."""
    tale = repeating()
    case = tale.looked_at(duplicates=10, duplicate_commits=repeats(again(tale)))

    found, lone = mode.examine(case), checkpoint_committed_twice.examine(case)

    assert (tale.at("a", 4), tale.at("b", 5), tale.at("b", 6)) == found.rows
    assert tale.at("a", 5) == found.last_good
    assert "F13" in lone.reason


GREEN = "orders-green"
OF_A = f"s3://state/savepoint-{job_id('a')[:6]}-0123456789ab"


def tale_of_two() -> Tale:
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


BESIDE = ["b", "a", "a", "a", "b"]


def beside(story: Tale) -> Tale:
    """Both go on committing."""
    for number, run in enumerate(BESIDE):
        story.commits(run, 5 + number)
    return story


@pytest.mark.parametrize("whence", [None, "s3://state/savepoint-eeeeee-0123456789ab"])
def test_a_second_writer_by_design_is_none(whence: str | None) -> None:
    """Each brings its own keys, from its own state: they may be alive together, and take turns."""
    story = beside(tale_of_two())
    case = apart(story.looked_at(duplicates=0), whence)

    found = mode.examine(case)

    assert f"of {GREEN} writes the table too" in found.reason
    assert OtherJobs(case).has(story.snapshots[-1])


@pytest.mark.parametrize("alive", ["RUNNING", "FAILED"])
def test_who_took_over_and_tells_no_more_from_where_is_no_guest(alive: str) -> None:
    """It failed over, and names its own checkpoint: the job is not restarted below what it has committed since."""
    story = tale_of_two().becomes("a", "FINISHED").commits("b", 5, 6, 7, 8)
    case = apart(story.looked_at(duplicates=0), f"s3://state/{job_id('b')}/chk-7", alive)

    assert not OtherJobs(case).has(story.snapshots[-1])
    assert commits_of_job(case)[-1].job_id == job_id("b")
    doubt = may_commit_on(case)
    assert doubt is not None
    assert (f"of {GREEN}, which is RUNNING" in doubt) is (alive == "RUNNING")


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

    assert related_runs(jobs, others) == (others.values if are_kin else ())
    assert related_runs(jobs, None) == ()


def kept(case: Case, run: str) -> Case:
    """The case in which people chose this run."""
    return case.model_copy(update={"keeps": job_id(run)})


def forked_above_a_rollback() -> Tale:
    """Main went back to 3 under run a (F6), and run c, begun from 8, commits beside it (F13)."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 9)).rolls_back_to("a", 3).commits("a", 9)
    return tale.flink_runs("c", restored=8).commits("c", 9).commits("a", 10).commits("c", 10)


def test_a_fork_that_stands_still_leaves_the_order_as_it_is() -> None:
    """Then one rewind below both takes both back."""
    tale = forked_above_a_rollback().becomes("c", "CANCELED")

    diagnosis = diagnose(tale.looked_at(duplicates=30, missing=50), scan(bot.diagnosis))

    assert [mode.code for mode, _ in diagnosis.to_act_on][:2] == ["F6", "F13"]


MODES = scan(bot.diagnosis)
SECOND = OperatorId("ee" * 16)


def two_sinks(upto: int, *, stuck_after: int) -> Tale:
    """Both sinks of the run commit each checkpoint; the second stops, and its manifests stay."""
    tale = Tale().flink_runs("a")
    for checkpoint in range(1, upto + 1):
        tale.completes("a", checkpoint).commits("a", checkpoint)
        if checkpoint <= stuck_after:
            tale.commits("a", checkpoint).by_sink(SECOND)
        else:
            tale.leaves_manifest("a", checkpoint, operator=SECOND)
    return tale


def looked_at(tale: Tale, *, overdue: bool = False) -> Case:
    """Evidence may say that what waits has waited for too long."""
    found = leaks(*tale.manifests)
    told = tuple(leak.model_copy(update={"is_overdue": overdue}) for leak in found.manifests)
    return tale.looked_at(leaked=found.model_copy(update={"manifests": told}))


def test_a_sink_that_is_stuck_is_told_though_another_commits() -> None:
    """The table was called healthy beside sixty rows that waited."""
    diagnosis = diagnose(looked_at(two_sinks(9, stuck_after=3)), MODES)

    ((mode, found),) = diagnosis.matches
    assert "F11" == mode.code
    assert "6 completed checkpoints" in found.headline
    assert "the table has 3 of its sink eeeeee" in found.reasons[0]
    assert "6 Flink manifests with 60 rows wait to be committed" in diagnosis.nothing_matches


def test_what_evidence_calls_overdue_is_not_healthy() -> None:
    """However few checkpoints completed since: a busy source may complete few."""
    tale = two_sinks(4, stuck_after=3)

    young = healthy.examine(looked_at(tale))
    old = healthy.examine(looked_at(tale, overdue=True))
    tale.completes("a", 5).commits("a", 5).commits("a", 5).by_sink(SECOND)
    late = looked_at(tale, overdue=True)
    tale.manifests.clear()
    made_good = healthy.examine(late.model_copy(update={"observation": tale.looked_at().observation}))

    assert isinstance(young, Excluded)
    assert isinstance(old, Excluded)
    assert isinstance(made_good, Matches)


def test_what_a_sink_has_passed_over_does_not_wait_on() -> None:
    """It committed a later checkpoint and left one behind, which its V1 form keeps in memory and may drop."""
    tale = two_sinks(4, stuck_after=3).commits("a", 4).by_sink(SECOND)
    at_once = healthy.examine(looked_at(tale))
    tale.now += timedelta(seconds=30)

    still = healthy.examine(looked_at(tale))

    assert isinstance(at_once, Matches), "a commit deletes its manifest a moment later"
    assert "1 Flink manifest with 10 rows wait to be committed" in still.reason


def quiet(name: str) -> Tale:
    """Seventeen checkpoints without a commit, a file or a manifest, by a sink whose vertex has this name."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).remembers("a", *range(1, 21))
    source, sink = tale.runs["a"].vertices
    vertices = (source, sink.model_copy(update={"name": name}))
    tale.shows("a", vertices=vertices)
    tale.now += timedelta(seconds=15)
    return tale


def handed_over() -> Tale:
    """A pinned id was stopped, and started again after run b."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED")
    tale.flink_runs("b", restored=2).commits("b", 3, 4).becomes("b", "FINISHED")
    return tale.forgets("a").flink_runs("a", restored=4).commits("a", 5)


def made_twice(tale: Tale, checkpoint: int) -> Case:
    """Both commits of this checkpoint name the same files."""
    first, second = (s.snapshot_id for s in tale.snapshots if s.checkpoint_id == checkpoint)
    repeat = RepeatedCommit(
        first=first, again=second, how="same-files", job_id=job_id("a"), checkpoint_id=CheckpointId(checkpoint), rows=10
    )
    return tale.looked_at(duplicate_commits=repeats(repeat))


def by_key() -> Tale:
    """Both write on, and each row replaces its copy."""
    tale = beside(tale_of_two())
    tale.properties["write.upsert.enabled"] = "true"
    return tale


def came_back() -> Tale:
    """The first blue run, which Flink has forgotten, and green took turns; blue came back from the same savepoint."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4).flink_runs("b", restored=4)
    return tale.commits("b", 5).commits("a", 5).commits("b", 6).forgets("a").flink_runs("c", restored=4)


def late() -> Tale:
    """Flink lists few checkpoints: what it has forgotten completed all the same, as its commits show."""
    tale = two_sinks(5, stuck_after=4).completes("a", *range(6, 12))
    return tale.shows("a", checkpoints=tale.runs["a"].checkpoints[:5])


STOOD = forked().becomes("b", "FINISHED")
OF_6, OF_4 = (points(point(job_id("a"), at, forked().at("a", at))) for at in (6, 4))
TURNS = forked().commits("a", 7)
ONE_RUN = Tale().flink_runs("a").commits("a", 1, 2, 2).becomes("a", "CANCELED").flink_runs("b", restored=2)
GREEN_AFTER_BLUE = tale_of_two().becomes("a", "FINISHED").commits("b", 5, 6)
EACH_ONCE = tale_of_two().commits("b", 5).commits("a", 5)
QUIET_BESIDE = two_sinks(9, stuck_after=9).completes("a", 10, 11, 12).commits("a", 12)
F13, REWIND = mode, Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB


@answer_table(
    {
        "it stands still, and a point pairs below its first commit": (
            F13, STOOD.looked_at(duplicates=10, pairing=OF_6), REWIND, LastGood("a6"),
        ),
        "it stands still, and none pairs": (
            F13, STOOD.looked_at(duplicates=10, pairing=points()), Remedy.DEDUPLICATE_ROWS, LastGood("a6"),
        ),
        "people chose the later run": (
            F13, kept(forked().looked_at(duplicates=10), "b"), Remedy.RESOLVE_FORK, LastGood("a4"), WrongRun("a"),
            Rows("a5 a6 a7"), "People chose run",
        ),
        "of a run that came first only what the other brings, too, is wrong": (
            F13, forked().becomes("a", "CANCELED").shows("b", restored=None).looked_at(duplicates=10), Rows("a7"),
        ),
        "people chose the later run, and the older stands still": (
            F13, kept(forked().becomes("a", "FINISHED").looked_at(duplicates=10, pairing=OF_4), "b"), REWIND,
            WrongRun("a"),
        ),
        "taking turns twice needs no second witness": (F13, forked().flink_is_down().case(), Matches),
        "a pinned id that was stopped and started is a hand-over": (F13, handed_over().looked_at(), Excluded),
        "without Flink it may be either": (F13, handed_over().flink_is_down().looked_at(), CannotTell),
        "a second sink, before rows are counted": (F13, second_writer().case(), CannotTell),
        "a second sink, and no key repeats": (F13, second_writer().case(duplicates=twice(0)), Excluded),
        "a second sink, and keys repeat": (F13, second_writer().case(duplicates=twice(5)), Matches),
        "a commit made twice beside a fork is still told": (
            checkpoint_committed_twice, made_twice(TURNS, 7), Matches,
        ),
        "one run after the other: made twice": (
            checkpoint_committed_twice, made_twice(ONE_RUN.commits("b", 3), 2), Matches,
        ),
        "a run of the other job from this one's savepoint, before it commits": (
            F13, apart(tale_of_two().looked_at(), OF_A), Remedy.RESOLVE_FORK, WrongRun("b"), f"of {GREEN} RUNNING",
        ),
        "blue was stopped before green was started": (F13, apart(GREEN_AFTER_BLUE.looked_at(), OF_A), Excluded),
        "split in two: each half reads its own topics": (
            F13, apart(beside(tale_of_two()).looked_at(duplicates=0), OF_A), Excluded,
        ),
        "split in two, as far as anybody has counted": (F13, apart(beside(tale_of_two()).case(), OF_A), Matches),
        "split in two, as far as few commits show": (F13, apart(EACH_ONCE.looked_at(duplicates=0), OF_A), Matches),
        "by key no count of keys shows a split": (F13, apart(by_key().looked_at(duplicates=0), OF_A), Matches),
        "a run that Flink forgot makes no fork doubtful": (
            F13, apart(came_back().looked_at(duplicates=0), OF_A, "CANCELED"), Matches,
        ),
        "a manifest is late once a later checkpoint is done": (healthy, looked_at(late()), Excluded),
        "a quiet sink beside a busy one": (healthy, QUIET_BESIDE.looked_at(), Matches),
        "what is said of carried rows is said of it alone": (
            commit_not_made_yet, QUIET_BESIDE.looked_at(), Excluded, "3 checkpoints of run aaaaaa since 9 of its sink",
        ),
        "a quiet sink, and files were not listed": (healthy, QUIET_BESIDE.looked_at(orphans=None), CannotTell),
        "a quiet sink, and files are left": (healthy, QUIET_BESIDE.looked_at(orphans=orphans(2)), CannotTell),
        "an idle dynamic sink is quiet only while nothing is left over": (
            healthy, quiet("orders pre commit topology").looked_at(orphans=None), CannotTell, Asks("orphan_files"),
        ),
    }
)  # fmt: skip
def test_two_write_at_once(mode: Any, case: Case, expected: list[Any]) -> None:
    """Runs, jobs or sinks; and what is an orderly hand-over, a split or a quiet one."""
    check(mode, case, expected)
