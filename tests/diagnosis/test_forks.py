"""F13: two runs, two jobs or two sinks at the same time, and which of them stays."""

from datetime import timedelta

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
from tests.found import leaks, orphans, point, points, repeats, twice


def forked() -> Tale:
    """`b` was started from `a`'s checkpoint 4 while `a` ran on."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 7)).flink_runs("b", restored=4)
    return tale.commits("b", 5).commits("a", 7).commits("b", 6)


def test_a_fork_that_stands_still_has_left_rows_to_take_back() -> None:
    """By a rewind where a restore point pairs below its first commit, else by key; nothing is left to be stopped."""
    tale = forked().becomes("b", "FINISHED")
    good = tale.at("a", 6)

    paired = mode.examine(tale.looked_at(duplicates=10, pairing=points(point(job_id("a"), 6, good))))
    unpaired = mode.examine(tale.looked_at(duplicates=10, pairing=points()))

    assert (Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB, Remedy.DEDUPLICATE_ROWS) == (paired.remedy, unpaired.remedy)
    assert (good, good) == (paired.last_good, unpaired.last_good)


def test_taking_turns_twice_needs_no_second_witness() -> None:
    """a, b, a, b on main is proof without Flink."""
    assert isinstance(mode.examine(forked().flink_is_down().case()), Matches)


def test_one_return_may_be_a_pinned_id_that_was_started_again() -> None:
    """Flink tells: stopped and started anew it is a hand-over; not known, it is neither."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED")
    tale.flink_runs("b", restored=2).commits("b", 3, 4).becomes("b", "FINISHED")
    tale.forgets("a").flink_runs("a", restored=4).commits("a", 5)

    asked, blind = mode.examine(tale.looked_at()), mode.examine(tale.flink_is_down().looked_at())

    assert isinstance(asked, Excluded)
    assert isinstance(blind, CannotTell)


def test_the_same_restore_path_is_told() -> None:
    """Both from one savepoint: one is a copy of the other."""
    tale = Tale().flink_runs("a", restored=3).flink_runs("b", restored=3).commits("a", 4).commits("b", 4)
    for run in "ab":
        point = tale.runs[run].restored
        assert isinstance(point, Restored)
        told = point.model_copy(update={"path": "s3://state/savepoint-1"})
        tale.runs[run] = tale.runs[run].model_copy(update={"restored": told})

    found = mode.examine(tale.looked_at())

    assert any("restored from the same point" in reason for reason in found.reasons)


def second_writer() -> Tale:
    """Another Flink job with a sink of its own commits in turns with ours."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits("x", 7).commits("a", 3).commits("x", 8).commits("a", 4)
    tale.snapshots = [
        s.model_copy(update={"summary": s.summary | {"flink.operator-id": OperatorId("ee" * 16)}})
        if s.job_id == job_id("x")
        else s
        for s in tale.snapshots
    ]
    return tale


def test_a_second_writer_with_its_own_sink_is_a_fork_only_where_keys_repeat() -> None:
    """Rows decide, and before they were counted nobody knows."""
    tale = second_writer()

    uncounted, clean, repeated = (
        mode.examine(tale.case()),
        mode.examine(tale.case(duplicates=twice(0))),
        mode.examine(tale.case(duplicates=twice(5))),
    )

    assert isinstance(uncounted, CannotTell)
    assert isinstance(clean, Excluded)
    assert isinstance(repeated, Matches)


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


def test_a_commit_made_twice_beside_a_fork_is_still_told() -> None:
    """Only a checkpoint from which a fork was restored is the fork's."""
    tale = forked().commits("a", 7)
    first, second = (s.snapshot_id for s in tale.snapshots if s.checkpoint_id == 7)
    repeat = RepeatedCommit(
        first=first, again=second, how="same-files", job_id=job_id("a"), checkpoint_id=CheckpointId(7), rows=10
    )

    found = checkpoint_committed_twice.examine(tale.looked_at(duplicate_commits=repeats(repeat)))

    assert isinstance(found, Matches)


def test_a_repeat_without_a_fork_is_a_commit_made_twice() -> None:
    """One run after the other: nothing of the older one's is brought beside it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 2).becomes("a", "CANCELED").flink_runs("b", restored=2)
    first, second = (s.snapshot_id for s in tale.snapshots if s.checkpoint_id == 2)
    repeat = RepeatedCommit(
        first=first, again=second, how="same-files", job_id=job_id("a"), checkpoint_id=CheckpointId(2), rows=10
    )

    found = checkpoint_committed_twice.examine(tale.commits("b", 3).looked_at(duplicate_commits=repeats(repeat)))

    assert isinstance(found, Matches)


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

    assert (Remedy.RESOLVE_FORK, job_id("b")) == (found.remedy, found.wrong_run)
    assert any(f"of {GREEN} RUNNING" in reason for reason in found.reasons)


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

    assert f"of {GREEN} writes the table too" in found.reason
    assert OtherJobs(case).has(story.snapshots[-1])


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

    assert not OtherJobs(case).has(story.snapshots[-1])
    assert commits_of_job(case)[-1].job_id == job_id("b")
    doubt = may_commit_on(case)
    assert doubt is not None
    assert (f"of {GREEN}, which is RUNNING" in doubt) is (alive == "RUNNING")


def test_a_run_of_the_job_that_flink_forgot_does_not_make_a_fork_doubtful() -> None:
    """The first blue run and green took turns; blue came back from the same savepoint, and green was stopped."""
    story = Tale().flink_runs("a").commits("a", 1, 2, 3, 4).flink_runs("b", restored=4)
    story.commits("b", 5).commits("a", 5).commits("b", 6).forgets("a").flink_runs("c", restored=4)
    assert isinstance(mode.examine(apart(story.looked_at(duplicates=0), OF_A, "CANCELED")), Matches)


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


def test_the_later_run_stays_where_people_chose_it() -> None:
    """The rows to take back are those of the other since the checkpoint from which the chosen one was restored."""
    tale = forked()

    found = mode.examine(kept(tale.looked_at(duplicates=10), "b"))

    assert (Remedy.RESOLVE_FORK, job_id("a"), tale.at("a", 4)) == (found.remedy, found.wrong_run, found.last_good)
    assert (tale.at("a", 5), tale.at("a", 6), tale.at("a", 7)) == found.rows
    assert any("People chose run" in reason for reason in found.reasons)


def test_the_choice_holds_when_the_other_stands_still() -> None:
    """The older run was stopped: its rows go, whatever came first."""
    tale = forked().becomes("a", "FINISHED")
    pairing = points(point(job_id("a"), 4, tale.at("a", 4)))

    found = mode.examine(kept(tale.looked_at(duplicates=10, pairing=pairing), "b"))

    assert (Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB, job_id("a")) == (found.remedy, found.wrong_run)


def test_of_a_run_that_came_first_only_what_the_other_brings_too_is_wrong() -> None:
    """Not known from where the other was restored: what was committed beside it, and nothing before."""
    tale = forked().becomes("a", "CANCELED")
    tale.runs["b"] = tale.runs["b"].model_copy(update={"restored": None})

    found = mode.examine(tale.looked_at(duplicates=10))

    assert (tale.at("a", 7),) == found.rows


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


def test_a_manifest_that_waits_is_late_once_a_later_checkpoint_is_done() -> None:
    """Flink lists ten: what it has forgotten completed all the same, as its commits show."""
    tale = two_sinks(5, stuck_after=4)
    tale.completes("a", *range(6, 12))
    tale.runs["a"] = tale.runs["a"].model_copy(update={"checkpoints": tale.runs["a"].checkpoints[:5]})

    assert not isinstance(healthy.examine(looked_at(tale)), Matches)


def test_a_quiet_sink_beside_a_busy_one_is_no_fault() -> None:
    """It leaves no manifest and no file; what is said of carried rows is said of it alone."""
    tale = two_sinks(9, stuck_after=9).completes("a", 10, 11, 12).commits("a", 12)

    found = healthy.examine(tale.looked_at())
    waiting = commit_not_made_yet.examine(tale.looked_at())
    unlisted = healthy.examine(tale.looked_at(orphans=None))
    left = healthy.examine(tale.looked_at(orphans=orphans(2)))

    assert isinstance(found, Matches)
    assert "3 checkpoints of run aaaaaa since 9 of its sink eeeeee" in waiting.reason
    assert isinstance(unlisted, CannotTell)
    assert isinstance(left, CannotTell)


def quiet(name: str) -> Tale:
    """Seventeen checkpoints without a commit, a file or a manifest, by a sink whose vertex has this name."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).remembers("a", *range(1, 21))
    source, sink = tale.runs["a"].vertices
    vertices = (source, sink.model_copy(update={"name": name}))
    tale.runs["a"] = tale.runs["a"].model_copy(update={"vertices": vertices})
    tale.now += timedelta(seconds=15)
    return tale


def test_an_idle_dynamic_sink_is_quiet_only_while_nothing_is_left_over() -> None:
    """What the count no longer tells, the files on storage do."""
    found = healthy.examine(quiet("orders pre commit topology").looked_at(orphans=None))

    assert isinstance(found, CannotTell)
    assert ("orphan_files",) == found.asks
