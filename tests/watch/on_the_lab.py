"""The watch over a real job and a real table: `python -m tests.watch.on_the_lab [MINUTES]` measures and prints.

How long from a fault to its finding, for three stories; and what is found while nothing is wrong, with a planned
restart, two killed TaskManagers and compactions in between.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from bot.bootstrap import build
from bot.cli.demo import write_config
from bot.cli.options import NobodyThere
from bot.incident.watch import ReportedFinding
from bot.lab.lab import Lab, tell
from bot.observation.ids import TableName
from bot.service.watching.finding_store import FindingStore
from bot.settings import Settings, WatchSettings
from bot.workspace.people import default_cast

EVERY = timedelta(seconds=10)
FAULTS = {
    "restored-from-older-savepoint": "Someone restored",
    "rolled-back-while-running": "Someone rolled",
    "forked-from-a-savepoint": "A second job",
}
"""Story -> how the step begins that is the fault."""


@contextmanager
def watched(lab: Lab, folder: Path) -> Iterator[FindingStore]:
    """The bot without Slack, its watch over the lab's table."""
    folder.mkdir(exist_ok=True)
    settings = Settings.load(write_config(folder, lab.state, "http://127.0.0.1:9/", default_cast()))
    watch = WatchSettings(poll_interval=EVERY, evidence_interval=timedelta(minutes=1))
    with build(settings.model_copy(update={"watch": watch}), NobodyThere()) as built:
        assert built.services.finding_store is not None
        built.services.watch.start(built.timers)
        yield built.services.finding_store


def seen(finding_store: FindingStore, table: str) -> list[ReportedFinding]:
    """Everything that was found so far."""
    return list(finding_store.memory(TableName(table)).reported.values())


def time_to_finding(lab: Lab, folder: Path, story: str, limit: timedelta) -> tuple[float | None, list[ReportedFinding]]:
    """Seconds from the fault to the first finding, and all findings."""
    with watched(lab, folder) as finding_store:
        time.sleep(2 * EVERY.total_seconds())
        said: dict[str, datetime] = {}
        tell(lab.home, story, lambda text: said.update({text: datetime.now(UTC)}))
        fault = next(at for text, at in said.items() if text.startswith(FAULTS[story]))
        while not (found := seen(finding_store, lab.state.table)) and datetime.now(UTC) - fault < limit:
            time.sleep(0.5)
        time.sleep(2 * EVERY.total_seconds())
        return ((found[0].at - fault).total_seconds() if found else None), seen(finding_store, lab.state.table)


def healthy(lab: Lab, folder: Path, span: timedelta, say: Callable[[str], None]) -> list[ReportedFinding]:
    """What is found while the job is restarted, its machine killed, and its table compacted, and nothing is wrong."""
    until = datetime.now(UTC) + span
    with watched(lab, folder) as finding_store:
        for story in ("task-manager-killed", "compacted-by-spark", "planned-restart") * 3:
            if datetime.now(UTC) > until:
                break
            lab.tell(story)
            say(f"{story}; findings so far: {len(seen(finding_store, lab.state.table))}")
            time.sleep(span.total_seconds() / 9)
        return seen(finding_store, lab.state.table)


def main(minutes: float) -> None:
    """All of it on one cluster, V2 sink."""
    with TemporaryDirectory() as here, Lab(Path(here) / "lab", say=lambda _said: None, consumers=()) as lab:
        lab.start()
        found = healthy(lab, Path(here) / "healthy", timedelta(minutes=minutes), _say)
        _say(f"healthy for {minutes:g} minutes: {len(found)} findings {_told(found)}")
        for story in FAULTS:
            lab.reset(forget=True)
            took, every = time_to_finding(lab, Path(here) / story, story, timedelta(minutes=3))
            _say(f"{story}: {took} s {_told(every)}")


def _told(found: list[ReportedFinding]) -> list[str]:
    return [f"{each.finding.code}: {each.finding.headline}" for each in found]


def _say(text: str) -> None:
    sys.stdout.write(f"{datetime.now(UTC):%H:%M:%S} {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 8)
