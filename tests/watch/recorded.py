"""Real worlds of the lab before the watch: their metadata file in a real catalog, Flink's very pages over HTTP.

`tests/data/recorded` holds saved cases with the pages of Flink and the metadata files that they were read from. What
was on storage, who had read, and what evidence had found then is told as it was recorded. `until` cuts a world to an
earlier moment: of what came later nothing is told, and evidence, which was asked later, answers nothing but what
retention says.
"""

import gzip
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

from pyiceberg.catalog.sql import SqlCatalog

from bot.adapters.table_files import FolderOfTable
from bot.incident.diagnosis import SavedCase
from bot.observation.contract import TableContract
from bot.observation.errors import CouldNotLook
from bot.observation.evidence import Answer, Ask, Progress, Task, Verdict
from bot.observation.findings import FreshnessFinding, TableHealthFinding
from bot.observation.flink import FlinkManifest, JobRun, StoredCheckpoint
from bot.observation.ids import JobId
from bot.observation.looked import NotSeen, Seen
from bot.observation.readers import FarRead, ReadRun
from bot.observation.table import TableState
from spark_tasks.table_health import last_commits
from tests.adapters.flink_wire import Wire
from tests.tables import ORDERS
from tests.watch.earlier import Page, cut_checkpoints, cut_commits, cut_failures, cut_run, cut_runs

RECORDED = Path(__file__).parents[1] / "data" / "recorded"
T = TypeVar("T")


@dataclass
class Recorded:
    """One case; it can be changed before it is told."""

    name: str
    raw: dict[str, str] = field(init=False, repr=False)
    """Address -> what was told there."""

    def __post_init__(self) -> None:
        recorded = json.loads(gzip.decompress((RECORDED / f"{self.name}.json.gz").read_bytes()))
        self.case = SavedCase.model_validate_json(json.dumps(recorded["saved"])).case
        self._saved: dict[str, str] = recorded["told"]
        self.raw = dict(self._saved)
        self.asked: list[str] = []
        """Every task of evidence that was asked, in order."""
        self.now = self.case.observation.table.read_at
        self.contract: TableContract = self.case.contract
        self.is_cut = False

    @property
    def runs(self) -> tuple[JobRun, ...]:
        """As they were recorded, newest first."""
        return self.case.observation.jobs.values

    def promises(self, **terms: object) -> "Recorded":
        """The same under a contract that says more."""
        self.contract = self.contract.model_copy(update=terms)
        return self

    def pages(self, end: str, change: Callable[[Page], None]) -> "Recorded":
        """Change Flink's pages of that name (`/checkpoints`); empty: what a run says of itself."""
        for address, content in self.raw.items():
            if re.search(rf"/jobs(/[0-9a-f]{{32}})?{end}$", address):
                page = json.loads(content)
                change(page)
                self.raw[address] = json.dumps(page)
        return self

    def metadata(self, change: Callable[[Page], None]) -> "Recorded":
        """Change the table's metadata file."""
        location = self.case.observation.table.metadata_location
        told = json.loads(self.raw[location])
        change(told)
        self.raw[location] = json.dumps(told)
        return self

    def until(self, at: datetime) -> "Recorded":
        """As it was then; runs that have ended since still ran."""
        self.now, self.is_cut = at, True
        then = at.timestamp() * 1000
        return (
            self.metadata(partial(cut_commits, then=then))
            .pages("/overview", partial(cut_runs, then=then))
            .pages("", partial(cut_run, then=then))
            .pages("/checkpoints", partial(cut_checkpoints, then=then))
            .pages("/exceptions", partial(cut_failures, then=then))
        )

    def goes_on(self) -> "Recorded":
        """Back to what was recorded, with what evidence had found then."""
        self.raw, self.now, self.is_cut = dict(self._saved), self.case.observation.table.read_at, False
        return self

    # ------------------------------------------------------------------ the world's side of the ports

    def told_by(self, wire: Wire) -> None:
        """Flink answers with the pages, and with nothing else."""
        wire.answers.clear()
        for address, content in self.raw.items():
            if "/jobs/" in address:
                wire.says(f"GET /jobs/{address.partition('/jobs/')[2]}", content.encode())

    def catalog_in(self, folder: Path) -> dict[str, str]:
        """Properties of a real catalog whose table is this one, from now on."""
        file = folder / f"{len(list(folder.glob('*.metadata.json'))):05d}-recorded.metadata.json"
        file.write_text(self.raw[self.case.observation.table.metadata_location])
        properties = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/lake"}
        catalog = SqlCatalog("lake", uri=properties["uri"], warehouse=properties["warehouse"])
        catalog.create_namespace_if_not_exists("sales")
        if catalog.table_exists(ORDERS):
            catalog.drop_table(ORDERS)
        catalog.register_table(ORDERS, f"file://{file}")
        catalog.close()
        return properties

    @property
    def files(self) -> FolderOfTable:
        return _Listed(self)

    def stored(self, job: str, runs: Sequence[JobId]) -> tuple[StoredCheckpoint, ...]:
        return _seen(self.case.observation.checkpoints)

    def read(self, path: str) -> StoredCheckpoint:
        return next(each for each in self.case.observation.checkpoints.values if each.path == path)

    def may_hold(self, path: str) -> bool:
        """See the port: what a case holds is all there is."""
        return False

    def reads(self, table: TableState, since: datetime) -> tuple[ReadRun, ...]:
        return ()

    def downstream(self, table: TableState, since: datetime) -> tuple[FarRead, ...]:
        return ()

    def run(self, task: Task, ask: Ask, *, tag: str, on_progress: Callable[[Progress], None]) -> tuple[Answer, int]:
        """See the port of evidence: as it had answered."""
        self.asked.append(task.name)
        found = [] if self.is_cut else [each for each in self.case.evidence if each.task == task.name]
        if found:
            answer = Answer(**{name: getattr(found[-1], name) for name in Answer.model_fields})
            if isinstance(answer.finding, FreshnessFinding):  # ages were measured, promises were compared with them
                promised = ask.contract.freshness.total_seconds() if ask.contract.freshness else None
                answer = answer.model_copy(
                    update={"finding": answer.finding.model_copy(update={"promised_s": promised})}
                )
            return answer, 0
        if task.name == "table_health":
            return _retention(ask), 0
        missing = NotSeen(source=f"the record of {task.name}", reason="Nobody asked it then.", remedy="Go on.")
        return Answer(verdict=Verdict.INCONCLUSIVE, headline="Nobody asked it.", could_not_look=(missing,)), 0

    def cancel(self, tag: str) -> bool:
        return False

    def warm(self) -> None:
        """See the port."""


class _Listed(FolderOfTable):
    """The metadata folder as it was listed."""

    def __init__(self, world: Recorded) -> None:
        super().__init__()
        self._world = world

    def flink_manifests(self, table: TableState) -> tuple[FlinkManifest, ...]:
        listed = _seen(self._world.case.observation.flink_manifests)
        return tuple(each for each in listed if each.written_at is None or each.written_at <= self._world.now)


def _retention(ask: Ask) -> Answer:
    """What the task tells of last commits, alone."""
    kept = TableHealthFinding(
        snapshots=len(ask.observation.table.snapshots),
        last_commits=last_commits(ask, ask.window.of(ask.observation.table)),
        problems=(),
    )
    return Answer(verdict=Verdict.RULED_OUT, headline="Only retention was looked at.", finding=kept)


def moment(text: str, of: Recorded) -> datetime:
    """`19:35:57.5` on the day of the world."""
    at = datetime.combine(of.now.date(), time.fromisoformat(text), UTC)
    return at if at <= of.now else at - timedelta(days=1)


def _seen(looked: Seen[T] | NotSeen) -> tuple[T, ...]:
    if isinstance(looked, NotSeen):
        raise CouldNotLook(looked.reason, "", looked.remedy)
    return looked.values
