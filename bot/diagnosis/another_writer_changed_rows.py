"""F21: something that is not the job added, deleted or overwrote rows of the table.

The job does not notice: its next checkpoint is committed on top. A compaction is no such change while it keeps its
rows; one that loses rows is.
"""

from bot.diagnosis._support.case import in_window, not_asked
from bot.diagnosis._support.other_writers import (
    COMPARES,
    changes_by_others,
    lost_by,
    unknown_pick,
    unknown_writer,
    unsettled_compactions,
)
from bot.history.case import Case
from bot.history.other_jobs import OtherJobs
from bot.history.other_writers import converted_from, name_of, origin_of, picked_from
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.ids import short
from bot.observation.table import Snapshot

MODE = Mode(
    code="F21",
    name="another_writer_changed_rows",
    title="another writer changed rows of the table",
    needs=("ledger",),
    asks_for=(COMPARES,),
    false_positives=(
        "A deletion or backfill that was announced (privacy requests, corrections).",
        "A writer that leaves no Flink job id, such as Flink CDC or Kafka Connect, and is meant to write.",
        "A commit of the job that a responder applied again: a cherry-pick keeps no job id, but names its source.",
    ),
    planned_as=("Announced deletion or correction", "Planned backfill", "Writer that is meant to be there"),
    neighbours={
        "F1": "There a checkpoint or file that was on main already is there a second time. Here a commit "
        "that is not the job's changed rows.",
        "F6": "There main was set back, and no commit did it. Here a commit on main changed rows.",
        "F13": "There two runs bring the same rows. Here the other writer leaves no Flink job id, or is another Flink "
        "job that took rows off.",
        "F18": "There nobody ever wrote the missing rows. Here they may have been there until this commit "
        "took them off.",
        "F23": "There only the schema changed, and new columns stay empty. Here rows were added, deleted or "
        "overwritten.",
    },
    act=Act.CONTAIN,
    remedies=(Remedy.STOP_CULPRIT, Remedy.VERIFY_CURRENT_STATE),
)


def examine(case: Case) -> Examined:
    """Matches on commits on main without a Flink job id, compactions that keep their rows apart, and what
    puts a commit of the job back; and on another Flink job's commits that took rows off."""
    if case.ledger is None:
        return CannotTell(missing=(not_asked(case, "ledger"),))
    foreign = changes_by_others(case)
    if not foreign:
        unknown = unknown_pick(case)
        if unknown is not None:
            return CannotTell(missing=(unknown,))
        return unsettled_compactions(case) or Excluded(reason=_why_not(case))
    if (untold := unknown_writer(case)) is not None:
        return CannotTell(missing=(untold,))
    return _matches(case, foreign)


def _matches(case: Case, foreign: tuple[Snapshot, ...]) -> Matches:
    table, first = case.observation.table, foreign[0]
    writers = list(dict.fromkeys(_writer(case, s) for s in foreign))
    reasons = [_said(case, s) for s in foreign[:3]]
    if len(foreign) > 3:
        reasons.append(f"{len(foreign) - 3} more such commits follow, the last {short(foreign[-1].snapshot_id)}.")
    newer = [s for s in in_window(case) if table.place_of(s.snapshot_id) > table.place_of(first.snapshot_id)]
    other_jobs = OtherJobs(case)
    later = [s for s in newer if s.job_id and s not in foreign and not other_jobs.has(s)]
    if later:
        came = "1 commit of the job came" if len(later) == 1 else f"{len(later)} commits of the job came"
        reasons.append(f"{came} on top of it, so going back means to write these rows again.")
    commits = "commit" if len(foreign) == 1 else "commits"
    return Matches(
        headline=f"{len(foreign)} {commits} in the window changed rows and {'is' if len(foreign) == 1 else 'are'} not "
        f"by the job, but by {', '.join(writers[:3])}.",
        reasons=tuple(reasons),
        rows=tuple(s.snapshot_id for s in foreign),
        last_good=first.parent_id,
        newest_wrong=foreign[-1].snapshot_id,
        remedy=Remedy.STOP_CULPRIT,
    )


def _said(case: Case, snapshot: Snapshot) -> str:
    lost = lost_by(case, snapshot)
    source = picked_from(snapshot)
    picked = f" (a cherry-pick of {short(source)})" if source is not None else ""
    counts = [
        f"{snapshot.counted(key)} {word}"
        for key, word in (
            ("added-records", "rows added"),
            ("deleted-records", "rows deleted with their files"),
            ("added-position-deletes", "rows deleted by position"),
            ("added-equality-deletes", "keys deleted"),
        )
        if snapshot.counted(key)
    ]
    what = f"a compaction that lost {lost} rows" if lost else f"operation {snapshot.operation}"
    return (
        f"{short(snapshot.snapshot_id)} at {snapshot.committed_at:%Y-%m-%d %H:%M:%S} UTC by {_writer(case, snapshot)}"
        f"{picked}: {what}, {', '.join(counts) or 'no counter tells how many rows'}."
    )


def _is_of_job(case: Case, snapshot: Snapshot) -> bool:
    origin = origin_of(case.observation.table, snapshot)
    return origin is not None and origin.job_id is not None


def _writer(case: Case, snapshot: Snapshot) -> str:
    """Who wrote the change; of a cherry-pick, who had staged it."""
    return name_of(origin_of(case.observation.table, snapshot) or snapshot)


def _why_not(case: Case) -> str:
    commits = in_window(case)
    picked = [s for s in commits if s.job_id is None and picked_from(s) and _is_of_job(case, s)]
    if picked:
        return (
            f"{short(picked[0].snapshot_id)} is no change of its own: it is a cherry-pick of "
            f"{short(picked_from(picked[0]))}, a commit of the job."
        )
    converted = [s for s in commits if s.job_id is None and converted_from(s) is not None]
    if converted:
        return (
            f"{short(converted[0].snapshot_id)} is Iceberg's own maintenance: it turned equality deletes of "
            f"{short(converted_from(converted[0]))}, a commit of the job, into deletion vectors."
        )
    compactions = [s for s in commits if s.operation == "replace"]
    if compactions:
        return (
            f"Every commit in the window carries a Flink job id, apart from compactions ({len(compactions)}), which "
            "kept their rows."
        )
    return f"Every one of the {len(commits)} commits in the window carries a Flink job id."
