"""F19: the job was rescaled. File names and attempts change, and nothing else: the committer runs once anyway."""

from itertools import pairwise

from bot.diagnosis._support.case import in_window, not_asked, unseen
from bot.history.case import Case
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.ids import JobId, SnapshotId, short, short_job
from bot.observation.looked import NotSeen
from bot.observation.record import Record

MODE = Mode(
    code="F19",
    name="parallelism_changed",
    title="the job was rescaled",
    needs=("ledger",),
    false_positives=("A quiet source: subtasks without rows write no files, so file names show fewer than run.",),
    neighbours={
        "F17": "There keys live twice. Here only the number of subtasks changed, which alone doubles no row.",
        "healthy": "Both can hold: a rescale alone changes no row, and `healthy` says whether the rows are right.",
    },
    act=Act.NOTE,
    remedies=(Remedy.NOTHING,),
)


class _Change(Record):
    said: str
    headline: str
    rows: tuple[SnapshotId, ...] = ()


def examine(case: Case) -> Examined:
    """Matches on operators whose parallelism differs between two runs, or on files by subtasks beyond it."""
    if case.ledger is None:
        return CannotTell(missing=(not_asked(case, "ledger"),))
    jobs = case.observation.jobs
    if isinstance(jobs, NotSeen):
        return CannotTell(missing=(unseen(jobs),))
    change = _between_runs(case) or _within_run(case)
    if change is not None:
        return Matches(
            headline=change.headline,
            reasons=(
                change.said,
                "This alone changes no row: one committer commits the files of all subtasks. In an upsert table look "
                "whether rows are distributed by key (F17).",
            ),
            rows=change.rows,
            remedy=Remedy.NOTHING,
        )
    if not any(run.vertices for run in case.runs):
        return CannotTell(missing=(f"the operators of the job's runs ({jobs.source} lists none)",))
    return Excluded(
        reason="No operator's parallelism differs between the runs that Flink knows, and no file in the window was "
        "written by a subtask beyond it."
    )


def _between_runs(case: Case) -> _Change | None:
    """The newest two runs with operators in common that differ in parallelism, the newer one of the window."""
    wrote = {s.job_id for s in in_window(case)}
    runs = [run for run in case.runs if run.vertices and (run.job_id in wrote or not run.is_terminal)]
    for earlier, later in reversed(list(pairwise(runs))):
        before = {v.vertex_id: v.parallelism for v in earlier.vertices}
        changed = [v for v in later.vertices if before.get(v.vertex_id, v.parallelism) != v.parallelism]
        if changed:
            first = changed[0]
            return _Change(
                headline=f"The job was rescaled between runs {short_job(earlier.job_id)} and "
                f"{short_job(later.job_id)}.",
                said=f"{first.name} ran {before[first.vertex_id]} times in run {short_job(earlier.job_id)} and runs "
                f"{first.parallelism} times in run {short_job(later.job_id)}; {len(changed)} operators changed.",
                rows=_first_of(case, later.job_id),
            )
    return None


def _within_run(case: Case) -> _Change | None:
    """A run whose earlier files carry higher subtask numbers than it has subtasks now."""
    for run in reversed(case.runs):
        most = max((v.parallelism for v in run.vertices), default=0)
        rows = case.ledger.main if case.ledger else ()
        beyond = [r for r in rows if r.job_id == run.job_id and r.subtasks and max(r.subtasks) >= most]
        if most and beyond:
            highest = max(max(row.subtasks or ()) for row in beyond)
            return _Change(
                headline=f"Run {short_job(run.job_id)} was rescaled while it ran.",
                said=f"Files of {short(beyond[-1].snapshot_id)} were written by subtask {highest}, and no operator of "
                f"the run has more than {most} subtasks now.",
                rows=tuple(row.snapshot_id for row in beyond),
            )
    return None


def _first_of(case: Case, job: JobId) -> tuple[SnapshotId, ...]:
    rows = [row.snapshot_id for row in (case.ledger.main if case.ledger else ()) if row.job_id == job]
    return tuple(rows[:1])
