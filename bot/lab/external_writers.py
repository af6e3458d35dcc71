"""What people and programs other than the job do to the table, and to the processes of a running lab."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from pyarrow.fs import FileSelector
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.manifest import DataFile, ManifestEntryStatus
from pyiceberg.table import Table

from bot.kept_process import pid_in
from bot.lab.errors import LabError, until
from bot.lab.flink_rest import FlinkRest
from bot.lab.home import Home, LabState
from bot.lab.proof import open_catalog
from bot.lab.spark_sql import spark_sql
from bot.lab.wire import NOTIFICATION, lose


class ExternalWriter:
    """Acts through the catalog, through Spark, or on the files themselves."""

    def __init__(self, home: Home, state: LabState) -> None:
        self._home = home
        self._state = state

    @contextlib.contextmanager
    def table(self) -> Iterator[Table]:
        with contextlib.closing(open_catalog(self._state)) as catalog:
            yield catalog.load_table(self._state.table)

    def sql(self, *statements: str) -> list[dict[str, object]]:
        """Runs Spark SQL; `{table}` and `{catalog}` in it are the lab's. The answer is the last one's rows."""
        names = {"table": f"{self._state.catalog_name}.{self._state.table}", "catalog": self._state.catalog_name}
        return spark_sql(self._home, *(statement.format(**names) for statement in statements))

    def compacts(self) -> None:
        """Maintenance writes the table's data files together, two and more."""
        self.sql("CALL {catalog}.system.rewrite_data_files(table => '{table}', options => map('min-input-files', '2'))")

    def set_property(self, name: str, value: str) -> None:
        with self.table() as table, table.transaction() as transaction:
            transaction.set_properties({name: value})

    def roll_back_to(self, snapshot_id: int) -> int:
        """Moves `main` back, as a hand with PyIceberg would; the answer is the head that was left behind.

        The running job may commit in between, so a refused move is tried again with the new head. PyIceberg writes no
        format 3 yet: there the hand uses Spark, which asks for no expected head.
        """
        if self._state.format_version > 2:
            return self._roll_back_with_spark(snapshot_id)
        for _ in range(10):
            with self.table() as table:
                left = table.metadata.current_snapshot_id
                try:
                    table.manage_snapshots().rollback_to_snapshot(snapshot_id).commit()
                except CommitFailedException:
                    time.sleep(0.1)
                    continue
            if left is not None:
                return left
        raise LabError(
            "The table could not be rolled back.",
            f"Expected to move main to {snapshot_id}; the job committed each time before.",
            "Run the story again.",
        )

    def _roll_back_with_spark(self, snapshot_id: int) -> int:
        moved = f"CALL {{catalog}}.system.rollback_to_snapshot(table => '{{table}}', snapshot_id => {snapshot_id})"
        (row,) = self.sql(moved)
        return int(str(row["previous_snapshot_id"]))

    def commit_again(self, snapshot_id: int) -> int:
        """Appends the files of a Flink commit once more under the same job, operator and checkpoint id.

        This is what a sink leaves whose first commit was applied while its answer was lost. The answer is the id
        of the second commit.
        """
        with self.table() as table:
            snapshot = table.snapshot_by_id(snapshot_id)
            summary = snapshot.summary.additional_properties if snapshot and snapshot.summary else {}
            written_by = {name: value for name, value in summary.items() if name.startswith("flink.")}
            files = _added_by(table, snapshot_id)
            with (
                table.transaction() as transaction,
                transaction.update_snapshot(snapshot_properties=written_by).fast_append() as append,
            ):
                for file in files:
                    append.append_data_file(file)
            return int(table.refresh().metadata.current_snapshot_id or 0)

    def remove_data_file(self, snapshot_id: int) -> str:
        """Deletes one data file that this snapshot added from the storage; the answer is its path."""
        with self.table() as table:
            return self._deleted(_added_by(table, snapshot_id)[0].file_path)

    def remove_metadata_file(self) -> str:
        """Deletes the metadata file that the catalog points at; the answer is its path."""
        with self.table() as table:
            return self._deleted(table.metadata_location)

    def _deleted(self, uri: str) -> str:
        files, inside = self._state.opened(uri)
        files.delete_file(inside)
        return inside

    def set_pointer_back(self, files: int) -> str:
        """Drops the table from the catalog and registers it with a metadata file so many before; the answer is its
        path. The files stay."""
        with contextlib.closing(open_catalog(self._state)) as catalog:
            log = catalog.load_table(self._state.table).metadata.metadata_log
            older = log[-files].metadata_file
            catalog.drop_table(self._state.table)
            catalog.register_table(self._state.table, older)
        return older

    def flink_manifests(self, job_id: str, checkpoint_id: int) -> list[Path]:
        """The temporary manifests that this run wrote for this checkpoint and that are still on storage."""
        place = f"{self._state.warehouse}/{self._state.table.replace('.', '/')}/metadata"
        files, inside = self._state.opened(place)
        found = [Path(info.path) for info in files.get_file_info(FileSelector(inside))]
        return [
            file for file in found if file.match(f"{job_id}-*.avro") and file.name.split("-")[4] == str(checkpoint_id)
        ]


def _added_by(table: Table, snapshot_id: int) -> list[DataFile]:
    snapshot = table.snapshot_by_id(snapshot_id)
    if snapshot is None:
        return []
    return [
        entry.data_file
        for manifest in snapshot.manifests(table.io)
        if manifest.added_snapshot_id == snapshot_id
        for entry in manifest.fetch_manifest_entry(table.io)
        if entry.status == ManifestEntryStatus.ADDED
    ]


class Machines:
    """Kills, freezes and awaits by the pid files of the lab; its keepers bring back what was killed."""

    def __init__(self, home: Home, flink: FlinkRest) -> None:
        self._home = home
        self._flink = flink

    def kill_taskmanager(self) -> int:
        """Kills the TaskManager with SIGKILL; the answer is the process id that is gone."""
        return self._kill("taskmanager")

    def await_new_taskmanager(self, old: int) -> int:
        """The process id of the TaskManager that took the place of `old`."""
        return self._await_another("taskmanager", old)

    def freeze_taskmanager(self, seconds: float, name: str = "taskmanager") -> None:
        """Stops a TaskManager for a while, as a long garbage collection or a stuck disk would."""
        pid = self._pid_of(name)
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            os.kill(pid, signal.SIGCONT)

    def lose_notifications(self) -> None:
        """From now on no TaskManager hears that a checkpoint is complete; needs a lab with a wire."""
        if pid_in(self._home / "run" / "wire.pid") is None:
            raise LabError(
                "This lab was started without --wire, so no message can be lost.",
                "Expected a lab that was started with --wire.",
                "Start one: waterline lab up --wire.",
            )
        lose(self._home / "scratch", NOTIFICATION)

    def restart_jobmanager(self) -> None:
        """Kills the JobManager; without high availability the new one knows no job, so any job id may be used again.

        Returns when the TaskManager has registered with the new one.
        """
        self.await_new_jobmanager(self.kill_jobmanager())

    def kill_jobmanager(self) -> int:
        """Kills the JobManager with SIGKILL, and its jobs with it; the answer is the process id that is gone."""
        return self._kill("jobmanager")

    def await_new_jobmanager(self, old: int) -> None:
        """Returns when the JobManager that took the place of `old` has a TaskManager."""
        self._await_another("jobmanager", old)
        log = str(self._home / "logs" / "jobmanager.log")
        until("the TaskManager at the new JobManager", lambda: self._flink.taskmanagers() or None, 120, log)

    def _kill(self, name: str) -> int:
        pid = self._pid_of(name)
        os.kill(pid, signal.SIGKILL)
        return pid

    def _pid_of(self, name: str) -> int:
        pid_file = self._home / "run" / f"{name}.pid"
        return until(f"the {name}", lambda: pid_in(pid_file), 20, str(self._home / "logs" / f"{name}.log"))

    def _await_another(self, name: str, old: int) -> int:
        def another() -> int | None:
            pid = pid_in(self._home / "run" / f"{name}.pid")
            return pid if pid != old else None

        return until(f"a new {name}", another, 30, str(self._home / "logs" / f"{name}.log"))
