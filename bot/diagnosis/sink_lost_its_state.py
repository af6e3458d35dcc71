"""F12: the sink came back under another uid, so the state that it owed to the table was dropped.

With `allowNonRestoredState` Flink leaves the old committer's state behind; the files of its last checkpoint are in a
Flink manifest that nobody commits any more (facts 1.1, F12).
"""

from collections.abc import Set
from itertools import pairwise

from bot.diagnosis._support.case import committer_ids, in_window, living, not_asked, unseen
from bot.diagnosis._support.leaks import came_again, can_be_appended, in_words
from bot.diagnosis._support.rightness import root_in_doubt
from bot.history.case import Case
from bot.history.other_jobs import commits_of_job
from bot.history.starts import flink_commits
from bot.history.unread_points import rows_of
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.findings import LeakedManifest, LeakStanding
from bot.observation.flink import FlinkManifest, JobRun
from bot.observation.ids import JobId, OperatorId, SnapshotId, short, short_job
from bot.observation.looked import NotSeen
from bot.observation.paths import may_be_same
from bot.observation.record import Record
from bot.observation.sentences import counted
from bot.observation.table import Snapshot


def of_another_sink(case: Case) -> str | None:
    """What is missing to know that nothing was owed where a manifest of an ended run waits for a restore under its own
    sink's id, and the living run has another, or one that it has not shown yet; None: none does."""
    alive = living(case)
    if len(alive) != 1 or alive[0].restored is None or case.leaked is None:
        return None
    run, known = alive[0], committer_ids(case, alive[0])
    owed = (leak for leak in case.leaked.of(LeakStanding.PENDING) if not leak.is_empty and leak.job_id != run.job_id)
    mine = {run.job_id for run in case.runs} | {s.job_id for s in commits_of_job(case)}
    open_ones = (leak for leak in owed if leak.job_id in mine and leak.operator_id not in known)
    leak = next((leak for leak in open_ones if known or leak.checkpoint_id <= alive[0].restored.checkpoint_id), None)
    if leak is None:
        return None
    whose = f"checkpoint {leak.checkpoint_id} of run {short_job(leak.job_id)}, whose sink was {leak.operator_id[:6]}"
    sink = f"whose sink is {next(iter(known))[:6]}" if known else "which has not shown its sink yet"
    return (
        f"whether the restore point of run {short_job(run.job_id)}, {sink}, still had to commit "
        f"{rows_of((leak,))} of {whose}: under another id they are lost. {leak.reason}"
    )


def left_since(case: Case) -> FlinkManifest | None:
    """A manifest by an ended run of the job that evidence has not seen."""
    known = {leak.path for leak in case.leaked.manifests} if case.leaked is not None else set()
    ended = {run.job_id for run in case.runs if run.is_terminal}
    listed = case.observation.flink_manifests.values
    return next((each for each in listed if each.path not in known and each.job_id in ended), None)


MODE = Mode(
    code="F12",
    name="sink_lost_its_state",
    title="the sink came back under another uid without the state that it had to commit",
    needs=("leaked_manifests",),
    false_positives=(
        "A uid that was changed on purpose to cure F7 or F8: then the old manifest's files are in the table.",
        "A second sink of the same job, which writes this table beside the first.",
    ),
    neighbours={
        "F3": "There the sink kept its operator id and skips its own checkpoints. Here it has another one "
        "and does not know the old one's manifests.",
        "F8": "There the last snapshot was expired and a restart fails. Here the job runs, under another operator id.",
        "F13": "There both writers commit on. Here the old operator id does not come back on main.",
    },
    act=Act.REPAIR,
    remedies=(Remedy.RECOVER_LEAKED_MANIFESTS, Remedy.REPLAY_SOURCE_RANGE),
)


class Change(Record):
    """The sink's operator id `before` gave way to `after`."""

    before: OperatorId
    after: OperatorId | None
    """None where the new sink has committed nothing and Flink does not show its id."""
    last: SnapshotId
    """The last commit under the old id."""
    first: SnapshotId | None
    shown_by: str
    """One sentence."""


def examine(case: Case) -> Examined:
    """Matches when the operator id changed and a manifest under the old one was never committed."""
    changes, jobs = _changes(case), case.observation.jobs
    if not changes and isinstance(jobs, NotSeen):
        return CannotTell(missing=(unseen(jobs),))
    if case.leaked is None:
        return CannotTell(missing=(not_asked(case, "leaked_manifests"),))
    if (silent := _silent_change(case)) is not None:
        changes.append(silent)
    left = [(change, owed) for change in changes if (owed := _owed(case, change))] or _shown_by_manifests(case)
    kept = ((change, tuple(leak for leak in owed if came_again(leak, case) is not True)) for change, owed in left)
    owing = [(change, owed) for change, owed in kept if owed]
    if owing:
        return _matches(case, owing)
    if isinstance(jobs, NotSeen):
        return CannotTell(missing=(unseen(jobs),))
    if (waiting := of_another_sink(case)) is not None:
        return CannotTell(missing=(waiting,))
    if (unseen_yet := left_since(case)) is not None:
        said = f"checkpoint {unseen_yet.checkpoint_id} of run {short_job(unseen_yet.job_id)}"
        missing = f"leaked_manifests, once more: a Flink manifest of {said} came since it looked"
        return CannotTell(missing=(missing,), asks=("leaked_manifests",))
    if left:
        return root_in_doubt(case) or Excluded(
            reason=f"{left[-1][0].shown_by} What it still had to commit was read again: every source "
            "position of it is in the table."
        )
    if not changes:
        return Excluded(
            reason="All commits by Flink in the window, and Flink's graph, name one operator id for the sink."
        )
    newest = changes[-1]
    return Excluded(
        reason=f"{newest.shown_by} But no Flink manifest above {short(newest.last)} is left under the old id: it "
        "had nothing left to commit, as when a uid is changed on purpose."
        + ("" if len(changes) == 1 else f" Nor was anything left at {counted(len(changes) - 1, 'earlier change')}.")
    )


def _changes(case: Case) -> list[Change]:
    """Every change on main in the window, oldest first."""
    inside = {s.snapshot_id for s in in_window(case)}
    commits = [s for s in flink_commits(case.observation.table) if s.operator_id is not None]
    under = {(s.job_id, s.operator_id) for s in commits}
    later: set[tuple[JobId | None, OperatorId | None]] = set()
    found = []
    for before, after in reversed(list(pairwise(commits))):
        later.add((after.job_id, after.operator_id))
        if after.snapshot_id in inside and _gave_way(case, before, after, under, later):
            found.append(_change(before, after))
    return found[::-1]


def _gave_way(
    case: Case,
    before: Snapshot,
    after: Snapshot,
    under: Set[tuple[JobId | None, OperatorId | None]],
    later: Set[tuple[JobId | None, OperatorId | None]],
) -> bool:
    """Whether the old id commits no more; or only under a run that began after one that had another id alone. One that
    commits on is a second sink of the job, or another job's. `under`, `later`: (run, id) of all commits, and of those
    from `after` on."""
    if all(operator != before.operator_id for _run, operator in later):
        return True
    both = {(after.job_id, before.operator_id), (before.job_id, after.operator_id)}
    is_foreign = after.job_id in {run.job_id for run in case.observation.undeclared}
    return (before.job_id, before.operator_id) not in later and not both & under and not is_foreign


def _change(before: Snapshot, after: Snapshot) -> Change:
    assert before.operator_id is not None
    assert after.operator_id is not None
    return Change(
        before=before.operator_id,
        after=after.operator_id,
        last=before.snapshot_id,
        first=after.snapshot_id,
        shown_by=f"Up to {short(before.snapshot_id)} the sink's operator id was {short_job(before.operator_id)}, "
        f"from {short(after.snapshot_id)} on it is {short_job(after.operator_id)}.",
    )


def _silent_change(case: Case) -> Change | None:
    """A restored run whose sink has another id than the last one on main, or shows none and goes on without having
    committed what the state it came from still owed."""
    run = next(reversed(case.runs), None)
    newest = next(reversed(flink_commits(case.observation.table)), None)
    if run is None or run.restored is None or newest is None or newest.operator_id is None:
        return None
    restored = run.restored
    committers = committer_ids(case, run)
    went_on = any(c.status == "COMPLETED" and c.triggered_at > restored.at for c in run.checkpoints)
    if newest.committed_at > restored.at or not (went_on or committers) or newest.job_id == run.job_id:
        return None
    if newest.operator_id in committers:
        return None
    since = (
        f"and its sink is {next(iter(committers))[:6]}, no longer {newest.operator_id[:6]}"
        if committers
        else "and has completed checkpoints since, without committing what was pending in the state it came from"
    )
    return Change(
        before=newest.operator_id,
        after=next(iter(committers), None),
        last=newest.snapshot_id,
        first=None,
        shown_by=f"Run {short_job(run.job_id)} was restored from checkpoint {restored.checkpoint_id}, {since}.",
    )


def _owed(case: Case, change: Change) -> tuple[LeakedManifest, ...]:
    """The old id's manifests above its last commit that no run will commit."""
    last = case.observation.table.by_id[change.last]
    lost = case.leaked.of(LeakStanding.LOST_STATE) if case.leaked else ()
    return tuple(
        leak
        for leak in lost
        if leak.operator_id == change.before
        and leak.job_id == last.job_id
        and leak.checkpoint_id > (last.checkpoint_id or 0)
        and not leak.is_empty
    )


def _shown_by_manifests(case: Case) -> list[tuple[Change, tuple[LeakedManifest, ...]]]:
    """Where neither main nor Flink's graph shows another id: a run was restored from a checkpoint of another that owed
    a manifest, and its sink committed nothing of it. So of a run that is silent, and after one that never had a
    commit."""
    commits, found = commits_of_job(case), list[tuple[Change, tuple[LeakedManifest, ...]]]()
    for leak in case.leaked.of(LeakStanding.LOST_STATE) if case.leaked is not None else ():
        same = [s for s in commits if s.job_id == leak.job_id and s.operator_id in (None, leak.operator_id)]
        is_committed = any((s.checkpoint_id or 0) >= leak.checkpoint_id for s in same)
        heir = next((run for run in case.runs if _owed_in_state(case, run, leak)), None)
        if heir is None or heir.restored is None or leak.is_empty or is_committed:
            continue
        before = same or [s for s in commits if s.committed_at <= heir.restored.at]
        if before:
            last = before[-1].snapshot_id
            change = Change(before=leak.operator_id, after=None, last=last, first=None, shown_by=leak.reason)
            found.append((change, (leak,)))
    return found


def _owed_in_state(case: Case, run: JobRun, leak: LeakedManifest) -> bool:
    """Whether the committer's state in the point from which the run was restored lists the manifest."""
    path, name = run.restored.path if run.restored is not None else None, leak.path.rsplit("/", 1)[-1]
    if path is None or run.job_id == leak.job_id:
        return False
    points = case.observation.checkpoints.values
    return any(name in point.pending_manifests and may_be_same(path, point.path) for point in points)


def _matches(case: Case, owing: list[tuple[Change, tuple[LeakedManifest, ...]]]) -> Matches:
    """`owing`: changes and what each left behind, oldest first."""
    owed = tuple(leak for _change, left in owing for leak in left)
    appendable = can_be_appended(case, owed)
    return Matches(
        headline=f"The sink came back under another uid, and {rows_of(owed)} pending in its old state were never "
        "committed.",
        reasons=(
            *(said for change, left in owing for said in (change.shown_by, in_words(left))),
            "The source went on behind these rows, so no restart reads them again. Append them once, and only if "
            "their keys are not in the table."
            if appendable
            else "They cannot be appended as they are: replay what is missing of their source range.",
        ),
        rows=tuple(s for change, _left in owing for s in (change.last, change.first) if s is not None),
        last_good=owing[0][0].last,
        remedy=Remedy.RECOVER_LEAKED_MANIFESTS if appendable else Remedy.REPLAY_SOURCE_RANGE,
    )
