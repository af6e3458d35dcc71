"""The state that a stopped run has left on storage, and whether it pairs with the table as it is."""

from bot.actions._foreseen import binding_now
from bot.actions._world import World
from bot.domain.errors import Superseded
from bot.domain.findings import Pairing
from bot.domain.flink import StoredCheckpoint, names_run, with_kinds
from bot.domain.ids import JobId, SnapshotId, short, short_job
from bot.domain.looked import Seen
from bot.domain.own_points import beside_repairs
from bot.domain.pairing import judged
from bot.domain.requirements import HeadDescends, Requirement
from bot.domain.restore_points import RestorePoint, idle_point, ranked, where_main_ends
from bot.domain.run_commits import CommitsByRun


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
    there = judged(of_run, world.table, Seen(source="Flink", values=runs))
    by_run = CommitsByRun(world.table, runs)
    found_now = [(each, beside_repairs(pair, each, by_run)) for each, pair in there]
    commits = binding_now(world, job, run, runs)

    def idle(each: StoredCheckpoint, pair: Pairing) -> RestorePoint | None:
        return idle_point(each, pair, world.table, stands_on, runs)

    ranking = ranked(found_now, where_main_ends(world.table, commits, idle))
    if ranking.best is not None:
        return ranking.best
    for unread in (s for s in of_run if s.is_unread):
        ports.checkpoints.read(unread.path)
    newest = commits[-1].snapshot_id if commits else None
    raise Superseded(
        f"Run {short_job(run)} has ended, and none of its states pairs with the table.",
        f"Expected a savepoint or retained checkpoint of it that pairs with {short(newest)}; found "
        f"{ranking.in_words(3)}.",
        "The table is as the run left it. Collect evidence again and propose what the diagnosis asks for.",
    )
