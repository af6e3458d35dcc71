"""Whether the evidence that a mode rests on was collected, answered, and still holds of the table as it is now.

Whether a run was restored from below its own newest commit, where two clocks lie too close to tell.
"""

from datetime import datetime, timedelta

from bot.diagnosis._support.case import has_all_that_is_untold, in_window, living, not_asked, rewinds_in, time_in
from bot.history.case import Case
from bot.history.staleness import is_just_given, manifests_since, stale_reason
from bot.history.starts import flink_commits, untold_rewind
from bot.observation.evidence import Evidence, Verdict
from bot.observation.findings import LeakStanding
from bot.observation.flink import CLOCKS_DIFFER, JobRun, came_before
from bot.observation.ids import SnapshotId, short, short_job
from bot.observation.sentences import clock_time, counted
from bot.observation.table import TableState

_FIELDS = {
    "ledger": "ledger",
    "duplicate_rows": "duplicates",
    "missing_positions": "gaps",
    "duplicate_commits": "duplicate_commits",
    "leaked_manifests": "leaked",
    "unreadable_files": "unreadable",
    "missing_files": "missing_files",
    "orphan_files": "orphans",
    "schema_drift": "schema_drift",
    "freshness": "freshness",
    "replayed_rows": "replayed",
    "duplicate_files": "duplicate_files",
    "table_health": "table_health",
    "checkpoint_pairing": "pairing",
}
"""Evidence task -> field of the case that keeps what it found."""
HOLDS_FOR = timedelta(minutes=10)
"""So long an accusation of storage is said again without another look."""


def lacking(case: Case, *tasks: str, whole: bool = False) -> tuple[str, ...]:
    """The tasks that gave no answer, or whose answer no longer holds, each with the reason; empty: rely on all.

    `whole`: for who vouches for what was not seen either, an answer that is inconclusive is none, whatever it found.
    """
    missing = []
    for task in tasks:
        if getattr(case, _FIELDS[task]) is None or (whole and _is_open(case, task)):
            missing.append(not_asked(case, task))
        elif (outdated := _outdated(case, task)) is not None:
            missing.append(f"{task}, once more ({outdated})")
    return tuple(missing)


def answers(case: Case, task: str) -> bool:
    """Whether the task has answered as a whole, and its answer still holds."""
    return not lacking(case, task, whole=True)


def saw_all(case: Case, *tasks: str) -> bool:
    """Whether none of these tasks says that there was something it could not look at, whatever it found."""
    return not any(evidence.could_not_look for task in tasks if (evidence := _latest(case, task)) is not None)


def unasked(case: Case, *tasks: str) -> tuple[str, ...]:
    """Of these tasks those that have not run, or ran of the table as it no longer is: another run may tell more."""
    return tuple(task for task in tasks if _latest(case, task) is None or _outdated(case, task) is not None)


def too_early_for(case: Case, task: str, moment: datetime) -> str | None:
    """When it was looked at (`12:02 UTC`), where that was before this moment, so that what the task found says nothing
    of what came up to then; None: it says it, or nothing tells when it was looked at. An answer of just now is taken
    for one of now."""
    evidence, now = _latest(case, task), case.observation.table.read_at
    if evidence is None or evidence.at >= moment or is_just_given(evidence, now):
        return None
    return clock_time(evidence.at, now)


def why_again(case: Case, task: str) -> str | None:
    """Why what the task accused the table of has to be looked at once more before it is said again; None: it holds, or
    nothing tells when it was looked at. Of files on storage, which come back without a trace in the table."""
    evidence, table = _latest(case, task), case.observation.table
    if evidence is None:
        return None
    if (changed := stale_reason(evidence, case)) is not None:
        return changed
    if table.read_at - evidence.at > HOLDS_FOR:
        return f"It was looked at {clock_time(evidence.at, table.read_at)}, and files can come back."
    return None


def rows_were_read_again(case: Case) -> bool:
    """Whether there are Flink manifests that are untold by themselves, and missing_positions, whose answer still
    holds, found every position of theirs in the table."""
    return has_all_that_is_untold(case) and answers(case, "missing_positions")


def gave_nothing(case: Case, task: str) -> bool:
    """Whether somebody had the task run, and it could not answer at all."""
    evidence = _latest(case, task)
    return evidence is not None and evidence.verdict is Verdict.INCONCLUSIVE and evidence.finding is None


def looked_later(case: Case, task: str, than: str) -> bool:
    """Whether the task has answered after the other one, and its answer still holds."""
    one, other = _latest(case, task), _latest(case, than)
    return one is not None and other is not None and one.at > other.at and answers(case, task)


def checked_until(case: Case, *tasks: str) -> SnapshotId | None:
    """The newest commit that all these answers cover: none looked above the end of its window. The head where nothing
    tells when they were given."""
    table = case.observation.table
    given = [e for task in tasks if (e := _latest(case, task)) is not None]
    ends = {end for e in given for end in (e.head, e.window.until)}
    place = {s.snapshot_id: age for age, s in enumerate(table.chain)}
    return max((end for end in ends if end in place), key=lambda end: place[end], default=table.head)


def reaches_head(case: Case) -> bool:
    """Whether the window ends at the head, so that its evidence may speak of the table as it is now."""
    return case.window.until == case.observation.table.head


def _is_open(case: Case, task: str) -> bool:
    """Whether the task could not answer: what it found so far does not tell what it did not see. Where no Flink
    manifest lies on storage, none is left whose fate a source that was not seen could tell; and where all was seen,
    and every position of the manifests that are untold is live, their rows were read again."""
    evidence = _latest(case, task)
    if task == "leaked_manifests" and case.leaked is not None:
        if not case.leaked.manifests:
            return False
        if case.leaked.of(LeakStanding.UNTOLD):
            return bool(evidence and evidence.could_not_look) or not rows_were_read_again(case)
    return evidence is not None and evidence.verdict is Verdict.INCONCLUSIVE


def _outdated(case: Case, task: str) -> str | None:
    on_main = case.observation.table.chain_ids
    gone = next((r for r in (case.ledger.main if case.ledger else ()) if r.snapshot_id not in on_main), None)
    if gone is not None:
        return f"Commit {short(gone.snapshot_id)}, which the ledger lists, is no longer on main."
    evidence = _latest(case, task)
    if evidence is None:
        return None
    if not _reaches_down(case, evidence):
        return "It was asked for a shorter window."
    if task == "leaked_manifests" and (came := _manifests_since(case, evidence)):
        return f"{counted(came, 'Flink manifest')} that it has not seen {'lies' if came == 1 else 'lie'} on storage."
    return stale_reason(evidence, case)


def _manifests_since(case: Case, evidence: Evidence) -> int:
    if case.leaked is None or is_just_given(evidence, case.observation.table.read_at):
        return 0
    return len(manifests_since(case.leaked, case.observation))


def _latest(case: Case, task: str) -> Evidence | None:
    return next((e for e in reversed(case.evidence) if e.task == task), None)


def _reaches_down(case: Case, evidence: Evidence) -> bool:
    """Whether the evidence's window begins where the case's does, or below."""
    asked, wanted = evidence.window.since, case.window.since
    return asked is None or asked == wanted or asked in _below(case.observation.table, wanted)


def _below(table: TableState, snapshot: SnapshotId | None) -> frozenset[SnapshotId]:
    return frozenset(s.snapshot_id for s in table.ancestors(snapshot))


def untold_order(case: Case) -> str | None:
    """What is missing to know that a living run was not restored from below its own newest commit; None: nothing is.

    Once it has committed on, and no position is missing, it was not: a sink that skips commits would leave a hole.
    """
    inside = {s.snapshot_id for s in in_window(case)}
    rewound = {rewind.run for rewind in rewinds_in(case) if rewind.keeps_job_id}
    for run in (run for run in living(case) if run.job_id not in rewound):
        commit = untold_rewind(case.observation.table, run)
        if commit is None or commit.snapshot_id not in inside or run.restored is None:
            continue
        if (
            _went_on(case, run)
            and case.gaps is not None
            and not case.gaps.missing
            and answers(case, "missing_positions")
        ):
            continue
        return (
            f"whether {short(commit.snapshot_id)}, checkpoint {commit.checkpoint_id}, came before or after Flink "
            f"restored run {short_job(run.job_id)} from checkpoint {run.restored.checkpoint_id}: the times, "
            f"{time_in(case, commit.committed_at)} and {time_in(case, run.restored.at)}, are of two clocks, which may "
            f"differ by {CLOCKS_DIFFER.seconds} seconds, and Flink does not list that checkpoint"
        )
    return None


def _went_on(case: Case, run: JobRun) -> bool:
    mine = [s for s in flink_commits(case.observation.table) if s.job_id == run.job_id]
    return bool(mine) and came_before(mine[-1], run) is False
