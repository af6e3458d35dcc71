"""Whether a start would write rows of another table of the job a second time."""

from bot.actions._stopped_state import newest_that_pairs
from bot.actions._world import World
from bot.domain.errors import NotThere, UnknownTable
from bot.domain.own_points import in_words, written_after
from bot.domain.requirements import SiblingSpared
from bot.domain.run_commits import CommitsByRun


def not_spared(requirement: SiblingSpared, world: World) -> str | None:
    """A sentence with expected and found, or None when it holds, or cannot be told yet because the run that is to leave
    the state goes on. A table that is gone holds no row. Raises CouldNotLook, and Superseded where the run has ended
    and left none."""
    path, ports = requirement.path, world.jobs[requirement.job]
    if path is None:
        assert requirement.job_id is not None
        run = ports.flink.run(requirement.job_id)
        if run is not None and not run.is_terminal:
            return None
        path = newest_that_pairs(world, requirement.job, requirement.job_id, requirement.stands_on).path
    try:
        stored = ports.checkpoints.read(path)
    except NotThere as error:
        return f"Expected restore point {path} to be readable; {error.happened} {error.found}"
    try:
        table = world.load(requirement.table)
    except UnknownTable:
        return None
    runs = ports.flink.runs(requirement.job)
    after = written_after(stored, table, {each.job_id for each in runs}, CommitsByRun(world.table, runs))
    if not after:
        return None
    return (
        f"Expected no commit of {requirement.job} on main of {requirement.table} after checkpoint "
        f"{stored.checkpoint_id} ({path}); found {in_words(after)}."
    )
