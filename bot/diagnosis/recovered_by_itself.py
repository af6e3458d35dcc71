"""`healthy`: the job runs, main is an unbroken chain, and evidence has looked for duplicates and for gaps.

This is the one mode that says that nothing is to be done, so everything that it rests on must have been looked at.
"""

from bot.diagnosis import _unbroken
from bot.diagnosis._case import in_window, living, not_asked, unseen
from bot.diagnosis.flink_is_recovering import is_recovering
from bot.domain.diagnosis import Act, CannotTell, Case, Examined, Excluded, Matches, Mode, Remedy
from bot.domain.flink import JobRun
from bot.domain.ids import short, short_job
from bot.domain.looked import NotSeen

MODE = Mode(
    code="healthy",
    name="recovered_by_itself",
    title="nothing is wrong with the table",
    needs=("ledger", "duplicate_rows", "missing_positions"),
    false_positives=(
        "The V1 sink before it commits late: the table looks healthy and idle (F3).",
        "A fault below the window: widen it and ask again.",
    ),
    neighbours=("wait", "F3"),
    act=Act.TELL,
    remedies=(Remedy.NOTHING,),
)


def examine(case: Case) -> Examined:
    """Excluded by the first thing that is wrong; matches only when every source was looked at."""
    wrong = _wrong_rows(case) or _unbroken.break_in_chain(case) or _wrong_run(case)
    if wrong is not None:
        return Excluded(reason=wrong)
    missing = [
        not_asked(case, task)
        for task, found in (
            ("ledger", case.ledger),
            ("duplicate_rows", case.duplicates),
            ("missing_positions", case.gaps),
        )
        if found is None
    ]
    if isinstance(case.observation.jobs, NotSeen):
        missing.append(unseen(case.observation.jobs))
    alive = living(case)
    if missing or not alive:
        return CannotTell(missing=tuple(missing))
    return Matches(
        headline=f"Nothing is wrong: run {short_job(alive[-1].job_id)} goes on, and the table is complete "
        f"up to {short(case.window.until)}.",
        reasons=_reasons(case, alive[-1]),
        rows=tuple(row.snapshot_id for row in case.ledger.main) if case.ledger else (),
        last_good=case.observation.table.head,
        wrong_run=None,
        remedy=Remedy.NOTHING,
    )


def _wrong_rows(case: Case) -> str | None:
    if case.duplicates is not None and case.duplicates.keys:
        return f"{case.duplicates.keys} keys live more than once, {case.duplicates.extra_rows} rows too many."
    if case.gaps is not None and case.gaps.missing:
        return f"{case.gaps.missing} source positions between {case.gaps.lowest} and {case.gaps.highest} are missing."
    return None


def _wrong_run(case: Case) -> str | None:
    """What Flink says against it; None also when Flink was not seen."""
    if isinstance(case.observation.jobs, NotSeen):
        return None
    alive = living(case)
    if not alive:
        return "No run of the job is alive, so nobody writes the table now."
    if len(alive) > 1:
        return f"{len(alive)} runs of the job are alive at once: {', '.join(short_job(r.job_id) for r in alive)}."
    run = alive[0]
    if is_recovering(run, case.observation.table.read_at):
        return f"Run {short_job(run.job_id)} is {run.state} and has not settled yet: see `wait`."
    return _unbroken.silence(case, run)


def _reasons(case: Case, run: JobRun) -> tuple[str, ...]:
    commits = [s for s in in_window(case) if s.job_id]
    said = [_how_it_recovered(case, run)]
    if commits:
        first, last = commits[0], commits[-1]
        said.append(
            f"The checkpoint ids on main rise from {first.checkpoint_id} ({short(first.snapshot_id)}) to "
            f"{last.checkpoint_id} ({short(last.snapshot_id)}) without a repeat."
        )
    if case.duplicates is not None:
        said.append(f"No key lives twice among the {case.duplicates.rows_checked} rows that were checked.")
    if case.gaps is not None:
        said.append(f"No source position is missing between {case.gaps.lowest} and {case.gaps.highest}.")
    return tuple(said)


def _how_it_recovered(case: Case, run: JobRun) -> str:
    if run.restored is None:
        return (
            f"Run {short_job(run.job_id)} is RUNNING and was never restored; Flink lists {len(run.failures)} failures."
        )
    in_files = [max(row.attempts) for row in (case.ledger.rows if case.ledger else ()) if row.attempts]
    attempt = max([v.attempt for v in run.vertices] + in_files, default=0)
    return (
        f"Flink restored run {short_job(run.job_id)} from checkpoint {run.restored.checkpoint_id} at "
        f"{run.restored.at:%H:%M:%S} UTC, and every operator runs again (highest attempt {attempt})."
    )
