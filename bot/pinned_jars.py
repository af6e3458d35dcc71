"""Jars that are pinned by name and checksum, fetched once, verified on each use; and the Java that runs them.

Source: Maven artifacts by name, through the Ivy jar that PySpark carries, so that the project holds no
registry address. The cache is one folder for Waterline's own Spark, the lab and the tests.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args
from xml.sax.saxutils import quoteattr

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class MachineError(RuntimeError):
    """Raised when this machine lacks something that must be installed or downloaded; in three parts."""

    def __init__(self, happened: str, found: str, next_step: str) -> None:
        self.happened = happened
        self.found = found
        self.next_step = next_step
        super().__init__(f"{happened} {found} {next_step}")


def last_lines(log: Path, count: int = 12) -> str:
    """The end of a log file, or a sentence that says there is none."""
    if not log.exists():
        return f"{log} does not exist."
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-count:]
    return "\n".join(lines) if lines else f"{log} is empty."


OLDEST = 17
NEWEST = 21
_INSTALL = "Install Java 17 (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME to one."

_OPENED = (
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.net",
    "java.io",
    "java.nio",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
    "java.text",
    "java.time",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "java.util.concurrent.locks",
    "jdk.internal.ref",
)

OPENS = [
    "--add-exports=java.base/sun.net.util=ALL-UNNAMED",
    "--add-exports=java.rmi/sun.rmi.registry=ALL-UNNAMED",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
    "-Djdk.reflect.useDirectMethodHandle=false",
]
"""What Flink and Spark open by reflection."""

LEAN = [
    "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=128m", "-Xshare:auto",
    "-XX:+ExitOnOutOfMemoryError",
]  # fmt: skip
"""A small heap matters more here than peak speed; a starved process must end, not limp. The first compiler alone has a
code cache of 48 MB, which a Spark fills within ten minutes of work; then it ends."""

SPARK_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
SPARK_FORGETS = {
    "spark.sql.ui.retainedExecutions": "20",
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "1000",
    "spark.ui.dagGraph.retainedRootRDDs": "50",
    "spark.connect.ui.retainedSessions": "10",
    "spark.connect.ui.retainedStatements": "20",
}
"""Past queries that Spark keeps for a page which is off: by default a thousand, with their plans."""
FORGETS_FILES = "-Dorg.apache.avro.fastread=false"
"""Avro's fast reader remembers every file that it ever read (its cache's values hold its weak keys): 100,000 manifests
filled a heap of 1 GB, and each answer took ten times as long."""

_LOG4J = """\
rootLogger.level = {level}
rootLogger.appenderRef.console.ref = Console
appender.console.name = Console
appender.console.type = CONSOLE
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss.SSS}} %-5p %c{{1}} - %m%n%ex
"""


def log4j(level: str) -> str:
    """Properties by which a JVM writes everything from this level on to its console, where the lab keeps it."""
    return _LOG4J.format(level=level)


def java_in(java_home: str | None, search_path: str | None) -> Path:
    """The java program below `java_home`, else the first on `search_path`.

    Raises: MachineError when there is none, or when it is not a Java that Flink 2.1 and Spark 4.1 both run on.
    """
    candidate = Path(java_home, "bin", "java") if java_home else None
    found = candidate if candidate and candidate.exists() else None
    if found is None and (on_path := shutil.which("java", path=search_path)):
        found = Path(on_path)
    if found is None:
        raise MachineError(
            "Java is needed and there is none.",
            f"Expected a java program below JAVA_HOME ({java_home or 'not set'}) or on PATH; found neither.",
            _INSTALL,
        )
    version = _version_of(found)
    if not OLDEST <= version <= NEWEST:
        raise MachineError(
            "This Java cannot run Flink and Spark.",
            f"Expected Java {OLDEST} to {NEWEST}; {found} is Java {version}.",
            _INSTALL,
        )
    return found


@cache
def java() -> Path:
    """The Java of this machine's environment, looked for once."""
    return java_in(os.environ.get("JAVA_HOME"), os.environ.get("PATH"))


def _version_of(program: Path) -> int:
    told = subprocess.run([str(program), "-version"], capture_output=True, text=True, timeout=30, check=False)
    match = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    if match is None:
        raise MachineError(
            "The Java version is not known.",
            f"Expected a line with 'version' from {program} -version; found {told.stderr.strip()[:200]!r}.",
            _INSTALL,
        )
    return int(match.group(1))


class Jar(BaseModel):
    """One pinned Maven artifact."""

    model_config = ConfigDict(frozen=True)

    needed_by: str
    group: str
    artifact: str
    version: str
    classifier: str = ""
    sha256: str = Field(pattern="^[0-9a-f]{64}$")

    @property
    def file_name(self) -> str:
        """Its name in the cache."""
        return "-".join(part for part in (self.artifact, self.version, self.classifier) if part) + ".jar"


def parse_pins(pins: Path, needed: Collection[str]) -> tuple[Jar, ...]:
    """The pinned jars of a list: `NEEDED group:artifact:version[:classifier] sha256`, one a line.

    Raises MachineError that names the line that does not fit.
    """
    jars = []
    for number, line in enumerate(pins.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            needed_by, name, sha256 = line.split()
            group, artifact, version, *classifier = name.split(":")
            pin = Jar(
                needed_by=needed_by,
                group=group,
                artifact=artifact,
                version=version,
                classifier=":".join(classifier),
                sha256=sha256,
            )
            if needed_by not in needed:
                raise ValueError(needed_by)
            jars.append(pin)
        except (ValueError, ValidationError) as wrong:
            raise MachineError(
                "The list of pinned jars cannot be read.",
                f"Expected '{'|'.join(needed)} group:artifact:version sha256'; line {number} is {line!r}.",
                f"Correct this line of {pins.name}.",
            ) from wrong
    return tuple(jars)


OfSpark = Literal["iceberg", "s3", "gcs", "adls", "kafka", "sqlite", "postgresql"]
SPARK_PINS = Path(__file__).with_name("spark_jars.txt")


def spark_jars(needed: Iterable[OfSpark] = ("iceberg", "sqlite"), settings: Path | None = None) -> list[Path]:
    """What Spark needs besides PySpark's jars, by itself for tables of a catalog in SQLite. Fetched when missing: 48 MB
    for Iceberg, 12 MB for S3, 10 MB for Kafka. See `present`."""
    wanted = frozenset(needed)
    pins = parse_pins(SPARK_PINS, get_args(OfSpark))
    return present([jar for jar in pins if jar.needed_by in wanted], settings)


def cache_folder() -> Path:
    """`$WATERLINE_CACHE`, or `~/.cache/waterline`."""
    return Path(os.environ.get("WATERLINE_CACHE") or Path.home() / ".cache" / "waterline")


def ivy_home() -> Path:
    """The Ivy folder; give it to Spark as `spark.jars.ivy` and what is fetched here is not fetched again."""
    return cache_folder() / "ivy"


def pyspark_jars() -> Path:
    """The folder of Spark's own jars, which also carry Ivy and the Hadoop client that Flink needs."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise MachineError(
            "PySpark is not installed.",
            "Expected the package pyspark, which carries Spark, Ivy and the Hadoop client; found none.",
            "Install the project's requirements (make install).",
        )
    return Path(spec.origin).parent / "jars"


def present(pins: Sequence[Jar], settings: Path | None = None) -> list[Path]:
    """These jars in the cache; what is missing is fetched, and every file is verified. `settings`: an Ivy settings file
    that names a mirror. Raises MachineError."""
    folder = cache_folder() / "jars"
    if missing := _missing(pins, folder):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with _alone(folder):
                fetch(_missing(pins, folder), folder, settings)
        except OSError as error:
            raise MachineError(
                "Jars cannot be kept on this machine.",
                f"Expected {len(missing)} jars in {folder}, or to write there; found {type(error).__name__}.",
                "Let Waterline's user write there, or name another folder in WATERLINE_CACHE.",
            ) from error
    for jar in pins:
        verify(jar, folder / jar.file_name)
    return [folder / jar.file_name for jar in pins]


def _missing(pins: Sequence[Jar], folder: Path) -> list[Jar]:
    return [jar for jar in pins if not (folder / jar.file_name).exists()]


def verify(jar: Jar, file: Path) -> None:
    """Raises MachineError when the file is not the pinned one; the file stays for whoever wants to look at it."""
    with file.open("rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    if found != jar.sha256:
        raise MachineError(
            f"The jar {file.name} is not the pinned one.",
            f"Expected sha256 {jar.sha256}; {file} has {found}.",
            f"Delete {file} and run this again; if it differs again, do not use this registry.",
        )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Two that start at once fetch once: Ivy's cache has no lock of its own."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fetch(jars: Iterable[Jar], folder: Path, settings: Path | None = None) -> None:
    """Fetches these artifacts by name into the folder; each is verified before it takes its place."""
    wanted = list(jars)
    if not wanted:  # somebody else has fetched them meanwhile
        return
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as scratch:
        room = Path(scratch)
        (room / "ivy.xml").write_text(_ivy_module(wanted), encoding="utf-8")
        log = folder / "ivy.log"
        command = [java(), "-jar", _ivy_jar(), "-cache", ivy_home() / "cache", "-ivy", room / "ivy.xml"]
        command += [] if settings is None else ["-settings", settings]
        command += ["-confs", "default", "-retrieve", f"{room}/[artifact]-[revision](-[classifier]).[ext]"]
        with log.open("w", encoding="utf-8") as told:
            ended = subprocess.run([str(part) for part in command], stdout=told, stderr=told, check=False)
        absent = [jar.file_name for jar in wanted if not (room / jar.file_name).exists()]
        if ended.returncode or absent:
            raise MachineError(
                "Jars could not be downloaded.",
                f"Expected {len(wanted)} files; missing {', '.join(absent[:5])} and the log ends:\n{last_lines(log)}\n",
                f"Check the network or the registry's mirror, read {log}, then run it again.",
            )
        for jar in wanted:
            verify(jar, room / jar.file_name)
        for jar in wanted:
            (room / jar.file_name).replace(folder / jar.file_name)


def _ivy_jar() -> Path:
    return next(pyspark_jars().glob("ivy-*.jar"))


def _ivy_module(jars: Iterable[Jar]) -> str:
    """An Ivy module that asks for exactly these files and for nothing that they depend on."""
    files: dict[tuple[str, str, str], list[str]] = {}
    for jar in jars:
        files.setdefault((jar.group, jar.artifact, jar.version), []).append(jar.classifier)
    lines = [
        f'<dependency org={quoteattr(group)} name={quoteattr(name)} rev={quoteattr(version)} transitive="false" '
        f'conf="default->master">{"".join(_artifact(name, each) for each in classifiers)}</dependency>'
        for (group, name, version), classifiers in files.items()
    ]
    return (
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven"><info organisation="waterline" '
        'module="jars"/><configurations><conf name="default"/></configurations>'
        f"<dependencies>{''.join(lines)}</dependencies></ivy-module>"
    )


def _artifact(name: str, classifier: str) -> str:
    told = f" m:classifier={quoteattr(classifier)}" if classifier else ""
    return f'<artifact name={quoteattr(name)} type="jar" ext="jar"{told}/>'
