"""What the lab runs on: pinned jars of Flink, Spark and Iceberg, a Java, and the class of the dynamic sink.

The jars of Flink, Spark and Iceberg: pinned by name and checksum, fetched once, verified on each use.

Source: Maven artifacts by name, through the Ivy jar that PySpark carries, so that the project holds no
registry address. Cost: about 270 MB once; a third of a second of hashing on each use.

Finds the Java that runs Flink and Spark, and refuses one that cannot.

Iceberg's dynamic sink in SQL: it asks for a class that tells each row's table. Compiled here, without a JDK.

The class is compiled by the Janino that PySpark carries, in a JVM of its own, in a second or two. Flink must have it on
its own class path: the sink looks for it beside itself, where a jar that a session adds is not seen.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args
from xml.sax.saxutils import quoteattr

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bot.lab.errors import LabError, last_lines

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

LEAN = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:+ExitOnOutOfMemoryError"]
"""A small heap matters more here than peak speed; a starved process must end, not limp."""

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

    Raises: LabError when there is none, or when it is not a Java that Flink 2.1 and Spark 4.1 both run on.
    """
    candidate = Path(java_home, "bin", "java") if java_home else None
    found = candidate if candidate and candidate.exists() else None
    if found is None and (on_path := shutil.which("java", path=search_path)):
        found = Path(on_path)
    if found is None:
        raise LabError(
            "The lab needs Java and there is none.",
            f"Expected a java program below JAVA_HOME ({java_home or 'not set'}) or on PATH; found neither.",
            _INSTALL,
        )
    version = _version_of(found)
    if not OLDEST <= version <= NEWEST:
        raise LabError(
            "This Java cannot run the lab.", f"Expected Java {OLDEST} to {NEWEST}; {found} is Java {version}.", _INSTALL
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
        raise LabError(
            "The Java version is not known.",
            f"Expected a line with 'version' from {program} -version; found {told.stderr.strip()[:200]!r}.",
            _INSTALL,
        )
    return int(match.group(1))


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


GENERATOR = "waterline.lab.ToOneTable"
_SOURCE = """
package waterline.lab;

import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.util.Collector;
import org.apache.iceberg.DistributionMode;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.flink.FlinkSchemaUtil;
import org.apache.iceberg.flink.sink.dynamic.DynamicRecord;
import org.apache.iceberg.flink.sink.dynamic.DynamicTableRecordGenerator;

public class ToOneTable extends DynamicTableRecordGenerator {
  private transient Schema schema;
  private transient PartitionSpec spec;
  private transient TableIdentifier table;

  public ToOneTable(RowType rowType) {
    super(rowType);
  }

  public void generate(Object row, Collector out) {
    if (schema == null) {
      schema = new Schema(FlinkSchemaUtil.convert(rowType()).asStructType().fields());
      spec = PartitionSpec.builderFor(schema).day("event_time", "event_day").build();
      table = TableIdentifier.parse("%s");
    }
    out.collect(new DynamicRecord(table, "main", schema, (RowData) row, spec, DistributionMode.NONE, 1));
  }
}
"""


def generator_jar(folder: Path, version: Flink, table: str) -> Path:
    """A jar with the class that sends every row to this table (`namespace.name`), partitioned by the event's day."""
    jars = [*flink_jars(version), *pyspark_jars().glob("janino-*.jar"), *pyspark_jars().glob("commons-compiler-*.jar")]
    jars += pyspark_jars().glob("hadoop-client-*.jar")
    bridge = next(pyspark_jars().glob("py4j-*.jar"))
    class_path = ":".join(str(jar) for jar in jars)
    port = launch_gateway(jarpath=str(bridge), classpath=class_path, die_on_exit=True, java_path=str(java()))
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    try:
        compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
        compiler.cook(_SOURCE % table)
        classes = {str(name): bytes(code) for name, code in compiler.getBytecodes().items()}
    finally:
        gateway.shutdown()
    jar = folder / "dynamic-sink.jar"
    with zipfile.ZipFile(jar, "w") as into:
        for name, code in classes.items():
            into.writestr(f"{name.replace('.', '/')}.class", code)
    return jar
