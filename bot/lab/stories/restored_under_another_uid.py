"""The job is cancelled with a savepoint and restored with another uid for its sink, state left behind.

The savepoint holds the files of its own checkpoint, which were never committed. The sink of the new uid does not
know them, and the source does not go back: their rows are in a leaked Flink manifest and nowhere else.
"""

import time

from bot.lab.errors import LabError
from bot.lab.orders import IGNORE_UNCLAIMED_PROPERTY
from bot.lab.world import World

NAME = "restored-under-another-uid"
SUMMARY = "The V2 sink gets another uid, its state is left behind: the savepoint's files are never committed."
ATTEMPTS = 4
ROWS_WITHIN_S = 1.0
"""The source emits once a second: after so long the savepoint carries rows."""


def tell(world: World, early: bool) -> None:
    """Ends with the new run committing above the hole. `early`: returns when it was submitted."""
    first = world.running_job()
    world.await_commits(first, 3)
    world.await_first_reads()
    for _ in range(ATTEMPTS):
        newest = max((link.checkpoint_id or 0 for link in world.commits_of(first)), default=0)
        world.await_commits(first, 1, after=newest)
        time.sleep(ROWS_WITHIN_S)
        savepoint = world.savepoint(first, then_cancel=True)
        leaked = world.hands.flink_manifests(first, savepoint.checkpoint_id)
        if leaked:
            break
        first = world.start_job(from_path=savepoint.path)
        world.await_commits(first, 1)
    else:
        raise LabError(
            "No savepoint carried rows of its own.",
            f"Expected a Flink manifest of one within {ATTEMPTS} attempts; found none.",
            "Tell the story again.",
        )
    second = world.start_job(
        from_path=savepoint.path,
        sink_options={"uid-suffix": "orders-sink-2"},
        properties={IGNORE_UNCLAIMED_PROPERTY: "true"},
    )
    world.note(
        f"Run A ({first[:8]}) was cancelled with savepoint {savepoint.checkpoint_id}; run B ({second[:8]}) was "
        "restored from it with another uid for its sink",
        run_a=first,
        run_b=second,
        savepoint=savepoint.path,
        savepoint_checkpoint=savepoint.checkpoint_id,
        leaked_manifest=leaked[0].name,
        paired_snapshot=world.commits_of(first)[-1].snapshot_id,
    )
    if not early:
        commits = world.await_commits(second, 2)
        world.note("Run B commits", first_wrong_snapshot=commits[0].snapshot_id)
