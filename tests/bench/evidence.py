"""How long each evidence task takes on a warm Spark, beside the smallest query that Spark can answer."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bot.bootstrap import build
from bot.cli.options import NobodyThere
from bot.settings import Settings
from tests.tables import ORDERS

_BARE = 5


def warm_times(config: Path) -> tuple[float, dict[str, float]]:
    """(seconds of a bare `range(1).count()`, task -> seconds), each on its second run or later."""
    with build(Settings.load(config), NobodyThere(), keep_record=False) as built:
        built.runner.warm()
        bare = min(_seconds(built.runner.warm) for _ in range(_BARE))
        services = built.services
        tasks: dict[str, float] = {}
        for name in services.tasks:
            ask = partial(services.examiner.collect, ORDERS, name)
            ask()
            tasks[name] = _seconds(ask)
    return bare, tasks


def _seconds(do: Callable[[], object]) -> float:
    began = time.perf_counter()
    do()
    return time.perf_counter() - began
