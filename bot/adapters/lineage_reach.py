"""Which runs of a file of events somebody's outputs may have reached: only their events are held."""

import math
from collections.abc import Set

from bot.adapters.lineage_downstream import MOST_STEPS
from bot.adapters.lineage_lines import EventLines, Key


def runs_reached(lines: EventLines, origins: Set[Key]) -> set[Key]:
    """The origins, and all that may have read what they wrote, directly or through others: rather too many.

    Who was last told of before the first of those who wrote had begun is none of them. *cost*: the events of all that
    were told of since then are read, one at a time; places of their inputs are held.
    """
    known: set[Key] = set()
    new = set(origins)
    looked_at: set[Key] = set()
    readers_of: dict[str, set[Key]] = {}
    written: set[str] = set()
    first_at = math.inf
    for _ in range(MOST_STEPS):
        if not new:
            break
        for event in lines.of(new):
            first_at = min(first_at, event.at.timestamp())
            written |= {place for each in event.outputs for place in each.places}
        known |= new
        alive = lines.alive(first_at) - looked_at
        for event in lines.of(alive):
            if event.run is None:
                continue
            for place in {place for each in event.inputs for place in each.places}:
                readers_of.setdefault(place, set()).add(hash(event.run.run_id))
        looked_at |= alive
        new = set().union(*(readers_of.get(place, ()) for place in written)) - known
    return known | new
