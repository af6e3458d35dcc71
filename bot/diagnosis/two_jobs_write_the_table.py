"""F13: two runs write the table at the same time, each from a state of its own.

A fork: both were restored from one savepoint, or the old run was never stopped. Every position that both read comes
twice, and no rewind of one of them cures what the other does (facts F13).
"""

from collections.abc import Sequence

from bot.diagnosis._support.asked import checked_until
from bot.diagnosis._support.case import in_window, not_asked, time_in, unseen
from bot.diagnosis._support.other_writers import took_for_other_job
from bot.diagnosis._support.restoring import rewind_or
from bot.diagnosis._support.rightness import root_in_doubt
from bot.diagnosis._support.turns import Turn, brought_by_fork, is_one_job, turns, writer, writing
from bot.diagnosis._support.wrong_rows import repeats_unexplained
from bot.history.case import Case
from bot.history.other_jobs import OtherJobs, began_from
from bot.history.starts import flink_commits
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.flink import CLOCKS_DIFFER, JobRun
from bot.observation.ids import JobId, SnapshotId, short, short_job
from bot.observation.looked import NotSeen
from bot.observation.paths import one_of
from bot.observation.sentences import counted
from bot.observation.table import Snapshot

MODE = Mode(
    code="F13",
    name="two_jobs_write_the_table",
    title="two runs write the table at the same time",
    needs=("duplicate_rows",),
    false_positives=(
        "Two jobs that are meant to write one table, each its own keys or partitions.",
        "A hand-over in which the old run is still about to end.",
        "A job that was split in two from one savepoint, each half with its own topics, before commits show that no "
        "key comes twice.",
        "A fixed job id that was stopped and started again: it returns, but it never ran beside the other.",
    ),
    planned_as=("Second writer that is meant to be there", "Planned hand-over between two runs"),
    neighbours={
        "F1": "There one run repeats its own checkpoint or files. Here two runs take turns on main, or are "
        "alive at once.",
        "F2": "There the older run had ended when the new one took over. Here both write.",
    },
    act=Act.CONTAIN,
    remedies=(Remedy.RESOLVE_FORK, Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB, Remedy.DEDUPLICATE_ROWS),
)


def examine(case: Case) -> Examined:
    """Matches when runs take turns on main, or when two runs of the job are alive at once."""
    jobs = case.observation.jobs
    found = turns(case)
    doubtful = [t for t in found if not is_one_job(case, t)]
    certain = [t for t in found if t not in doubtful]
    alive = () if isinstance(jobs, NotSeen) else writing(case)
    if len(alive) > 1:
        return _both_alive(case, alive, certain)
    if certain and (len(certain) > 1 or not isinstance(jobs, NotSeen)):
        return _took_turns(case, certain)
    if doubtful and case.duplicates is not None and case.duplicates.keys:
        return _took_turns(case, doubtful)
    if isinstance(jobs, NotSeen):
        return CannotTell(missing=(unseen(jobs),))
    if doubtful and case.duplicates is None:
        return CannotTell(missing=(not_asked(case, "duplicate_rows"),))
    other_jobs = OtherJobs(case)
    if (
        doubtful
        and (taking := next((s for s in in_window(case) if took_for_other_job(case, other_jobs, s)), None)) is not None
    ):
        return Excluded(
            reason=f"Run {short_job(taking.job_id)} writes the table too, and no key lives twice; but its commit "
            f"{short(taking.snapshot_id)} ({taking.operation}) took rows off the table (F21)."
        )
    if (open_still := _may_be_copies(case, doubtful)) is not None:
        return open_still
    if doubtful:
        return Excluded(reason=_second_writer(case, _guest(case, doubtful[0])))
    in_doubt = root_in_doubt(case) if _wrote_beside(case, other_jobs, alive) else None
    return in_doubt or Excluded(reason=_why_not(case, alive))


def _wrote_beside(case: Case, other_jobs: OtherJobs, alive: Sequence[JobRun]) -> bool:
    """Whether another run of the job has committed rows since a living one came up."""
    commits = [s for s in case.observation.table.of_flink if s.adds_rows and not other_jobs.has(s)]
    return any(
        s.job_id != run.job_id and s.committed_at > run.started_at + CLOCKS_DIFFER for s in commits for run in alive
    )


def _may_be_copies(case: Case, doubtful: list[Turn]) -> CannotTell | None:
    """What is missing to know that two writers under one operator id bring different rows; None: nothing is."""
    alike = [turn for turn in doubtful if turn.of_one_operator]
    if not alike:
        return None
    place_of = case.observation.table.place_of
    newest = max(alike, key=lambda turn: place_of(turn.at))
    by_position = ("duplicate_commits",) if case.duplicate_commits is not None else ()
    tasks = ("duplicate_rows", *by_position)
    older = tuple(task for task in tasks if place_of(checked_until(case, task)) < place_of(newest.at))
    if older:
        at = short(newest.at)
        said = f"{', '.join(older)}, once more: {at}, where a writer came back, is newer"
        return CannotTell(missing=(said,), asks=older)
    return repeats_unexplained(case)


def _guest(case: Case, turn: Turn) -> JobId:
    """Of the two the one that is not this job's."""
    return turn.run if writer(case, turn.run) is None and writer(case, turn.other) is not None else turn.other


def _second_writer(case: Case, job_id: JobId) -> str:
    others, undeclared = case.observation.others, case.observation.undeclared
    declared = next((run.name for run in (others.values if others is not None else ()) if run.job_id == job_id), None)
    if declared is not None:
        return f"Run {short_job(job_id)} of {declared} writes the table too, as `other_jobs` says; no key lives twice."
    name = next((f" of {run.name}" for run in undeclared if run.job_id == job_id), "")
    return (
        f"Run {short_job(job_id)}{name} writes the table too, and no key lives twice. It is not declared: name its job "
        "in the table's `other_jobs` if it is meant to be there, else stop it."
    )


def _why_not(case: Case, alive: tuple[JobRun, ...]) -> str:
    wrote = dict.fromkeys(s.job_id for s in in_window(case) if s.job_id)
    said = f"{len(alive)} run of the job is alive" if alive else "No run of the job is alive"
    if len(wrote) > 1:
        return f"{said}, and the {len(wrote)} runs that wrote in the window followed each other on main."
    return f"{said}, and one run wrote all of Flink's commits in the window."


def _both_alive(case: Case, alive: tuple[JobRun, ...], certain: list[Turn]) -> Matches:
    stays = next((run for run in alive if run.job_id == case.keeps), alive[0])
    goes = next(run for run in reversed(alive) if run is not stays)
    reasons = [
        f"Flink shows run {short_job(run.job_id)}{_of(case, run)} {run.state} since {time_in(case, run.started_at)}"
        f"{_whence(run)}."
        for run in alive
    ]
    path = one_of(run.restored.path for run in alive if run.restored and run.restored.path)
    if path is not None and all(run.restored for run in alive):
        reasons.append("All were restored from the same point: one is a fork of the other.")
    elif len({run.name for run in alive}) > 1:
        begun = " and ".join(f"{short_job(run.job_id)} from {at}" for run in alive if (at := began_from(run)))
        reasons.append(f"Both go on from the same state, so they read the same source: run {begun}.")
    return _matches(case, stays.job_id, goes.job_id, certain, reasons, is_contained=False)


def _took_turns(case: Case, certain: list[Turn]) -> Matches:
    first = certain[0]
    order = dict.fromkeys(s.job_id for s in flink_commits(case.observation.table))
    pair = sorted((first.run, first.other), key=lambda job: (_started(case, job), list(order).index(job)))
    reasons = [
        f"Run {short_job(run.job_id)}{_of(case, run)} is {run.state}."
        for run in (writer(case, job) for job in pair)
        if run is not None
    ]
    stays = _stays(case, pair)
    goes = pair[1] if stays == pair[0] else pair[0]
    return _matches(case, stays, goes, certain, reasons, is_contained=case.observation.jobs.state == "seen")


def _stays(case: Case, pair: list[JobId]) -> JobId:
    """Whom people chose, else the one that is left alive, else the one that came first."""
    left = [job for job in pair if (run := writer(case, job)) is not None and not run.is_terminal]
    if case.keeps in pair:
        return case.keeps
    return left[0] if len(left) == 1 else pair[0]


def _started(case: Case, job: JobId) -> float:
    run = writer(case, job)
    return run.started_at.timestamp() if run else 0.0


def _of(case: Case, run: JobRun) -> str:
    return f" of {run.name}" if case.job_name not in (None, run.name) else ""


def _whence(run: JobRun) -> str:
    return f", restored from checkpoint {run.restored.checkpoint_id}" if run.restored else ""


def _matches(
    case: Case, stays: JobId, goes: JobId, found: list[Turn], reasons: list[str], *, is_contained: bool
) -> Matches:
    mine = _not_to_stay(case, stays, goes)
    said = [
        f"On main they take turns {counted(len(found), 'time')}: {short(found[0].at)} by run "
        f"{short_job(found[0].run)} comes after {short(found[0].before)} by run {short_job(found[0].other)}."
        if found
        else f"Run {short_job(goes)} has committed {counted(len(mine), 'time')} beside the other so far; they have not "
        "taken turns on main yet.",
        *reasons,
    ]
    if case.duplicates is not None and case.duplicates.keys:
        live = "lives" if case.duplicates.keys == 1 else "live"
        extra = counted(case.duplicates.extra_rows, "row")
        said.append(f"{counted(case.duplicates.keys, 'key')} {live} more than once, {extra} too many.")
    said.append(_who_stays(case, stays, goes, is_contained=is_contained))
    twice = brought_by_fork(case)
    if twice:
        said.append(
            f"{' and '.join(short(s.snapshot_id) for s in twice)} repeats a commit of run "
            f"{short_job(twice[0].job_id)}: the fork brought it from the state that it was restored from, "
            "so it is taken back, too."
        )
    ours = sorted((*mine, *twice), key=lambda s: case.observation.table.place_of(s.snapshot_id))
    last_good: SnapshotId | None = ours[0].parent_id if ours else case.observation.table.head
    wrote = "wrote" if is_contained else "write"
    return Matches(
        headline=f"Runs {short_job(stays)} and {short_job(goes)} {wrote} the table at the same time.",
        reasons=tuple(said),
        rows=tuple(s.snapshot_id for s in ours) or tuple(t.at for t in found),
        last_good=last_good,
        wrong_run=goes,
        remedy=rewind_or(case, last_good, Remedy.DEDUPLICATE_ROWS) if is_contained else Remedy.RESOLVE_FORK,
    )


def _not_to_stay(case: Case, stays: JobId, goes: JobId) -> list[Snapshot]:
    """The commits of `goes` whose rows the other brings as well: of the one that came first, those after the checkpoint
    from which the other was restored, else after the other's first commit."""
    commits = flink_commits(case.observation.table)
    mine = [s for s in commits if s.job_id == goes]
    other = next((place for place, s in enumerate(commits) if s.job_id == stays), None)
    after = [s for s in commits[other:] if s.job_id == goes] if other is not None else []
    if not mine or len(after) == len(mine):
        return mine
    run = writer(case, stays)
    at = run.restored.checkpoint_id if run is not None and run.restored is not None else None
    if at is not None and any(s.checkpoint_id is not None and s.checkpoint_id <= at for s in mine):
        return [s for s in mine if s.checkpoint_id is not None and s.checkpoint_id > at]
    return after


def _who_stays(case: Case, stays: JobId, goes: JobId, *, is_contained: bool) -> str:
    one, other = short_job(goes), short_job(stays)
    if is_contained:
        chosen = f"People chose run {other} to stay" if case.keeps == stays else f"Run {other} is taken to stay"
        return (
            "They are not both alive any more: what is left are the rows of the one that should not have written. "
            f"{chosen}."
        )
    if case.keeps == stays:
        return f"People chose run {other} to stay. The snapshots of run {one} show its rows."
    return (
        f"Run {one} came later and is taken for the fork; if it is the one to keep, propose resolve_fork keep={one}. "
        "The snapshots of the stopped one show its rows."
    )
