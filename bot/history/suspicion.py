"""Which commits an incident should look at first, and which snapshot to pin consumers to meanwhile.

The window is told by metadata alone: the newest doubtful restart or rollback marks its edge.
"""

from collections.abc import Sequence
from itertools import islice

from bot.history.case import Case
from bot.history.empty_starts import EmptyStart, empty_starts
from bot.history.other_jobs import case_of
from bot.history.rewinds import rewinds_of
from bot.history.rollbacks import Rollback
from bot.history.rolled_back import KnownOutcome, Outcome, rollbacks_of
from bot.history.starts import Rewind
from bot.observation.evidence import Observation
from bot.observation.flink import JobRun
from bot.observation.ids import SnapshotId, short, short_job
from bot.observation.looked import NotSeen, Seen
from bot.observation.record import Record
from bot.observation.sentences import counted
from bot.observation.table import EMPTY, TableState, Window


class Suspicion(Record):
    """A window to open an incident with. Metadata only: evidence has yet to look."""

    window: Window
    trusted: SnapshotId | None
    """The newest snapshot below the suspected fault; None when the fault reaches below all that is listed."""
    because: str
    """One sentence, with ids."""


LOOK_BACK = 20
"""Commits below a restart, or below the head, that are looked at when nothing marks an earlier edge."""


def propose_window(table: TableState, jobs: Seen[JobRun] | NotSeen) -> Suspicion:
    """The window and trusted snapshot for a new incident. Cost: none, all is in hand.

    Nothing at or below a waterline that was verified (`waterline.status=trusted`) is suspected again.
    Of a table without a commit on main the window is empty, and nothing is trusted.
    """
    unasked = f" Flink was not asked ({jobs.reason})." if isinstance(jobs, NotSeen) else ""
    if table.head is None:
        return Suspicion(window=EMPTY, trusted=None, because=f"Main has no commits.{unasked}")
    floor = _floor(table)
    rewound = _by_rewind(table, floor, table.head, jobs)
    gone_back = _of_both(table, rewound, _by_rollback(table, floor, table.head, jobs))
    told = (
        _of_both(table, gone_back, _by_empty_start(table, floor, table.head, jobs.values))
        or _by_failover(table, floor, table.head, jobs.values)
        or Suspicion(
            window=Window(since=_back(table, table.head, LOOK_BACK), until=table.head),
            trusted=table.head,
            because=f"The metadata shows nothing suspicious up to the head {short(table.head)}.",
        )
    )
    return told.model_copy(update={"because": told.because + unasked})


def _floor(table: TableState) -> frozenset[SnapshotId]:
    """What is proven: the waterline and its ancestors, if it is on main and was verified."""
    tagged = table.waterline
    if table.properties.get("waterline.status") != "trusted" or tagged not in table.chain_ids:
        return frozenset()
    return frozenset(s.snapshot_id for s in table.ancestors(tagged))


def _by_rewind(
    table: TableState, floor: frozenset[SnapshotId], head: SnapshotId, jobs: Seen[JobRun] | NotSeen
) -> Suspicion | None:
    found = next((r for r in rewinds_of(case_of_table(table, jobs)) if r.first not in floor), None)
    if found is None:
        return None
    return Suspicion(
        window=Window(since=found.fork, until=head), trusted=found.last_before, because=_rewind_in_words(found)
    )


def _rewind_in_words(found: Rewind) -> str:
    whence = f"from checkpoint {found.restored}" if found.restored is not None else "from an older point of its state"
    whose = "it" if found.keeps_job_id else f"run {short_job(found.earlier)}"
    so_far = "It has committed nothing since." if found.first is None else f"Its first commit is {short(found.first)}."
    return (
        f"Run {short_job(found.run)} was restored {whence} although {whose} had committed checkpoint {found.reached}. "
        f"{so_far}{_only_if(found)}"
    )


def _only_if(found: Rewind) -> str:
    if found.only_if_of_job is None:
        return ""
    return (
        f" Whether it was restored from too far back depends on whether run {short_job(found.only_if_of_job)} is the "
        "job's, which Flink does not list."
    )


def _by_empty_start(
    table: TableState, floor: frozenset[SnapshotId], head: SnapshotId, runs: Sequence[JobRun]
) -> Suspicion | None:
    """Of one that is silent main shows nothing yet. Two commits of checkpoint 1 by one run are no start by themselves:
    a commit may be made twice."""
    for found in empty_starts(table, runs):
        is_doubtful = found.keeps_job_id and found.reached == 1 and not found.is_told_by_flink
        if found.first is None or found.first in floor or is_doubtful:
            continue
        below = table.by_id[found.first].parent_id
        return Suspicion(window=Window(since=below, until=head), trusted=below, because=_empty_start_in_words(found))
    return None


def _empty_start_in_words(found: EmptyStart) -> str:
    whose = "it" if found.keeps_job_id else f"run {short_job(found.earlier)}"
    return (
        f"Run {short_job(found.run)} was started without state although {whose} had committed checkpoint "
        f"{found.reached}. Its first commit is {short(found.first)}."
    )


def _of_both(table: TableState, one: Suspicion | None, other: Suspicion | None) -> Suspicion | None:
    """What trusts less, in a window that holds both."""
    if one is None or other is None:
        return one or other
    lower = min(one, other, key=lambda each: table.place_of(each.trusted))
    since = min(one.window.since, other.window.since, key=table.place_of)
    return lower.model_copy(update={"window": lower.window.model_copy(update={"since": since})})


def _by_rollback(
    table: TableState, floor: frozenset[SnapshotId], head: SnapshotId, jobs: Seen[JobRun] | NotSeen
) -> Suspicion | None:
    """One of which nothing shows any more what came of it counts only near the head: any failover of a run makes that
    of all rollbacks below it."""
    waterline = table.waterline if floor else None
    proven = floor - {waterline} if waterline is not None else floor
    near = frozenset(s.snapshot_id for s in islice(table.chain, LOOK_BACK + 1))
    told = ((r, told) for r, told in rollbacks_of(case_of_table(table, jobs)) if r.target not in proven)
    doubtful = ((r, told.outcome) for r, told in told if _is_unexplained(r, told, jobs))
    found = next((r for r, outcome in doubtful if outcome in {Outcome.HELD, Outcome.NOBODY} or r.target in near), None)
    if found is None:
        return None
    return Suspicion(
        window=Window(since=found.target, until=head),
        trusted=found.target,
        because=f"Main was rolled back to {short(found.target)} and lost {counted(len(found.left), 'commit')}, up to "
        f"{short(found.left[-1])}.",
    )


def _is_unexplained(found: Rollback, told: KnownOutcome, jobs: Seen[JobRun] | NotSeen) -> bool:
    """Whether no restored run shows that the rollback was meant: while Flink cannot be asked, none does."""
    if told.outcome is Outcome.NOBODY:
        return not set(found.runs) <= {run.job_id for run in jobs.values if run.is_terminal}
    is_by_ids = told.outcome is Outcome.READ_AGAIN and isinstance(jobs, NotSeen)
    return is_by_ids or told.outcome in {Outcome.HELD, Outcome.UNTOLD}


def case_of_table(table: TableState, jobs: Seen[JobRun] | NotSeen) -> Case:
    """One in which nothing but these is known."""
    nothing = NotSeen(source="nothing else", reason="It was not asked.", remedy="Ask for it.")
    return case_of(Observation(table=table, jobs=jobs, checkpoints=nothing, reads=nothing))


def _by_failover(
    table: TableState, floor: frozenset[SnapshotId], head: SnapshotId, runs: Sequence[JobRun]
) -> Suspicion | None:
    restored = [(run.restored.at, run.job_id, run.restored) for run in runs if run.restored]
    if not restored:
        return None
    at, job_id, point = max(restored, key=lambda one: (one[0], one[1]))
    last = next((s for s in table.chain if s.committed_at < at or s.snapshot_id in floor), None)
    if last is None or head in floor:
        return None
    return Suspicion(
        window=Window(since=_back(table, last.snapshot_id, LOOK_BACK), until=head),
        trusted=last.snapshot_id,
        because=f"Run {short_job(job_id)} was restored from checkpoint {point.checkpoint_id} at "
        f"{at:%Y-%m-%d %H:%M:%S} UTC; {short(last.snapshot_id)} is the last commit before that.",
    )


def _back(table: TableState, of: SnapshotId, commits: int) -> SnapshotId | None:
    """The ancestor `commits` below `of`; None when fewer are listed (then from the first one)."""
    below = next(islice(table.ancestors(of), commits, None), None)
    return below.snapshot_id if below is not None else None
