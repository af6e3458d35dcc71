"""F4: a job was started without state under its old job id, and the V2 sink drops its commits.

`IcebergSink` asks the table for the newest checkpoint of that job id, also when nothing was restored, and discards
every id at or below it without a word (facts 0.7, F4).
"""

from bot.diagnosis._support.case import empty_starts, listed, run_of, unseen, writes_as_v1
from bot.diagnosis._support.leaks import came_again, can_be_appended, in_words, leaks_of, up_to
from bot.history.case import Case
from bot.history.empty_starts import EmptyStart
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.findings import LeakedManifest, LeakStanding
from bot.observation.flink import CheckpointKind
from bot.observation.ids import SnapshotId, short, short_job
from bot.observation.looked import NotSeen

MODE = Mode(
    code="F4",
    name="commits_dropped_after_empty_start",
    title="the job started without state under its old id, and its commits are dropped",
    needs=("leaked_manifests", "missing_positions"),
    false_positives=(
        "The V1 sink, which commits normally: its ids on main begin again at 1.",
        "A start whose first checkpoint is not complete yet.",
    ),
    neighbours={
        "F3": "There the run was restored, from below what is committed. Here Flink shows no restore at all.",
        "F11": "There a commit is only late and nothing is lost. Here the sink passes these checkpoints over for good.",
        "F15": "There the commits of the empty start arrive, under a new job id or with the V1 sink. Here "
        "the V2 sink drops them under the old id.",
        "F18": "There nobody ever wrote the missing rows. Here the sink had them and dropped them, as Flink "
        "manifests show.",
    },
    act=Act.RECOVER,
    remedies=(Remedy.RESTART_WITH_NEW_JOB_ID, Remedy.RECOVER_LEAKED_MANIFESTS, Remedy.REPLAY_SOURCE_RANGE),
)


def examine(case: Case) -> Examined:
    """Matches on a start without state, told by Flink, of a run whose id has committed more than it has counted."""
    if isinstance(case.observation.jobs, NotSeen):
        return CannotTell(missing=(unseen(case.observation.jobs),))
    starts = [s for s in empty_starts(case) if s.keeps_job_id and s.is_told_by_flink]
    if not starts:
        return Excluded(reason=_why_not(case))
    start = starts[-1]
    first = case.observation.table.by_id[start.first] if start.first else None
    if first is not None:
        if first.checkpoint_id is not None and first.checkpoint_id > start.reached:
            return _came_again(case, start) or _went_on(case, start, first.snapshot_id)
        return Excluded(
            reason=f"Run {short_job(start.run)} started without state and committed checkpoint {first.checkpoint_id} "
            f"at once, below the {start.reached} that it had reached: nothing was dropped; the V1 sink does so (F15)."
        )
    v1 = writes_as_v1(run_of(case, start.run), case.observation.table.by_id[start.last_before].operator_id)
    if v1:
        return Excluded(
            reason=f"Run {short_job(start.run)} started without state, but writes with the V1 sink, which then commits "
            "from its first checkpoint on (F15)."
        )
    if v1 is None and not _dropped(case, start):
        return CannotTell(missing=(f"the operators of run {short_job(start.run)} (Flink lists none)",))
    return _silent(case, start)


def _why_not(case: Case) -> str:
    other = next(iter(empty_starts(case)), None)
    if other is not None:
        return (
            f"Run {short_job(other.run)} started without state, but under a job id of its own, so no sink takes its "
            "checkpoints for committed (F15)."
            if not other.keeps_job_id
            else f"The ids of run {short_job(other.run)} begin again at 1 on main, so its commits arrive (F15)."
        )
    return "Flink shows no run that started without state after its job id had committed."


def _dropped(case: Case, start: EmptyStart) -> tuple[LeakedManifest, ...]:
    """The manifests that the sink passed over; empty where nobody looked or none is there."""
    return up_to(leaks_of(case, start.run, LeakStanding.DROPPED), start.reached)


def _silent(case: Case, start: EmptyStart) -> Matches:
    reasons = [
        *_how_it_started(start),
        *_completed(case, start),
        f"Nothing of it was committed since {short(start.last_before)}, and nothing will be until its ids pass "
        f"{start.reached}. What it read until then is lost to the table.",
        *_rows_said(case, start),
    ]
    return Matches(
        headline=f"Run {short_job(start.run)} started without state under its old id; its commits up to checkpoint "
        f"{start.reached} are dropped.",
        reasons=tuple(reasons),
        rows=(start.last_before,),
        last_good=start.last_before,
        wrong_run=start.run,
        remedy=Remedy.RESTART_WITH_NEW_JOB_ID,
    )


def _came_again(case: Case, start: EmptyStart) -> Excluded | None:
    dropped = _dropped(case, start)
    if not dropped or not all(came_again(leak, case) for leak in dropped):
        return None
    return Excluded(
        reason=f"Run {short_job(start.run)} started without state under its old id, and its commits up to checkpoint "
        f"{start.reached} were dropped; their rows were read again since: every position of them is in the table."
    )


def _went_on(case: Case, start: EmptyStart, first: SnapshotId) -> Matches:
    commit = case.observation.table.by_id[first]
    dropped = _dropped(case, start)
    return Matches(
        headline=f"Run {short_job(start.run)} started without state under its old id, and its commits up to checkpoint "
        f"{start.reached} were dropped.",
        reasons=(
            *_how_it_started(start),
            f"Its first commit {short(first)} carries checkpoint {commit.checkpoint_id}, the first above "
            f"{start.reached}: whatever it had read until then is in no snapshot.",
            *_rows_said(case, start),
        ),
        rows=(start.last_before, first),
        last_good=start.last_before,
        remedy=Remedy.RECOVER_LEAKED_MANIFESTS if can_be_appended(case, dropped) else Remedy.REPLAY_SOURCE_RANGE,
    )


def _how_it_started(start: EmptyStart) -> tuple[str, ...]:
    return (
        f"Flink says that run {short_job(start.run)} restored nothing, although the same job id had committed "
        f"checkpoint {start.reached} as {short(start.last_before)} before.",
        "The V2 sink takes every checkpoint id at or below that one for committed, and says nothing.",
    )


def _completed(case: Case, start: EmptyStart) -> tuple[str, ...]:
    run = run_of(case, start.run)
    ids = sorted(
        c.checkpoint_id
        for c in (run.checkpoints if run else ())
        if c.status == "COMPLETED"
        and c.kind is not CheckpointKind.SAVEPOINT
        and run
        and c.triggered_at >= run.started_at
    )
    return (f"Flink completed {listed(ids)} since that start, and no snapshot carries them for it.",) if ids else ()


def _rows_said(case: Case, start: EmptyStart) -> tuple[str, ...]:
    dropped = _dropped(case, start)
    if dropped:
        return (in_words(dropped),)
    if case.leaked is None:
        return ("Nobody has looked yet which Flink manifests were left on storage: they hold the dropped rows.",)
    if case.gaps is not None and case.gaps.missing and not case.gaps.is_untold:
        return (f"No dropped Flink manifest is on storage, and {case.gaps.missing} source positions are missing.",)
    return ("No dropped Flink manifest is on storage: so far it had no rows to lose, or a cleanup took them.",)
