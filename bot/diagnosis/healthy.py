"""`healthy`: the job runs, main is an unbroken chain, and evidence has looked for rows that are lost or doubled.

This is the one mode that says that nothing is to be done, so everything that it rests on must have been looked at, and
must still hold of the table. It says no more than was looked at: the table is complete from where the window begins up
to the newest commit that all the evidence covers, between the lowest and the highest source position there; files of
older commits were tried only where somebody asked `missing_files`, which looks at all of the table. Without a column
of source positions nobody can show that no row is missing: then it cannot tell. Rows are what it speaks of: a rescale
beside it, or checkpoints that failed and were followed by one that completed, change nothing (F19, F20). It speaks of
main alone, so it cannot tell of a job that writes another branch.
"""

from bot.diagnosis._support.arrivals import checkpoint_silence, read_past_main, silence, untold_silence
from bot.diagnosis._support.asked import answers, reaches_head
from bot.diagnosis._support.case import at_position, living, time_in
from bot.diagnosis._support.may_commit_on import stuck
from bot.diagnosis._support.rightness import ASKS_FOR, RESTS_ON, begins_above, proven
from bot.diagnosis.checkpoints_failed import fails_in_a_row
from bot.diagnosis.flink_is_recovering import is_recovering
from bot.history.case import Case
from bot.history.counted import Counted
from bot.history.proof import Right
from bot.incident.diagnosis import HEALTHY, Act, CannotTell, Examined, Excluded, LastGoodRows, Matches, Mode, Remedy
from bot.observation.flink import JobRun
from bot.observation.ids import SnapshotId, short, short_job
from bot.observation.ledger import Ledger
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted

MODE = Mode(
    code=HEALTHY,
    name="healthy",
    title="nothing is wrong with the table",
    needs=RESTS_ON,
    asks_for=ASKS_FOR,
    false_positives=(
        "The V1 sink before it commits late: the table looks healthy and idle (F3).",
        "A fault below the window: widen it and ask again.",
    ),
    neighbours={
        "no-advance": "The table is right in both; there nobody writes it any more, here a run goes on.",
        "F2": "There a run was restored from below the newest commit, and repeats rows, also where none is "
        "seen yet. Here none was.",
        "F3": "There a V1 sink that was restored from below the head is silent, and looks healthy until it "
        "commits late.",
        "F6": "There main was set back under a running job, which looks well: only the history of main and "
        "the missing positions show it.",
        "F20": "Both can hold: failed checkpoints change nothing once one completes after them. While they "
        "fail one after the other, or none completes for too long, this does not hold.",
        "F23": "There a column that came with a change of the schema is empty in every file that the job "
        "writes. Here every column is filled.",
    },
    act=Act.TELL,
    remedies=(Remedy.NOTHING,),
)


def examine(case: Case) -> Examined:
    """Excluded by the first thing that is wrong; matches only where the proof holds and the run is well."""
    if (wrong := _wrong_run(case)) is not None:
        return Excluded(reason=wrong)
    if case.gaps is not None and case.gaps.to_come:
        return Excluded(reason=f"{case.gaps.to_come} positions of rolled-back commits are not written again yet.")
    told = proven(case)
    if isinstance(told, Excluded):
        return told
    quiet = _untold_silence(case)
    if isinstance(told, CannotTell):
        return told.model_copy(update={"missing": (*told.missing, *quiet)})
    return CannotTell(missing=quiet) if quiet else _matches(case, living(case)[-1], told)


def _untold_silence(case: Case) -> tuple[str, ...]:
    if isinstance(case.observation.jobs, NotSeen):
        return ()
    run = living(case)[-1]
    if (quiet := checkpoint_silence(case, run)) is not None:
        return (quiet.in_words,)
    untold = untold_silence(case, run) or read_past_main(case, run)
    return (untold,) if untold is not None else ()


def _matches(case: Case, run: JobRun, proof: Right) -> Matches:
    until = proof.until
    return Matches(
        headline=f"Nothing is wrong: run {short_job(run.job_id)} {_goes_on(case, run)}, and the table is complete "
        f"{_from(case)}up to {short(until)}.",
        reasons=_reasons(case, run, proof),
        rows=tuple(row.snapshot_id for row in case.ledger.main) if case.ledger else (),
        last_good=until,
        remedy=Remedy.NOTHING,
        last_good_rows=LastGoodRows.CLEAN,
    )


def _goes_on(case: Case, run: JobRun) -> str:
    if run.restored is None:
        return "goes on"
    return f"goes on since Flink restored it from checkpoint {run.restored.checkpoint_id} at " + time_in(
        case, run.restored.at
    )


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
        return stuck(case, run) or f"Run {short_job(run.job_id)} is {run.state} and has not settled yet: see `wait`."
    if fails_in_a_row(run, checkpoint_silence(case, run)):
        return f"The checkpoints of run {short_job(run.job_id)} fail one after the other: nothing arrives (F20)."
    return silence(case, run)


def _reasons(case: Case, run: JobRun, proof: Right) -> tuple[str, ...]:
    said, until = [_how_it_recovered(case, run), proof.anchor], proof.until
    if case.duplicates is not None:
        said.append(f"No key lives twice among the {counted(case.duplicates.rows_checked, 'row')} that were checked.")
    if case.contract.position is None:
        said.append(
            "Rows do not carry their source position, so no position was counted. Each start of the job in the window "
            "began where main ended, each checkpoint was committed once, and no Flink manifest is left over. This does "
            "not show what the source skipped, or gave twice under other keys."
        )
    if case.gaps is not None:
        if not (rows := Counted(case)).is_dense:
            said.append(
                f"{rows.why_not_dense} Holes between rows of one commit, and between commits of one state that went "
                "on without a break, count as no loss. What the source lost before it was read does not show."
            )
        said.append(
            f"No source position is missing between {at_position(case, case.gaps.lowest)} and "
            f"{at_position(case, case.gaps.highest)}."
            if case.gaps.has_positions
            else "No row came in the window, so no source position can be missing from it."
        )
    if case.unreadable is not None:
        tried = f"All {case.unreadable.files_checked} files that were tried are on storage in their sizes."
        said.append(f"{tried}{_older_files(case)}")
    if case.ledger is not None and case.ledger.branches:
        said.append(_other_branches(case.ledger))
    newer = _newer_than(case, until)
    if newer and not reaches_head(case):
        above = f"{counted(newer, 'commit')} of main above it"
        said.append(f"The window ends at {short(case.window.until)}; {above} may be wrong: they are not vouched for.")
    elif newer:
        said.append(f"Commits by the job came after the evidence ({newer}); they are not vouched for.")
    return tuple(said)


def _other_branches(ledger: Ledger) -> str:
    first, more = ledger.branches[0], len(ledger.branches) - 1
    others = f" and of {counted(more, 'more branch', 'more branches')}" if more else ""
    commits = f"{counted(first.commits, 'commit')} on branch {first.branch}{others}"
    return f"This is said of main: rows of {commits} were not looked at."


def _older_files(case: Case) -> str:
    """What was tried of files that commits from before the window added."""
    chain = case.observation.table.chain
    if case.window.since is None and not (chain and chain[-1].has_commit_below):
        return ""
    if case.missing_files is None or not answers(case, "missing_files"):
        return " Files of older commits were not tried."
    return f" Those of older commits are there, too: {case.missing_files.files_checked} files were looked for by name."


def _from(case: Case) -> str:
    since = begins_above(case)
    return f"from {short(since)} " if since is not None else ""


def _newer_than(case: Case, until: SnapshotId | None) -> int:
    ids = [s.snapshot_id for s in case.observation.table.chain]
    return ids.index(until) if until in ids else 0


def _how_it_recovered(case: Case, run: JobRun) -> str:
    if run.restored is None:
        return (
            f"Run {short_job(run.job_id)} is RUNNING and was never restored; Flink lists {len(run.failures)} failures."
        )
    in_files = [max(row.attempts) for row in (case.ledger.rows if case.ledger else ()) if row.attempts]
    attempt = max([v.attempt for v in run.vertices] + in_files, default=0)
    return (
        f"Flink restored run {short_job(run.job_id)} from checkpoint {run.restored.checkpoint_id} at "
        f"{time_in(case, run.restored.at)}, and every operator runs again (highest attempt {attempt})."
    )
