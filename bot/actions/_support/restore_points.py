"""Which restore point a rewind or a restart begins from, and which one a stopped run has left. None of another job's:
its state is another job's. None that evidence does not know yet: a refusal says that it has to be collected again."""

from collections.abc import Collection

from bot.actions._support.current_state import CurrentState
from bot.actions._support.foreseen import case_now
from bot.history.case import Case
from bot.history.ranking import Ranking, for_rewind, for_start, in_evidence, on_main, ranked
from bot.history.restore import RestorePoint, Restores, pair_of
from bot.history.unread_points import beside
from bot.observation.errors import CouldNotLook, Refused, Superseded
from bot.observation.findings import Pairing, PairVerdict
from bot.observation.flink import JobRun, names_run, with_kinds
from bot.observation.ids import JobId, SnapshotId, short, short_job

LOOK_AGAIN = "collect that evidence again (`/waterline run checkpoint_pairing`) and propose this again"


def found_since(case: Case, snapshots: Collection[SnapshotId]) -> str | None:
    """That a lasting restore point pairs with one of these by what is shown now and not by the evidence, and what to
    do, a sentence; None where there is none."""
    restores = Restores(case)
    known = {each.path for each in restores.in_evidence if _fits(each, snapshots)}
    shown = (each for _, each in restores.shown if each.is_durable and _fits(each, snapshots))
    new = next((each for each in shown if each.path not in known), None)
    if new is None:
        return None
    return f"Storage now has {new.path}, which pairs and is not in the evidence “checkpoint_pairing”: {LOOK_AGAIN}."


def is_alive(case: Case, each: Pairing) -> bool:
    """Whether its run is not at its end by what Flink shows now, or may not be as it was not shown."""
    jobs, others = case.observation.jobs, case.observation.others
    shown = [run for run in (*jobs.values, *(others.values if others is not None else ())) if run.job_id == each.job_id]
    if shown:
        return any(not run.is_terminal for run in shown)
    return jobs.state == "not-seen" or (others is not None and others.state == "not-seen")


def _fits(each: Pairing, snapshots: Collection[SnapshotId]) -> bool:
    return each.verdict is PairVerdict.PAIRED and each.snapshot_id in snapshots


def newest_pair(case: Case, last_good: SnapshotId) -> RestorePoint:
    """The durable restore point that pairs with the newest snapshot at or below `last_good`.

    Retained checkpoints of a run that goes on are passed over: Flink deletes them while people decide.
    Raises Refused with what was looked at when there is none, and where nobody knows whose they are.
    """
    _must_know_whose(Restores(case))
    ranking = for_rewind(case, last_good)
    if ranking.best is not None:
        return ranking.best
    raise Refused(
        "Table and job cannot be rolled back.",
        f"Expected a savepoint or retained checkpoint that pairs with snapshot {short(last_good)} or an earlier "
        f"one; found {ranking.in_words()}.",
        found_since(case, {s.snapshot_id for s in case.observation.table.ancestors(last_good)})
        or "Look for older savepoints on backup storage, or repair the rows by hand. Do not restore one that does "
        "not pair.",
    )


def pair_with_head(case: Case, live: JobRun | None) -> RestorePoint:
    """The newest restore point whose table state is the newest Flink commit on main, durable ones first. Of other jobs
    above it only those do not matter that surely wrote beside the job.

    A retained checkpoint of run `live` counts only if Flink keeps it when that run is cancelled; then it says so.
    Raises Refused with what was looked at when there is none, and where that newest commit is another job's
    or nobody knows whose it is.
    """
    restores = Restores(case)
    _must_know_whose(restores)
    ranking = ranked(in_evidence(restores), on_main(restores))
    kept = live is not None and live.settings is not None and live.settings.survives_cancel is True
    if ranking.best is not None and ranking.right[0].pair.is_durable:
        return ranking.best
    going = next((each for each in ranking.right if is_alive(case, each.pair)), None)
    if going is not None and going.point is not None and kept:
        return going.point.model_copy(update={"goes_with_savepoint": True})
    told = ranked(in_evidence(restores), on_main(restores), lasting=True).in_words()
    if not restores.binding:
        expected = f"Main lists no commit by Flink with which a restore point could pair; found {told}."
    else:
        newest = short(restores.binding[-1].snapshot_id)
        expected = (
            f"Expected a lasting restore point that pairs with {newest}, the newest commit by Flink; found {told}."
        )
    remedy = _instead(restores, ranking, going.pair if going is not None else None)
    raise Refused("The job cannot be restarted on the table as it is.", expected, remedy)


def _instead(restores: Restores, ranking: Ranking, going: Pairing | None) -> str:
    """What people do where nothing lasting pairs with the head, sentences. `going`: what pairs, of a run that is
    alive."""
    case, newest = restores.case, restores.binding[-1] if restores.binding else None
    if newest is not None and (since := found_since(case, {newest.snapshot_id})) is not None:
        return since
    if going is not None:
        return (
            f"Run {short_job(going.job_id)} is alive, and it is not known that Flink keeps the checkpoints of a "
            "cancelled run. Set execution.checkpointing.externalized-checkpoint-retention to RETAIN_ON_CANCELLATION. "
            "Or copy that folder away, stop the run by hand and start it from the copy."
        )
    if ranking.right:
        gone = ranking.right[0].pair
        return f"Run {short_job(gone.job_id)} has ended since. Check whether {gone.path} still exists; {LOOK_AGAIN}."
    points = [(each, point) for each in restores.in_evidence if (point := pair_of(each)) is not None]
    if newest is not None and restores.other_jobs.has_run(newest.job_id):
        own = next((s for s in reversed(restores.binding) if not restores.other_jobs.has_run(s.job_id)), None)
        pair = next((p for _, p in points if own is not None and p.snapshot_id == own.snapshot_id), None)
        by_hand = f"by hand from {pair.path}, which pairs with its own newest commit" if pair is not None else "by hand"
        return (
            f"Run {short_job(newest.job_id)} seems to belong to another job, which is not proven. Ask its owners what "
            f"it reads. If it reads another source, start the job {by_hand}. If it continued this job, wait for its "
            "end, and start the job only from the state that it left."
        )
    loses = next((p.rewind_loses for _, p in points if newest is not None and p.snapshot_id == newest.snapshot_id), ())
    look = "Look for more restore points on backup storage. Do not start the job from one that does not pair with that"
    main = case.observation.table.chain_ids
    below = next((p for each, p in points if each.is_durable and p.snapshot_id in main), None)
    if below is None:
        return f"{look}."
    past = f", but none of {', '.join(map(short, loses))}: replay them from the source" if loses else ""
    return (
        f"{look}: it would lose or duplicate rows. Or roll back table and job to checkpoint {below.checkpoint_id} "
        f"(`/waterline propose roll_back_table_and_restore_job`): the job reads all later rows again{past}."
    )


def _must_know_whose(restores: Restores) -> None:
    if restores.other_jobs.is_untold:
        raise Refused(
            "It is not known which restore points belong to the job.",
            "Two Flink jobs wrote the table concurrently, and Flink lists no run of this one to tell them apart. "
            f"Found {ranked(in_evidence(restores), on_main(restores)).in_words()}.",
            "Set the job's `history_server`, or name the other job in the table's `other_jobs`, and propose again. "
            "Else start the job by hand from a point that certainly belongs to it.",
        )


def going_on(case: Case) -> Ranking:
    """The durable restore points from which the job goes on where main ends, by what storage shows now.

    After the commit with which it pairs, main has no commit by Flink but further copies of that one (F1).
    Raises CouldNotLook where the restore points could not be listed.
    """
    stored = case.observation.checkpoints
    if stored.state == "not-seen":
        raise CouldNotLook(
            "It is not known from where the job can continue: the restore points could not be listed.",
            f"Expected an answer from {stored.source}; found: {stored.reason}",
            stored.remedy,
        )
    return for_start(case)


def nearer_unread(case: Case, point: RestorePoint) -> tuple[str, ...]:
    """What an approver must know of restore points that could not be read before starting from this one, sentences."""
    said = beside(case.observation.checkpoints, point.path)
    return (said,) if said is not None else ()


def newest_that_pairs(world: CurrentState, job: str, run: JobId) -> RestorePoint:
    """The newest restore point of the run whose table state is the newest Flink commit on main that binds; further
    copies of it (F1) may follow.

    Raises Superseded with what was found instead, CouldNotLook, also where none pairs and one could not be opened.
    """
    ports = world.jobs[job]
    runs = ports.flink.runs(job)
    stored = with_kinds(ports.checkpoints.stored(job, [run]), runs)
    of_run = [s for s in stored if s.job_id == run or (s.job_id is None and names_run(s.path, run))]
    restores = Restores(case_now(world, job, run, runs, of_run))
    ranking = ranked(restores.shown, on_main(restores))
    if ranking.best is not None:
        return ranking.best
    for unread in (s for s in of_run if s.is_unread):
        ports.checkpoints.read(unread.path)
    newest = restores.binding[-1].snapshot_id if restores.binding else None
    raise Superseded(
        f"Run {short_job(run)} has ended, and none of its states pairs with the table.",
        f"Expected a savepoint or retained checkpoint of it that pairs with {short(newest)}; found "
        f"{ranking.in_words(3)}.",
        "The table is as the run left it. Collect evidence again and propose what the diagnosis asks for.",
    )
