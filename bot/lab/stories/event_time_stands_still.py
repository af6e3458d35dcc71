"""The job goes on, and the events that it is given carry a time that no longer moves: a producer's clock is stuck."""

from bot.lab.proof import prove
from bot.lab.world import World

NAME = "event-time-stands-still"
SUMMARY = "Rows go on coming, and the time of their events stands still: no fault of the job or of the table."
COMMITS = 6


def tell(world: World, early: bool) -> None:
    """Ends with commits whose events are no newer. `early`: returns with the first of them."""
    first = world.running_job()
    world.await_commits(first, 3)
    world.await_first_reads()
    good = world.stop(first)
    last = prove(world.table).highest
    second = world.start_job(
        from_path=good.path,
        columns={"event_time": lambda told: told.replace("source_position", f"LEAST(source_position, {last})")},
    )
    world.note(
        f"Since position {last} all events carry one time (run A {first[:8]}, run B {second[:8]})",
        run_a=first,
        run_b=second,
        last_position_with_a_newer_time=last,
    )
    world.await_commits(second, 1 if early else COMMITS)
