"""What no failure mode names and somebody should hear of all the same: silence, standstill, age, and being blind."""

from datetime import datetime, timedelta

from bot.diagnosis._support.case import committer_ids, leaves_out_empty_ones, living, longest_silence, sinks_of, time_in
from bot.diagnosis._support.may_commit_on import cause_now, may_commit_on, standstill
from bot.history.case import Case
from bot.history.checkpoint_pace import completed_at, interval_of, longest_of, usual_spacing
from bot.history.starts import flink_commits
from bot.incident.diagnosis import Remedy
from bot.incident.watch import WatchFinding
from bot.observation.flink import JobRun, cause_of
from bot.observation.ids import Severity, short, short_job
from bot.observation.looked import NotSeen
from bot.observation.sentences import clock_time

SOON = timedelta(hours=24)
"""A run's last snapshot that may expire so soon is told."""
_RUNBOOKS = {
    "no-advance": "no-new-data",
    "no-commit": "nothing-commits",
    "stale": "table-behind",
    "expiring": "job-will-not-restore",
}


def unnamed_signs(case: Case, grace_period: timedelta) -> tuple[WatchFinding, ...]:
    """All that hold. `grace_period`: how long a job may be down on purpose."""
    found = (_down(case, grace_period), _no_commit(case), _stale(case), _expiring(case))
    return tuple(each for each in found if each is not None)


def blind(what: NotSeen, since: datetime) -> WatchFinding:
    """The watch itself cannot see: that nothing is told then means nothing."""
    return _bare(
        "blind",
        what.source,
        f"Waterline has not been able to look at {what.source} since {clock_time(since, seconds=True)}.",
        (what.reason, "Until it can, it does not alert on what happens there. Silence does not mean that all is well."),
        what.remedy[:1].lower() + what.remedy[1:].rstrip("."),
        "sev3",
        is_urgent=False,
    )


def is_looping(case: Case) -> bool:
    """Whether a living run only fails, or does not come up."""
    return bool(living(case)) and standstill(case) is not None


def newest_run(case: Case) -> str:
    runs = living(case) or case.runs
    return runs[-1].job_id if runs else "nobody"


def _down(case: Case, grace_period: timedelta) -> WatchFinding | None:
    """Nobody writes the table any more, or a run only fails, and not just for a moment: until a lost machine is
    replaced, every attempt fails. A run that Flink has given up is told at once."""
    why = None if isinstance(case.observation.jobs, NotSeen) else standstill(case)
    if why is None:
        return None
    runs, now = case.runs, case.observation.table.read_at
    commits = flink_commits(case.observation.table)
    since = max([r.ended_at for r in runs if r.ended_at] + [s.committed_at for s in commits[-1:]], default=None)
    has_failed = bool(runs and runs[-1].state == "FAILED")
    if not has_failed and since is not None and now - since < grace_period:
        return None
    last = f"The newest commit is {short(commits[-1].snapshot_id)}, of {time_in(case, commits[-1].committed_at)}."
    failure = next((f for r in runs[-1:] for f in sorted(r.failures, key=lambda f: f.at, reverse=True)), None)
    cause = (
        (f"Its last failure was {failure.exception}. {cause_of(failure).in_words}",)
        if failure and has_failed and cause_now(case) is None
        else ()
    )
    doubt = may_commit_on(case)
    return _bare(
        "no-advance",
        newest_run(case),
        f"Nobody writes the table. {why}" if not is_looping(case) and doubt is None else why,
        (*((last,) if commits else ()), *cause, *((f"Not known is {doubt}.",) if doubt is not None else ())),
        "find out whether it was stopped on purpose; else restore the job, after its restore point was looked at",
        "sev2",
        is_urgent=True,
    )


def silent_for(case: Case) -> str | None:
    """A sentence when a run that is well commits nothing for longer than a healthy one can; None otherwise."""
    alive = living(case)
    if len(alive) != 1 or not alive[0].is_settled:
        return None
    run, table = alive[0], case.observation.table
    commits = flink_commits(table)
    allowed = _allowed_silence(case, run)
    began = max([run.started_at, *([run.restored.at] if run.restored else [])])
    since = max([began, *(s.committed_at for s in commits[-1:])])
    if allowed is None or table.read_at - since <= allowed:
        return None
    return f"Run {short_job(run.job_id)} is RUNNING, and has committed nothing since {time_in(case, since)}."


def _allowed_silence(case: Case, run: JobRun) -> timedelta | None:
    """Three times the promised cadence, and no less than what a sink without rows may take; None: nobody knows, or
    nothing was promised of a sink that leaves out what is empty."""
    promised, took = case.contract.commit_every, longest_of(run)
    spans = [3 * promised + took] if promised else []
    if not _leaves_out_empty_ones(case, run) and (every := case.contract.checkpoint_every or interval_of(run)):
        spans.append((longest_silence(case.observation.table) + 1) * usual_spacing(every, run) + took)
    return max(spans, default=None)


def _leaves_out_empty_ones(case: Case, run: JobRun) -> bool:
    return all(leaves_out_empty_ones(case, run, sink) for sink in sinks_of(case, run))


def _no_commit(case: Case) -> WatchFinding | None:
    silent = silent_for(case)
    if silent is None:
        return None
    run = living(case)[0]
    newest = next((c for c in run.checkpoints if c.status == "COMPLETED"), None)
    due = "" if _leaves_out_empty_ones(case, run) else "; even without rows a commit would have come by now"
    said = (
        f"Flink completed checkpoint {newest.checkpoint_id} at {time_in(case, completed_at(newest))}{due}."
        if newest is not None
        else "Flink lists no completed checkpoint of it."
    )
    advice = "look at its checkpoints and at the Flink manifests that wait"
    return _bare("no-commit", run.job_id, silent, (said,), advice, "sev2", is_urgent=True)


def _stale(case: Case) -> WatchFinding | None:
    """The newest event is older than promised, as far as evidence told of it; else the newest rows are, by the time of
    their commit: what they hold is older still."""
    table, promised = case.observation.table, case.contract.freshness
    newest = next((s for s in table.chain if s.counted("added-records")), None)
    if promised is None or newest is None:
        return None
    event = newest_event(case)
    if event is not None and table.read_at - event > promised:
        told = event
        reason = (
            f"No row has a later {case.contract.event_time}; {short(newest.snapshot_id)} is the newest commit with any."
        )
    elif table.read_at - newest.committed_at > promised:
        told = newest.committed_at
        reason = f"{short(newest.snapshot_id)} is the newest commit that added rows; what it holds is older still."
    else:
        return None
    of = "event is of" if told is event else "rows came at"
    headline = f"The newest {of} {time_in(case, told)}; {_span(promised)} are promised."
    advice = "look at the job, then at its source; tell the consumers if it lasts"
    return _bare("stale", "freshness", headline, (reason,), advice, "sev3", is_urgent=False)


def newest_event(case: Case) -> datetime | None:
    """The time of the newest event, as the evidence of a closer look told it; None where none has, or none could."""
    found = case.freshness
    if found is None or found.event_age_s is None:
        return None
    return case.observation.table.read_at - timedelta(seconds=found.event_age_s)


def _expiring(case: Case) -> WatchFinding | None:
    """The last snapshot of a living run may be expired before long: its next restart would fail (F8)."""
    alive = {run.job_id: run for run in living(case)}
    commits = case.table_health.last_commits if case.table_health else ()
    near = [c for c in commits if c.job_id in alive and c.snapshot_id is not None]
    near = [c for c in near if c.expires_within_s is not None and c.expires_within_s < SOON.total_seconds()]
    near = [c for c in near if not (ids := committer_ids(case, alive[c.job_id])) or c.operator_id in ids]
    if not near:
        return None
    first = min(near, key=lambda c: c.expires_within_s or 0)
    when = _span(timedelta(seconds=first.expires_within_s)) if first.expires_within_s else "now"
    return _bare(
        "expiring",
        f"{first.job_id}/{first.operator_id}",
        f"The last snapshot of run {short_job(first.job_id)}, {short(first.snapshot_id)}, may be expired "
        f"{'in ' if first.expires_within_s else ''}{when}.",
        ("No branch or tag keeps it. Without it a restart of the job takes its checkpoint for uncommitted and fails.",),
        Remedy.PROTECT_LAST_COMMIT.words,
        "sev3",
        is_urgent=False,
    )


def _bare(
    code: str,
    subject: str,
    headline: str,
    reasons: tuple[str, ...],
    advice: str,
    severity: Severity,
    *,
    is_urgent: bool,
) -> WatchFinding:
    return WatchFinding(
        code=code,
        subject=subject,
        headline=headline,
        reasons=reasons,
        advice=advice,
        severity=severity,
        runbook=_RUNBOOKS.get(code),
        is_urgent=is_urgent,
    )


def _span(span: timedelta) -> str:
    minutes = round(span.total_seconds() / 60)
    if minutes < 1:
        return f"{span.total_seconds():.0f} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"
