"""The jars of Flink, Spark and Iceberg: pinned by name and checksum, fetched once, verified on each use.

Source: Maven artifacts by name, through the Ivy jar that PySpark carries, so that the project holds no
registry address. Cost: about 270 MB once; a third of a second of hashing on each use.
"""

import fcntl
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args
from xml.sax.saxutils import quoteattr

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bot.lab.errors import LabError, last_lines
from bot.lab.java import java

Flink = Literal["2.1", "1.20"]
Needed = Literal["flink", "flink-2.1", "flink-1.20", "spark", "both", "consumers", "rocksdb-2.1", "rocksdb-1.20"]
PINS = Path(__file__).with_name("jars.txt")


class Jar(BaseModel):
    """One pinned Maven artifact."""

    model_config = ConfigDict(frozen=True)

    needed_by: Needed
    group: str
    artifact: str
    version: str
    sha256: str = Field(pattern="^[0-9a-f]{64}$")

    @property
    def file_name(self) -> str:
        """Its name in the cache."""
        return f"{self.artifact}-{self.version}.jar"


def parse_pins(text: str) -> tuple[Jar, ...]:
    """The pinned jars of a `jars.txt`. Raises LabError that names the line that does not fit."""
    jars = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            needed_by, name, sha256 = line.split()
            group, artifact, version = name.split(":")
            pin = {"group": group, "artifact": artifact, "version": version, "sha256": sha256}
            jars.append(Jar.model_validate({"needed_by": needed_by, **pin}))
        except (ValueError, ValidationError) as wrong:
            raise LabError(
                "The list of pinned jars cannot be read.",
                f"Expected '{'|'.join(get_args(Needed))} group:artifact:version sha256'; line {number} is {line!r}.",
                "Correct this line of bot/lab/jars.txt.",
            ) from wrong
    return tuple(jars)


def cache_folder() -> Path:
    """`$WATERLINE_CACHE`, or `~/.cache/waterline`."""
    return Path(os.environ.get("WATERLINE_CACHE") or Path.home() / ".cache" / "waterline")


def ivy_home() -> Path:
    """The Ivy folder; give it to Spark as `spark.jars.ivy` and what is fetched here is not fetched again."""
    return cache_folder() / "ivy"


def flink_jars(version: Flink) -> list[Path]:
    """This Flink, its SQL gateway, Iceberg's Flink runtime and the SQLite driver; fetched when missing."""
    return _present("flink", "flink-2.1" if version == "2.1" else "flink-1.20", "both")


def rocksdb_jars(version: Flink) -> list[Path]:
    """The state backend of this Flink that keeps its state on disk; fetched when missing (about 50 MB)."""
    return _present("rocksdb-2.1" if version == "2.1" else "rocksdb-1.20")


def spark_jars() -> list[Path]:
    """Iceberg's Spark runtime, Avro and the SQLite driver; fetched when missing."""
    return _present("spark", "both")


def consumer_jars() -> list[Path]:
    """Those of Spark and OpenLineage's listener: what the consumers of the lab run with; fetched when missing."""
    return _present("spark", "both", "consumers")


def pyspark_jars() -> Path:
    """The folder of Spark's own jars, which also carry Ivy and the Hadoop client that Flink needs."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise LabError(
            "PySpark is not installed.",
            "Expected the package pyspark, which carries Spark, Ivy and the Hadoop client; found none.",
            "Install the project's requirements (make install).",
        )
    return Path(spec.origin).parent / "jars"


def prefetch(flink: Flink, say: Callable[[str], None]) -> None:
    """Fetches and verifies everything, so that the first lab with this Flink starts without the network."""
    for needed, jars in ((f"Flink {flink}", flink_jars(flink)), ("Spark", consumer_jars())):
        size_mb = sum(jar.stat().st_size for jar in jars) // 1_000_000
        say(f"{len(jars)} jars for {needed}, {size_mb} MB, verified in {cache_folder() / 'jars'}")


def verify(jar: Jar, file: Path) -> None:
    """Raises LabError when the file is not the pinned one; the file stays for whoever wants to look at it."""
    with file.open("rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    if found != jar.sha256:
        raise LabError(
            f"The jar {file.name} is not the pinned one.",
            f"Expected sha256 {jar.sha256}; {file} has {found}.",
            f"Delete {file} and run `waterline lab jars`; if it differs again, do not use this registry.",
        )


def _present(*needed: Needed) -> list[Path]:
    folder = cache_folder() / "jars"
    folder.mkdir(parents=True, exist_ok=True)
    pins = [jar for jar in parse_pins(PINS.read_text(encoding="utf-8")) if jar.needed_by in needed]
    with _alone(folder):
        if missing := [jar for jar in pins if not (folder / jar.file_name).exists()]:
            fetch(missing, folder)
    for jar in pins:
        verify(jar, folder / jar.file_name)
    return [folder / jar.file_name for jar in pins]


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Two labs that start at once fetch once: Ivy's cache has no lock of its own."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fetch(jars: Iterable[Jar], folder: Path) -> None:
    """Fetches these artifacts by name into the folder; each is verified before it takes its place."""
    wanted = list(jars)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as scratch:
        room = Path(scratch)
        (room / "ivy.xml").write_text(_ivy_module(wanted), encoding="utf-8")
        log = folder / "ivy.log"
        command = [java(), "-jar", _ivy_jar(), "-cache", ivy_home() / "cache", "-ivy", room / "ivy.xml"]
        command += ["-confs", "default", "-retrieve", f"{room}/[artifact]-[revision].[ext]"]
        with log.open("w", encoding="utf-8") as told:
            ended = subprocess.run([str(part) for part in command], stdout=told, stderr=told, check=False)
        absent = [jar.file_name for jar in wanted if not (room / jar.file_name).exists()]
        if ended.returncode or absent:
            raise LabError(
                "Jars could not be downloaded.",
                f"Expected {len(wanted)} files; missing {', '.join(absent[:5])} and the log ends:\n{last_lines(log)}\n",
                f"Check the network or the registry's mirror, read {log}, then run `waterline lab jars`.",
            )
        for jar in wanted:
            verify(jar, room / jar.file_name)
        for jar in wanted:
            (room / jar.file_name).replace(folder / jar.file_name)


def _ivy_jar() -> Path:
    return next(pyspark_jars().glob("ivy-*.jar"))


def _ivy_module(jars: Iterable[Jar]) -> str:
    """An Ivy module that asks for exactly these jars and for nothing that they depend on."""
    lines = [
        f"<dependency org={quoteattr(jar.group)} name={quoteattr(jar.artifact)} rev={quoteattr(jar.version)} "
        'transitive="false" conf="default->master"/>'
        for jar in jars
    ]
    return (
        '<ivy-module version="2.0"><info organisation="waterline" module="lab"/>'
        '<configurations><conf name="default"/></configurations>'
        f"<dependencies>{''.join(lines)}</dependencies></ivy-module>"
    )
