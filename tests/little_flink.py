"""A small Flink for tests without a cluster: it keeps runs in a file, writes real commits and real `_metadata`.

It passes the same rules as the real one where it matters here: a job id is accepted once, a stopped run stays
stopped, a started run rewinds its source to the restore point and commits the next checkpoints on the table.
"""

import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Timer
from typing import Any

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table

from bot.observation.errors import CommitRefused
from bot.observation.flink import CheckpointKind, CompletedCheckpoint, JobRun, Restored, Vertex
from bot.observation.ids import CheckpointId, JobId, OperatorId
from bot.ports import Stopped
from tests.tables import OPERATOR, ORDERS, lake_in, rows

JOB = "orders-to-iceberg"
ROWS_A_CHECKPOINT = 10
_MAGIC = 0x4960672D
_PROPERTIES = b"org.apache.flink.runtime.checkpoint.CheckpointPropertiest\x00\x04NONE"
"""With which the file ends: of a savepoint of a job that goes on."""
_SOON_S = 5.0
_DROPPED = CompletedCheckpoint(
    checkpoint_id=CheckpointId(1),
    kind=CheckpointKind.CHECKPOINT,
    status="COMPLETED",
    triggered_at=datetime(2026, 11, 21, 8, tzinfo=UTC),
    discarded=True,
)
"""By which Flink shows that nothing older is held by the run."""


class LittleFlink:
    """The port `FlinkJobs` over a folder that outlives the process."""

    def __init__(self, folder: Path, name: str = JOB) -> None:
        """`name` is that of its one job: a job of another name runs on a cluster of its own."""
        self._folder = folder
        self._name = name
        self._file = folder / ("flink.json" if name == JOB else f"flink-{name}.json")
        self._calls = folder / "calls.txt"
        self.savepoints = folder / "savepoints"
        self.savepoints.mkdir(exist_ok=True)
        if not self._file.exists():
            self._write({})

    def submit(
        self, job_id: JobId, *, at_checkpoint: int, restored: Path | None = None, operator: OperatorId = OPERATOR
    ) -> None:
        """Begin a run whose source stands where checkpoint `at_checkpoint` left it; its sink has that operator id."""
        runs = self._read()
        runs[job_id] = {
            "state": "RUNNING",
            "checkpoint": at_checkpoint,
            "restored": str(restored) if restored else None,
            "restored_id": at_checkpoint if restored else None,
            "started": datetime.now(UTC).isoformat(),
            "operator": operator,
            "came_to_it": datetime.now(UTC).timestamp(),
        }
        self._write(runs)

    def checkpoints(self, job_id: JobId, count: int = 1) -> None:
        """Complete and commit the next checkpoints of a run."""
        for _ in range(count):
            runs = self._read()
            number = runs[job_id]["checkpoint"] + 1
            runs[job_id]["checkpoint"] = number
            first = (number - 1) * ROWS_A_CHECKPOINT
            self._commit(job_id, number, range(first, first + ROWS_A_CHECKPOINT))
            runs[job_id]["came_to_it"] = datetime.now(UTC).timestamp()
            self._write(runs)

    def stands_at(self, job_id: JobId, checkpoint: int) -> None:
        """The run's newest checkpoint is this one, and no commit tells of it."""
        runs = self._read()
        runs[job_id]["checkpoint"] = checkpoint
        self._write(runs)

    def savepoint(self, job_id: JobId) -> Path:
        """A savepoint at the run's newest checkpoint, written soon after it: a point that is much younger is a copy."""
        number, came_to_it = (self._read()[job_id][each] for each in ("checkpoint", "came_to_it"))
        path = self.savepoints / f"savepoint-{job_id[:6]}-{number:012x}"
        path.mkdir(exist_ok=True)
        header = _MAGIC.to_bytes(4, "big") + (4).to_bytes(4, "big") + number.to_bytes(8, "big")
        operator = bytes.fromhex(self._read()[job_id]["operator"])
        (path / "_metadata").write_bytes(header + b"\0" * 16 + b"!" + job_id.encode() + b"\0" + operator + _PROPERTIES)
        then = min(datetime.now(UTC).timestamp(), came_to_it + _SOON_S)
        os.utime(path / "_metadata", (then, then))
        return path

    def ends_with_savepoint(self, job_id: JobId, state: str = "FAILED") -> Path:
        """The run is at its end, and has left this savepoint."""
        savepoint = self.savepoint(job_id)
        self.ends(job_id, state)
        return savepoint

    @property
    def calls(self) -> list[str]:
        """Every effect that really happened, in order."""
        return self._calls.read_text().splitlines() if self._calls.exists() else []

    def runs(self, job: str) -> tuple[JobRun, ...]:
        """See the port."""
        found = [self.run(JobId(job_id)) for job_id in self._read()] if job == self._name else []
        return tuple(sorted((r for r in found if r), key=lambda r: r.started_at, reverse=True))

    def runs_of_others(self, job: str, among: Collection[JobId]) -> tuple[JobRun, ...]:
        """See the port."""
        return tuple(run for run in self.runs(self._name) if job != self._name and run.job_id in among)

    def run(self, job_id: JobId) -> JobRun | None:
        """See the port."""
        told = self._read().get(job_id)
        if told is None:
            return None
        started = datetime.fromisoformat(told["started"])
        restored = None
        if told["restored"]:
            restored = Restored(
                checkpoint_id=CheckpointId(told["restored_id"]), at=started, is_savepoint=True, path=told["restored"]
            )
        return JobRun(
            job_id=job_id,
            name=self._name,
            state=told["state"],
            started_at=started,
            ended_at=datetime.fromisoformat(told["ended"]) if "ended" in told else None,
            checkpoint_interval_ms=1500,
            checkpoints=(_DROPPED,) if restored and job_id not in self.claims else (),
            completed_count=told["checkpoint"],
            restored_count=1 if restored else 0,
            restored=restored,
            vertices=(
                Vertex(
                    vertex_id=OperatorId("f" * 32),
                    name=self.sink,
                    parallelism=told.get("parallelism", 1),
                    status=told["state"],
                    attempt=0,
                ),
            ),
            code_version="test",
        )

    def rescales(self, job_id: JobId, parallelism: int) -> None:
        """Somebody, or an autoscaler, changes the resource requirements of the run; it keeps its id."""
        runs = self._read()
        runs[job_id]["parallelism"] = parallelism
        self._write(runs)

    def breaks(self, job_id: JobId) -> None:
        """The run fails again and again: it can take no savepoint any more."""
        runs = self._read()
        runs[job_id]["state"] = "RESTARTING"
        self._write(runs)

    def ends(self, job_id: JobId, state: str) -> None:
        """The run is at its end, and leaves nothing on storage."""
        self._ends(job_id, state)

    def _ends(self, job_id: JobId, state: str) -> None:
        runs = self._read()
        runs[job_id] |= {"state": state, "ended": datetime.now(UTC).isoformat()}
        self._write(runs)

    sink = "Sink"
    """What Flink calls the one operator chain of each run."""

    saves: str | None = None
    """Why no savepoint can be taken."""
    still_asked: str | None = None
    """By what a run that goes on may come to be stopped yet, a sentence."""

    retained: Path | None = None
    """A checkpoint that Flink retains when its run is cancelled, and deletes when that ends with a savepoint."""

    claims: frozenset[JobId] = frozenset()
    """Runs that were restored in CLAIM mode and have dropped no checkpoint of their own yet."""

    def stop(self, job: str, job_id: JobId, *, needs_state: bool = False, keeps_checkpoints: bool = False) -> Stopped:
        """See the port; a cancel keeps what is `retained`."""
        runs = self._read()
        if keeps_checkpoints and runs[job_id]["state"] in {"RUNNING", "RESTARTING"}:
            return self._cancelled(job_id)
        can_save = runs[job_id]["state"] == "RUNNING" and self.saves is None
        if needs_state and not can_save and runs[job_id]["state"] in {"RUNNING", "RESTARTING"}:
            raise CommitRefused(f"Run {job_id[:6]} was not stopped.", self.saves or "", "It goes on.")
        if runs[job_id]["state"] == "RESTARTING" or (self.saves and runs[job_id]["state"] == "RUNNING"):
            return self._cancelled(job_id)
        if runs[job_id]["state"] != "RUNNING":
            return Stopped(sentence=f"Run {job_id[:6]} was stopped before.", savepoint=None)
        self._ends(job_id, "FINISHED")
        self._note(f"stop {job_id}")
        if self.retained is not None:
            shutil.rmtree(self.retained)
        if job_id in self.claims:
            # Flink tells the end before it deletes.
            Timer(0.2, shutil.rmtree, [runs[job_id]["restored"]]).start()
        savepoint = str(self.savepoint(job_id))
        return Stopped(sentence=f"Run {job_id[:6]} stopped with savepoint {savepoint}.", savepoint=savepoint)

    def then(self, act: Callable[[], object]) -> None:
        """From now on `act` happens right after each stop, before whoever asked for it hears of its end."""
        stop = self.stop

        def stopped(*asked: Any, **how: Any) -> Stopped:
            ended = stop(*asked, **how)
            act()
            return ended

        self.stop = stopped  # type: ignore[method-assign]

    def _cancelled(self, job_id: JobId) -> Stopped:
        self._ends(job_id, "CANCELED")
        self._note(f"stop {job_id}")
        return Stopped(sentence=f"Run {job_id[:6]} was cancelled without a savepoint.", savepoint=None)

    def still_asked_to_stop(self, job_id: JobId) -> str | None:
        """See the port: as the test has set it."""
        return self.still_asked

    asked_to_start: str | None = None
    """By what a start that is not there may come to be yet, a sentence."""

    def still_asked_to_start(self, job_id: JobId) -> str | None:
        """See the port: as the test has set it."""
        return self.asked_to_start

    at_work: str | None = None
    """What is known of a stop that has neither ended nor failed, a sentence."""

    def stop_at_work(self, job_id: JobId) -> str | None:
        """See the port: as the test has set it."""
        return self.at_work

    def forgets(self, job_id: JobId) -> JobRun:
        """The JobManager came back without high availability: it knows nothing of the run, which is as it was here."""
        run = self.run(job_id)
        assert run is not None
        runs = self._read()
        del runs[job_id]
        self._write(runs)
        return run

    refuses: str | None = None
    """What stands in the way of a start."""

    def obstacle(self, job: str) -> str | None:
        """See the port."""
        return self.refuses

    declared: str | None = None
    """The digest of what a start would submit."""

    def declaration(self, job: str) -> str | None:
        """See the port: as the test has set it."""
        return self.declared

    def start(self, job: str, path: str, job_id: JobId) -> None:
        """See the port."""
        if job_id in self._read():
            return
        content = (Path(path.removeprefix("file:")) / "_metadata").read_bytes()
        if bytes.fromhex(OPERATOR) not in content:
            raise CommitRefused("State of an operator cannot be mapped.", "", "Nothing was started.")
        self.submit(job_id, at_checkpoint=int.from_bytes(content[8:16], "big"), restored=Path(path))
        self._note(f"start {job_id}")
        self.checkpoints(job_id, 2)

    def _commit(self, job_id: JobId, number: int, positions: range) -> None:
        summary = {
            "flink.job-id": job_id,
            "flink.operator-id": self._read()[job_id]["operator"],
            "flink.max-committed-checkpoint-id": str(number),
            "engine-name": "flink",
        }
        with by_hand(self._folder) as table:
            table.append(rows(positions), snapshot_properties=summary)

    def _note(self, call: str) -> None:
        with self._calls.open("a") as file:
            file.write(call + "\n")

    def _read(self) -> dict[str, dict]:  # type: ignore[type-arg]
        return json.loads(self._file.read_text())

    def _write(self, runs: dict[str, dict]) -> None:  # type: ignore[type-arg]
        half = self._file.with_suffix(".new")
        half.write_text(json.dumps(runs))
        half.replace(self._file)


def open_catalog(folder: Path) -> Catalog:
    """The catalog that `OrdersTable(folder)` made."""
    return load_catalog("lake", **lake_in(folder))


@contextmanager
def by_hand(folder: Path, table: str = ORDERS) -> Iterator[Table]:
    """A table of the folder, for whoever changes or reads it past Waterline."""
    with closing(open_catalog(folder)) as catalog:
        yield catalog.load_table(table)


def live_positions(folder: Path, at: int | None = None) -> list[int]:
    """Every live source position, sorted: of main, or at this snapshot."""
    with by_hand(folder) as table:
        found = table.scan(selected_fields=("source_position",), snapshot_id=at).to_arrow()
    return sorted(found["source_position"].to_pylist())
