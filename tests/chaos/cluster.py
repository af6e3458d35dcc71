"""The runs of the experiment's Flink: they commit by themselves, are stopped and started on demand, and go wrong."""

import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from secrets import token_hex
from typing import Literal, get_args

from pyiceberg.exceptions import CommitFailedException
from sqlalchemy.exc import OperationalError

from bot.observation.ids import JobId
from tests.little_flink import LittleFlink, open_catalog
from tests.tables import ORDERS

Damage = Literal["restored-from-older-savepoint", "committed-twice"]
DAMAGES: tuple[Damage, ...] = get_args(Damage)
COMMIT_EVERY_S = 0.4
_ENDED = {"FINISHED", "CANCELED", "FAILED"}


class Cluster(LittleFlink):
    """Runs that commit by themselves, until they are stopped."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._turn = threading.RLock()
        self._going = threading.Event()

    def commit_for_ever(self) -> None:
        """One checkpoint of every running run, again and again."""
        while True:
            self._going.wait()
            with self._turn:
                for job_id in self._alive():
                    self._checkpoint(job_id)
            time.sleep(COMMIT_EVERY_S)

    def hold(self) -> list[int]:
        """Commit nothing from now on; the newest checkpoint of each run that is alive."""
        self._going.clear()
        with self._turn:
            return [self._read()[job_id]["checkpoint"] for job_id in self._alive()]

    def go(self) -> None:
        self._going.set()

    def damage(self, kind: Damage) -> None:
        """Of the one run that is alive."""
        with self._turn:
            [run] = self._alive()
            if kind == "committed-twice":
                self._commits_twice(run)
            else:
                self._restores_older(run)

    def _restores_older(self, good: JobId) -> None:
        """It is stopped well, and another one is started from a savepoint of three commits before."""
        older = self.savepoint(good)
        at = self._read()[good]["checkpoint"]
        for _ in range(3):
            self._checkpoint(good)
        self._end(good)
        wrong = JobId(token_hex(16))
        self.submit(wrong, at_checkpoint=at, restored=older)
        for _ in range(2):
            self._checkpoint(wrong)

    def _commits_twice(self, run: JobId) -> None:
        """The catalog's answer to a commit is lost, the sink commits the same files again, and goes on."""
        self._checkpoint(run)
        until_in(lambda: commit_newest_again(self._folder))
        for _ in range(2):
            self._checkpoint(run)

    def stop_once(self, job_id: JobId) -> Path:
        """Stop with a savepoint, on demand."""
        with self._turn:
            if self._read()[job_id]["state"] not in _ENDED:
                self._note(f"stop {job_id}")
                self._end(job_id)
            return self.savepoint(job_id)

    def start_once(self, job_id: JobId, path: str) -> bool:
        """Start from a savepoint; False if the id is known."""
        with self._turn:
            if job_id in self._read():
                return False
            folder = Path(path.removeprefix("file:"))
            at = int.from_bytes((folder / "_metadata").read_bytes()[8:16], "big")
            self.submit(job_id, at_checkpoint=at, restored=folder)
            self._note(f"start {job_id}")
            return True

    def _alive(self) -> list[JobId]:
        return [JobId(job_id) for job_id, run in self._read().items() if run["state"] not in _ENDED]

    def _end(self, job_id: JobId) -> None:
        self.savepoint(job_id)
        runs = self._read()
        runs[job_id]["state"] = "FINISHED"
        self._write(runs)

    def _checkpoint(self, job_id: JobId) -> None:
        until_in(lambda: self.checkpoints(job_id))


def until_in(commit: Callable[[], None]) -> None:
    """As Iceberg's sink does it: when another commit was first, or the catalog was locked, it is tried again."""
    while True:
        try:
            commit()
        except (CommitFailedException, OperationalError):
            continue
        return


def commit_newest_again(folder: Path) -> None:
    """The files and the summary of main's newest commit, once more."""
    with closing(open_catalog(folder)) as catalog:
        table = catalog.load_table(ORDERS)
        newest = table.current_snapshot()
        mine = (m for m in newest.manifests(table.io) if m.added_snapshot_id == newest.snapshot_id)
        files = [entry.data_file for manifest in mine for entry in manifest.fetch_manifest_entry(table.io)]
        said = newest.summary.additional_properties
        summary = {key: value for key, value in said.items() if key.startswith("flink.") or key == "engine-name"}
        with table.transaction() as change, change.update_snapshot(summary).fast_append() as append:
            for file in files:
                append.append_data_file(file)
