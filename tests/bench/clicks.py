"""Two hundred clicks in one instant: how long each waits for its acknowledgement, on the wire."""

import asyncio
import math
import statistics
from dataclasses import dataclass

from bot.workspace import SeenMessage, Workspace
from bot.workspace.persons.clicks import Click, click
from bot.workspace.persons.modals import Outcome

CLICKS = 200
_WITHIN_S = 30


@dataclass(frozen=True)
class Waits:
    """What came of a burst."""

    took_ms: tuple[float, ...]
    lost: int
    """Clicks that were not acknowledged within Slack's three seconds."""

    @property
    def p50(self) -> float:
        """Half of those that were acknowledged were within so many milliseconds; infinite where fewer than two were."""
        return statistics.median(self.took_ms) if len(self.took_ms) > 1 else math.inf

    @property
    def p99(self) -> float:
        """All but one in a hundred were."""
        return statistics.quantiles(self.took_ms, n=100)[98] if len(self.took_ms) > 1 else math.inf


def burst(workspace: Workspace, message: SeenMessage, label: str, *, over_s: float) -> Waits:
    """One button is clicked two hundred times, evenly over a time; 0 is one instant.

    The clicks start on the workspace's own event loop: no HTTP request of a browser stands in the way. What is
    timed begins when an envelope is written to the socket and ends when its acknowledgement is read.
    """
    control = message.control(label)
    assert workspace.world.loop is not None
    at = Click(
        person="ana", block_id=control.block_id, action_id=control.action_id, channel=message.channel, ts=message.ts,
        rev=message.rev,
    )  # fmt: skip
    clicking = asyncio.run_coroutine_threadsafe(_all(workspace, at, over_s), workspace.world.loop)
    outcomes = clicking.result(_WITHIN_S)
    acked = [outcome for outcome in outcomes if outcome.outcome == "acked"]
    return Waits(tuple(outcome.took_ms for outcome in acked), len(outcomes) - len(acked))


async def _all(workspace: Workspace, at: Click, over_s: float) -> list[Outcome]:
    world = workspace.world
    person = world.directory.person("ana")

    async def one(number: int) -> Outcome:
        await asyncio.sleep(number * over_s / CLICKS)
        return await click(world, person, at)

    return await asyncio.gather(*(one(number) for number in range(CLICKS)))
