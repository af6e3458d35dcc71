"""Whether the run that is alive has passed what main has, by the source positions that the ledger tells of each commit.

A run that was restored from too far below still reads rows that main has. Copies that are taken out meanwhile are not
the last: what the job goes on from repeats the rest.
"""

from bot.actions._draft import live_run
from bot.domain.action import Plan
from bot.domain.diagnosis import Case
from bot.domain.errors import Refused
from bot.domain.flink import JobRun
from bot.domain.guests import commits_that_bind
from bot.domain.ids import short_job


def must_have_passed(plan: Plan) -> tuple[str, ...]:
    """What an approver must know where it cannot be told, sentences; none where the run has passed what main has, or is
    the only one that wrote it.

    Of a source of several partitions the ledger tells one range over all of them, which proves nothing here. A run that
    has committed nothing is not asked: the job is not started from what it leaves unless that pairs. Raises Refused
    where the run is still below, CouldNotLook when Flink was not seen.
    """
    live, case = live_run(plan), plan.case
    commits = commits_that_bind(case)
    by_live = {s.snapshot_id for s in commits if live is not None and s.job_id == live.job_id}
    if live is None or not by_live or len(by_live) == len(commits):
        return ()
    bound = {s.snapshot_id for s in commits} - case.observation.table.taken_out
    rows = [r for r in (case.ledger.rows if case.ledger else ()) if r.snapshot_id in bound and r.added_rows]
    told = {r.snapshot_id: r.position_until for r in rows if r.position_until is not None}
    own = [until for snapshot, until in told.items() if snapshot in by_live]
    if not own or len(told) < len(rows):
        return (_untold(live, "the ledger does not have the source positions of its commits"),)
    if case.contract.position_partition is not None:
        return (_untold(live, "the source has several partitions, and the ledger tells one range over all of them"),)
    if max(own) < max(told.values()):
        raise _below(case, live, max(own), max(told.values()))
    return ()


def _untold(live: JobRun, why: str) -> str:
    return (
        f"Whether run {short_job(live.job_id)} has passed all that main has is not known: {why}. If it was restored "
        "from too far below and still reads rows that main has, the job repeats the rest of them after this repair: "
        "wait until it has passed them, or rewind table and job."
    )


def _below(case: Case, live: JobRun, reached: int, highest: int) -> Refused:
    shown = not case.contract.hides(case.contract.position)
    up_to = f"source position {highest:,}" if shown else "a source position that is not shown"
    return Refused(
        f"Run {short_job(live.job_id)} still reads rows that main has: copies that are taken out now would not be the "
        "last.",
        f"Expected it to have passed all that main has of the job, up to {up_to}; it has committed up to "
        f"{f'{reached:,}' if shown else 'a lower one'}.",
        "Wait until it has passed that, collect the evidence again (`/waterline run ledger`, `/waterline run "
        "extra_copies`), and propose this again; or rewind table and job (`/waterline propose rewind_table_and_job`).",
    )
