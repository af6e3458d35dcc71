"""Someone restores the job from an older savepoint, and maintenance compacts the table before and after it."""

from bot.lab.stories.restored_from_older_savepoint import restored_by_mistake
from bot.lab.world import World

NAME = "restored-between-compactions"
SUMMARY = "The job is restored from an older savepoint; Spark compacts before, and then the copies with the rest."


def tell(world: World, early: bool) -> None:
    """Ends with no file live that either run wrote below the newest commits. `early`: before the second compaction."""
    restored_by_mistake(world, early, meanwhile=world.hands.compacts)
    if not early:
        world.hands.compacts()
        world.note("Spark compacted the table again, copies and all")
