"""Which restore point a rewind or a restart begins from. None of a guest's: its state is another job's.

What storage and Flink show now of restore points that evidence does not know yet: no action starts from such a one
before the evidence is collected again, so a refusal says so.

The state that a stopped run has left on storage, and whether it pairs with the table as it is.
"""

from collections.abc import Collection, Iterator, Sequence

from bot.actions._foreseen import case_now
from bot.actions._world import World
from bot.domain.diagnosis import Case
from bot.domain.errors import CouldNotLook, Refused, Superseded
from bot.domain.findings import Pairing, PairVerdict
from bot.domain.flink import JobRun, names_run, with_kinds
from bot.domain.guests import Guests, commits_that_bind
from bot.domain.ids import JobId, SnapshotId, short, short_job
from bot.domain.kin import began_from
from bot.domain.requirements import HeadDescends, Requirement
from bot.domain.table import Snapshot
from bot.domain.unread_points import beside
from bot.history.ranking import Idle, Ranking, for_rewind, for_start, in_evidence, on_main, only_copies_follow, ranked
from bot.history.restore import RestorePoint, Restores, called, has_lost_none_since, lists_none_of, pair_of

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


_NAMED = 4


def newest_pair(case: Case, last_good: SnapshotId) -> RestorePoint:
    """The durable restore point that pairs with the newest snapshot at or below `last_good`.

    Retained checkpoints of a run that goes on are passed over: Flink deletes them while people decide.
    Raises Refused with what was looked at when there is none, and where nobody knows whose they are.
    """
    _must_know_whose(case)
    ranking = for_rewind(case, last_good)
    if ranking.best is not None:
        return ranking.best
    raise Refused(
        "No rewind is possible.",
        f"Expected a savepoint or retained checkpoint that pairs with snapshot {short(last_good)} or an earlier "
        f"one; found {ranking.in_words()}.",
        found_since(case, {s.snapshot_id for s in case.observation.table.ancestors(last_good)})
        or "Look for older savepoints on backup storage, or repair the rows by hand. Do not restore one that does "
        "not pair.",
    )


def pair_with_head(case: Case, live: JobRun | None) -> RestorePoint:
    """The newest restore point whose table state is the newest Flink commit on main, durable ones first. Of guests
    above it only those do not matter that surely wrote beside the job.

    A retained checkpoint of run `live` counts only if Flink keeps it when that run is cancelled; then it says so.
    Raises Refused with what was looked at when there is none, and where that newest commit is a guest's
    or nobody knows whose it is.
    """
    _must_know_whose(case)
    commits = commits_that_bind(case)
    newest = commits[-1].snapshot_id if commits else None
    restores = Restores(case)
    ranking = ranked(in_evidence(restores), on_main(restores))
    kept = live is not None and live.settings is not None and live.settings.survives_cancel is True
    if ranking.best is not None and ranking.right[0].pair.is_durable:
        return ranking.best
    going = [each for each in ranking.right if is_alive(case, each.pair)]
    if going and kept:
        assert going[0].point is not None
        return going[0].point.model_copy(update={"goes_with_savepoint": True})
    if newest is not None and (since := found_since(case, {newest})) is not None:
        raise _unpaired(ranking, newest, since)
    if going:
        raise Refused(
            "The job cannot be restarted on the table as it is.",
            f"{going[0].pair.path} pairs with the head, but its run {short_job(going[0].pair.job_id)} is alive. It is "
            "not known that Flink keeps the checkpoints of a cancelled run.",
            "Set execution.checkpointing.externalized-checkpoint-retention to RETAIN_ON_CANCELLATION. Or copy that "
            "folder away, stop the run by hand and start it from the copy.",
        )
    if ranking.right:
        raise _not_there(ranking.right[0].pair)
    if commits and Guests(case).has_run(commits[-1].job_id):
        raise _ends_with_a_guest(case, commits, ranking)
    under = (each.point for each in ranking.rejected if each.point is not None and each.point.snapshot_id == newest)
    point = next(under, None)
    raise _under_a_repair(case, point) if point is not None else _unpaired(ranking, newest, _look_or_rewind(case))


def _unpaired(ranking: Ranking, newest: SnapshotId | None, remedy: str) -> Refused:
    return Refused(
        "The job cannot be restarted on the table as it is.",
        f"Expected a savepoint or retained checkpoint that pairs with {short(newest)}, the newest commit by Flink; "
        f"found {ranking.in_words()}."
        if newest is not None
        else f"Main lists no commit by Flink with which a restore point could pair; found {ranking.in_words()}.",
        remedy,
    )


def _look_or_rewind(case: Case) -> str:
    look = "Look for more restore points on backup storage. Do not start the job from one that does not pair with that"
    main = case.observation.table.chain_ids
    below = next((p for each, p in _paired(case) if each.is_durable and p.snapshot_id in main), None)
    if below is None:
        return f"{look}."
    return (
        f"{look}: it would lose or duplicate rows. Or rewind table and job to checkpoint {below.checkpoint_id} "
        "(`/waterline propose rewind_table_and_job`): the job reads all later rows again."
    )


def _not_there(each: Pairing) -> Refused:
    return Refused(
        "The job cannot be restarted on the table as it is.",
        f"{each.path} pairs with the head, but run {short_job(each.job_id)} has ended since the evidence was "
        "collected. Storage does not show the path as it was: Flink may have deleted it.",
        f"Check whether it still exists; {LOOK_AGAIN}.",
    )


def _under_a_repair(case: Case, point: RestorePoint) -> Refused:
    assert point.brings_again is not None
    repair = called(case.observation.table.by_id[point.brings_again])
    way = f"that removes the {repair}, and the job reads its rows again."
    if point.rewind_loses:
        named = ", ".join(map(short, point.rewind_loses))
        way = (
            f"but this state is past rows of {named}. The rewind removes them from main, and the job does not read "
            "them again: replay them from the source."
        )
    return Refused(
        "The job cannot be restarted on the table as it is.",
        f"{point.path} pairs with {short(point.snapshot_id)}, the newest commit by Flink. But {repair} above it "
        "added rows that this state does not know: the job would write them again.",
        "Look for a restore point on backup storage that was written after these rows. Or rewind table and job "
        f"(/waterline propose rewind_table_and_job): {way}",
    )


def _must_know_whose(case: Case) -> None:
    if Guests(case).is_untold:
        raise Refused(
            "It is not known which restore points belong to the job.",
            "Two Flink jobs wrote the table concurrently, and Flink lists no run of this one to tell them apart. "
            f"Found {_looked_at(case)}.",
            "Set the job's `history_server`, or name the other job in the table's `other_jobs`, and propose again. "
            "Else start the job by hand from a point that certainly belongs to it.",
        )


def _ends_with_a_guest(case: Case, commits: Sequence[Snapshot], ranking: Ranking) -> Refused:
    guests, newest = Guests(case), commits[-1]
    own = next((s for s in reversed(commits) if not guests.has_run(s.job_id)), None)
    pair = next((p for _, p in _paired(case) if own is not None and p.snapshot_id == own.snapshot_id), None)
    by_hand = f"by hand from {pair.path}, which pairs with its own newest commit" if pair is not None else "by hand"
    return Refused(
        "The job cannot be restarted on the table as it is.",
        "Expected a restore point of the job that pairs with the newest commit by Flink, "
        f"{short(newest.snapshot_id)}. Run {short_job(newest.job_id)} made that commit. By Flink, its sink and the "
        "settings it belongs to another job. That is not proven: the run may have continued where the job had "
        f"stopped. Found {ranking.in_words()}.",
        f"Ask its owners what it reads. If it reads another source, start the job {by_hand}. If it continued this "
        "job, wait for its end, and start the job only from the state that it left.",
    )


def goes_on_from(case: Case) -> RestorePoint | None:
    """The newest durable restore point, of whatever run, from which the job goes on where main ends; None: there is
    none. Read from what storage shows now, so it needs no evidence. Raises CouldNotLook, see `going_on`."""
    return going_on(case).best


def going_on(case: Case, idle: Idle | None = None) -> Ranking:
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
    return for_start(case, idle)


def _looked_at(case: Case) -> str:
    restores = Restores(case)
    return ranked(in_evidence(restores), on_main(restores)).in_words()


def passed_over(case: Case, point: RestorePoint) -> tuple[str, ...]:
    """Why newer restore points are not taken for a start on main as it is, sentences."""
    return for_start(case).passed_over(point.path)


def nearer_unread(case: Case, point: RestorePoint) -> tuple[str, ...]:
    """What an approver must know of restore points that could not be read before starting from this one, sentences."""
    said = beside(case.observation.checkpoints, point.path)
    return (said,) if said is not None else ()


def _paired(case: Case) -> Iterator[tuple[Pairing, RestorePoint]]:
    """Newest first."""
    for each in Restores(case).in_evidence:
        point = pair_of(each)
        if point is not None:
            yield each, point


def stands_on(case: Case, live: JobRun) -> SnapshotId | None:
    """Of a run that has committed nothing: main's newest commit that binds, with which its beginning pairs; None of any
    other run, whose own commits tell.

    Raises Refused where that is not proven: what it leaves would pair with nothing; CouldNotLook where storage was not
    seen.
    """
    table = case.observation.table
    if not lists_none_of(live.job_id, table):
        return None
    if not has_lost_none_since(live.started_at, table):
        raise Refused(
            f"The table lists no commit of run {short_job(live.job_id)}, so the state that its stop would leave "
            "cannot be proven.",
            f"Expected main only to have moved forward since the run started at {live.started_at:%Y-%m-%d %H:%M:%S} "
            "UTC; the snapshot log does not show that. A commit of the run may have been rolled back and then "
            "expired.",
            "Wait for its next commit, then propose again. The run was not stopped.",
        )
    stored = case.observation.checkpoints
    if stored.state == "not-seen":
        raise CouldNotLook(
            f"The table lists no commit of run {short_job(live.job_id)}, and it is not known whether its state fits.",
            f"Expected to read the restore point from which it started; {stored.source}: {stored.reason}",
            stored.remedy,
        )
    commits = commits_that_bind(case)
    point = Restores(case).began_with(live)
    if point is not None and point.brings_again is None and only_copies_follow(point.snapshot_id, commits):
        return point.snapshot_id
    newest = f"{short(commits[-1].snapshot_id)}, the newest commit by Flink" if commits else "a commit by Flink"
    began = began_from(live)
    found = (
        f"it started from {began}, which is not proven to pair"
        if began is not None
        else "Flink does not show from where it started"
    )
    raise Refused(
        f"The table lists no commit of run {short_job(live.job_id)}, so the state that its stop would leave cannot "
        "be proven.",
        f"Expected a commit of it, or a start from a restore point that pairs with {newest}; {found}.",
        "Wait for its next commit, then propose again. The run was not stopped.",
    )


def asked_before(requirement: Requirement) -> Requirement:
    """As an effect relies on it that asks `newest_that_pairs`: who has committed since the stop is no matter then, as
    long as nobody has rolled the table back. What binds is found by that look."""
    if isinstance(requirement, HeadDescends):
        return requirement.model_copy(update={"by_anybody": True})
    return requirement


def newest_that_pairs(world: World, job: str, run: JobId, stands_on: SnapshotId | None = None) -> RestorePoint:
    """The newest restore point of the run whose table state is the newest Flink commit on main that binds; further
    copies of it (F1) may follow. `stands_on`: that of a run which has committed nothing, if it is so still.

    Raises Superseded with what was found instead, CouldNotLook, also where none pairs and one could not be opened.
    """
    ports = world.jobs[job]
    runs = ports.flink.runs(job)
    stored = with_kinds(ports.checkpoints.stored(job, [run]), runs)
    of_run = [s for s in stored if s.job_id == run or (s.job_id is None and names_run(s.path, run))]
    restores = Restores(case_now(world, job, run, runs, of_run))
    ranking = ranked(restores.shown, on_main(restores, lambda each: restores.idle_point(each, stands_on)))
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
