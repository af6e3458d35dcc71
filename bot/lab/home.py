"""The one folder of a lab: where each thing lives, how a used one is emptied, and the state file's model."""

import shutil
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlparse

from pyarrow.fs import FileSystem, LocalFileSystem, S3FileSystem
from pydantic import AwareDatetime, BaseModel, ConfigDict

from bot.kept_process import pid_in
from bot.lab.errors import LabError

_FOLDERS = ("conf", "logs", "run", "warehouse", "checkpoints", "savepoints", "lineage", "scratch", "broker", "plugins")
PRODUCER_FILE = "producer.json"
"""In `scratch`; what the producer is told."""
_FILES = ("catalog.db", "catalog.db-journal", "lab.json")


Stack = Literal["small", "kafka"]
"""What the lab runs on: a source that counts, a SQLite catalog and local files; or a Kafka broker, Iceberg's REST
catalog and S3."""


class Storage(BaseModel):
    """Where the table, the checkpoints and the savepoints of a lab lie, and how they are reached."""

    model_config = ConfigDict(frozen=True)

    catalog_name: str
    catalog_properties: dict[str, str]
    """For PyIceberg, with `type`."""
    engine_properties: dict[str, str]
    """For Iceberg's Java, in Flink and Spark."""
    warehouse: str
    checkpoint_dir: str
    """A URI, as the next one."""
    savepoint_dir: str
    environment: dict[str, str] = {}
    """What a process must have in its environment to read and write there."""

    def opened(self, uri: str) -> tuple[FileSystem, str]:
        """The file system of this URI, and the path in it."""
        if not uri.startswith("s3://"):
            return LocalFileSystem(), str(local(uri))
        told = self.environment
        s3 = S3FileSystem(
            endpoint_override=told["AWS_ENDPOINT_URL"],
            access_key=told["AWS_ACCESS_KEY_ID"],
            secret_key=told["AWS_SECRET_ACCESS_KEY"],
            region=told["AWS_REGION"],
        )
        return s3, uri.removeprefix("s3://")


def local(uri: str) -> Path:
    """The path of a file on this machine; Iceberg writes `file:` with one or three slashes, or none at all."""
    return Path(unquote(urlparse(uri).path))


class LabState(Storage):
    """`lab.json`: everything that someone outside the lab needs to look at it and to act on it."""

    home: Path
    sink: str
    started_at: AwareDatetime
    table: str
    """`namespace.name`, without the catalog."""
    flink_url: str
    gateway_url: str
    spark_remote: str
    lineage_path: Path
    job_name: str
    code_version: str
    """Found in `GET /jobs/:id/config` under `execution-config.user-config` as `code.version`."""
    start_statements: tuple[str, ...]
    """Run in this order in one gateway session; the last one submits the job and answers with its id."""
    session_properties: dict[str, str]
    """The properties of that session."""
    pids: dict[str, int]
    flink_version: str = "2.1"
    format_version: int = 2
    """Of the table."""
    upsert: bool = False
    """Whether a row replaces the one with its key."""
    consumers: tuple[str, ...] = ()
    """Those that read the table."""
    stack: Stack = "small"
    kafka_servers: str = ""
    """Of the stack `kafka`: `host:port`."""
    topic: str = ""


class Home:
    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.state_file = self.folder / "lab.json"
        self.catalog_file = self.folder / "catalog.db"
        self.lineage_file = self.folder / "lineage" / "events.jsonl"

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def small_storage(self, catalog_name: str) -> Storage:
        warehouse = (self / "warehouse").as_uri()
        return Storage(
            catalog_name=catalog_name,
            catalog_properties={"type": "sql", "uri": f"sqlite:///{self.catalog_file}", "warehouse": warehouse},
            engine_properties={
                "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
                "uri": f"jdbc:sqlite:{self.catalog_file}?busy_timeout=10000",
                "jdbc.schema-version": "V1",
                "warehouse": warehouse,
            },
            warehouse=warehouse,
            checkpoint_dir=(self / "checkpoints").as_uri(),
            savepoint_dir=(self / "savepoints").as_uri(),
        )

    def prepare(self) -> None:
        """Makes the folder ready for a new lab; what an earlier lab left is deleted.

        Raises: LabError when a lab still runs here, or when the folder holds something that is not a lab's.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LabError(
                f"The folder {self.folder} cannot be made.",
                f"Expected a folder that you may write into; found {type(error).__name__}: {error.strerror}.",
                "Name another one with --home.",
            ) from error
        if any(pid_in(file) for file in (self / "run").glob("*.pid")):
            raise LabError(
                "Another lab runs in this folder.",
                f"Expected no live process in {self / 'run'}; found one.",
                "Stop that lab (Ctrl-C where it runs) or choose another --home.",
            )
        foreign = sorted(entry.name for entry in self.folder.iterdir() if entry.name not in (*_FOLDERS, *_FILES))
        if foreign:
            raise LabError(
                "This folder is not a lab's.",
                f"Expected an empty folder or an earlier lab; {self.folder} also holds {', '.join(foreign[:3])}.",
                "Choose another --home.",
            )
        self.empty()
        for name in ("logs", "broker", "plugins", "scratch"):
            shutil.rmtree(self / name, ignore_errors=True)
        for name in _FOLDERS:
            (self / name).mkdir(exist_ok=True)

    def empty(self) -> None:
        """Deletes table, catalog, checkpoints and lineage; processes and logs stay."""
        for name in _FILES:
            (self / name).unlink(missing_ok=True)
        for name in ("warehouse", "checkpoints", "savepoints", "lineage"):
            shutil.rmtree(self / name, ignore_errors=True)
            (self / name).mkdir(exist_ok=True)

    def empty_lineage(self) -> None:
        """Deletes lineage, and what the producer was told; S3 and the catalog are another's."""
        for file in (self.lineage_file, self / "scratch" / PRODUCER_FILE):
            file.unlink(missing_ok=True)

    def write_state(self, state: LabState) -> None:
        """Writes `lab.json` in one step, so that no reader sees half of it."""
        half = self.state_file.with_suffix(".new")
        half.write_text(state.model_dump_json(indent=2) + "\n", encoding="utf-8")
        half.replace(self.state_file)

    def state(self) -> LabState:
        """What `lab.json` says. Raises LabError when no lab has written it."""
        if not self.state_file.exists():
            raise LabError(
                "No lab runs here.",
                f"Expected {self.state_file}; there is none.",
                "Start one with `waterline lab up`, or name its folder with --home.",
            )
        return LabState.model_validate_json(self.state_file.read_text(encoding="utf-8"))
