"""The embedded Spark: one Connect server on loopback, started by the bot and gone with it."""

import hashlib
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from pydantic import Field

from bot.adapters.spark_storage import (
    IVY_SETTINGS,
    Storage,
    has_keys,
    jars_for,
    keys_told,
    profile_that_runs,
    server_conf,
    storages_in,
)
from bot.kept_process import KeptProcess, free_ports, listens
from bot.observation.errors import EvidenceCancelled, EvidenceFailed
from bot.observation.record import Record
from bot.pinned_jars import (
    FORGETS_FILES,
    LEAN,
    SPARK_CONNECT,
    SPARK_FORGETS,
    OfSpark,
    cache_folder,
    java,
    pyspark_jars,
)

_YIELDS = 10
"""Niceness of the server: evidence may take a little longer, a click is acknowledged at once. Without it a task on
every core made clicks wait several times as long as on an idle machine (`make bench`)."""

_OPTIONS = "spark.driver.extraJavaOptions"
_LEAN = [*LEAN, "-XX:MetaspaceSize=256m", FORGETS_FILES]
"""Made for weeks of small questions. Classes grow to some 190 MB, and each step to there collected the whole heap."""
_CLASSES = "classes"
"""Folder of the cache with what a JVM has loaded, which the next one need not load and verify anew (its class data
sharing). A JVM uses none that another Java made, or that was made of other jars. Measured on two busy cores: of the
53 CPU seconds that the JVM takes for a first diagnosis, 20 go."""
_FOR_EVER = "-1"
"""A bot waits for days. By itself Spark closes a session that nobody asked for an hour, and the next question fails."""
_UNMARKED = {"spark.python.sql.dataFrameDebugging.enabled": "false"}
"""Otherwise the client looks, for each column of each query, for the line that asked for it, and for IPython: 2 ms of a
ledger's 90."""
_HANDS_AFAR = 6
"""Tasks side by side where files lie on an object storage: they wait for its answers most of the time. More would each
have too little of the heap for the row groups of large files. With 30 ms an answer, a diagnosis of 20 commits took
149 s on a busy machine, and takes 81."""
_PLANS_AFAR = "-Diceberg.worker.num-threads=16"
"""Manifests that Iceberg reads side by side when it plans a scan: as many as there are cores by itself."""
_AFAR = {"spark.sql.sources.parallelPartitionDiscovery.threshold": "8"}
"""Up to so many paths are looked for one after the other; 32 by itself, each of which costs two answers."""
_NOTICED_AFTER_S = 1.2
"""The AWS SDK (2.29) keeps credentials that have expired for a second (`CachedSupplier`)."""
_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.console.ref = Console
appender.console.name = Console
appender.console.type = CONSOLE
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yyyy-MM-dd HH:mm:ss.SSS} %-5p %c{1} - %m%n%ex
logger.aws.name = software.amazon.awssdk
logger.aws.level = error
"""


class EmbeddedSpark(Record):
    """How the embedded server is started."""

    cores: int = Field(default=2, ge=1)
    memory: str = Field(default="1g", pattern=r"^\d+[mg]$")
    """The JVM's heap, as `-Xmx` takes it."""
    properties: dict[str, str] = {}
    """The catalog's, as PyIceberg takes them: from them follow the jars and settings of its storage."""
    jars: tuple[Path, ...] = ()
    """Jar files in place of the pinned ones for Iceberg itself; those of a storage are added in any case."""
    drivers: tuple[OfSpark, ...] = ()
    """`sqlite` or `postgresql`, where Spark writes through a SQL catalog; `kafka`, where a replay reads from it."""
    packages: tuple[str, ...] = ()
    """More packages, which Spark resolves by name when it starts."""
    conf: dict[str, str] = {}
    """More Spark settings; they win."""
    keeps_classes: bool = False
    """Whether what it has loaded is kept for the next start, some 170 MB in Waterline's cache; written once, after
    the server was asked to stop."""
    start_within_s: float = 60.0
    """Without the download of pinned jars, which comes first; longer where Spark must download `packages`."""


class SparkServer:
    """One started server. `stop` ends it; so does the end of this process, however it ends."""

    def __init__(
        self,
        wanted: EmbeddedSpark,
        is_given_up: Callable[[], bool] = lambda: False,
        storages: Iterable[Storage] = (),
        keys: Mapping[str, str] | None = None,
    ) -> None:
        """Starts it and returns when it listens. It reads `storages` beside those that the catalog's properties name,
        S3 with the keys in `keys`, if any: at first the catalog's properties.

        Raises EvidenceFailed with the end of its log, and EvidenceCancelled when nobody waits for it any more: on a
        busy machine a start takes as long as a bot has to stop."""
        self.storages = frozenset(storages) | storages_in(wanted.properties)
        self.slots = max(wanted.cores, _HANDS_AFAR) if self.storages else wanted.cores
        """So many tasks run side by side."""
        jars = self._jars(wanted)
        self._room = Path(tempfile.mkdtemp(prefix="waterline-spark-"))
        self._log = self._room / "server.log"
        self._classes = _classes_of(wanted, jars) if wanted.keeps_classes else None
        """Where they are, or may be put."""
        self._token = secrets.token_urlsafe(24)
        (self._port,) = free_ports(1)
        keys = wanted.properties if keys is None else keys
        self.lends = has_keys(keys)
        """Whether S3 is asked with keys of the catalog, and not with those of this machine."""
        self._keys = ""
        self.lend(keys)
        self._kept = KeptProcess(
            self._command(wanted, jars),
            self._log,
            self._room / "pid",
            {**_environment(self._token), **self._lent()},
            scratch=self._room,
            niceness=_YIELDS,
        )
        writes = self._classes is not None and not self._classes.exists()
        self._wait_until_it_listens(wanted.start_within_s * (2 if writes else 1), is_given_up)

    @property
    def url(self) -> str:
        """Where a session connects; carries the token, so it is never logged."""
        return f"sc://localhost:{self._port}/;token={self._token}"

    @property
    def pid(self) -> int | None:
        """Of the JVM (of its launcher in the first half second; the launcher becomes the JVM)."""
        return self._kept.pid

    @property
    def is_alive(self) -> bool:
        """Whether the server still listens; asked of its port, because a keeper may notice a death late."""
        return self._kept.code is None and listens("127.0.0.1", self._port)

    def lend(self, keys: Mapping[str, str]) -> None:
        """When this returns, S3 is asked with the keys in these properties."""
        told = keys_told(keys)
        if not self.lends or told == self._keys:
            return
        written = self._room / "keys.new"
        written.touch(mode=0o600)
        written.write_text(told, encoding="utf-8")
        written.replace(self._room / "keys")
        time.sleep(_NOTICED_AFTER_S if self._keys else 0)
        self._keys = told

    def _lent(self) -> dict[str, str]:
        if not self.lends:
            return {}
        profile = self._room / "credentials"
        profile.write_text(profile_that_runs(f"cat '{self._room / 'keys'}'"), encoding="utf-8")
        return {"AWS_SHARED_CREDENTIALS_FILE": str(profile), "AWS_CONFIG_FILE": os.devnull}

    def _jars(self, wanted: EmbeddedSpark) -> list[Path]:
        own: tuple[OfSpark, ...] = () if wanted.jars else ("iceberg",)
        pinned = jars_for({*own, *wanted.drivers, *self.storages}, wanted.conf.get(IVY_SETTINGS))
        return [*wanted.jars, *pinned]

    def stop(self, *, was_used: bool = False) -> None:
        """End the JVM and remove its scratch folder. Safe to repeat. `was_used`: it has loaded what a diagnosis needs,
        and is given time to write it down if nobody has; nobody waits for that."""
        if was_used and self._classes is not None and not self._classes.exists() and self._kept.code is None:
            self._kept.ends_with_file(self._classes)
            self._kept.ask_to_end()
            return
        self._kept.end()
        shutil.rmtree(self._room, ignore_errors=True)

    def _command(self, wanted: EmbeddedSpark, jars: list[Path]) -> list[str]:
        """Settings travel in a file that only we can read: some are secrets, and `ps` shows a command line."""
        log4j = self._room / "log4j2.properties"
        log4j.write_text(_LOG4J, encoding="utf-8")
        conf = {
            "spark.master": f"local[{self.slots}]",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(self._port),
            "spark.connect.progress.reportInterval": "200ms",
            "spark.connect.session.manager.defaultSessionTimeout": _FOR_EVER,
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": str(self._room / "scratch"),
            "spark.sql.warehouse.dir": str(self._room / "warehouse"),
            "spark.ui.enabled": "false",
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            "spark.sql.shuffle.partitions": str(wanted.cores),
            **SPARK_FORGETS,
            **_UNMARKED,
            "spark.driver.extraClassPath": os.pathsep.join(str(jar) for jar in jars),
            **(_AFAR if self.storages else {}),
            **server_conf(self.storages, wanted.properties, lends=self.lends),
            **wanted.conf,
        }
        ours = f"{' '.join(_LEAN)} -Dlog4j2.configurationFile={log4j}{f' {_PLANS_AFAR}' if self.storages else ''}"
        if self._classes is not None:
            to = self._room / self._classes.name
            there = self._classes.exists()
            ours += f" -XX:SharedArchiveFile={self._classes}" if there else f" -XX:ArchiveClassesAtExit={to}"
        conf[_OPTIONS] = f"{ours} {wanted.conf.get(_OPTIONS, '')}".rstrip()
        told = self._room / "spark.properties"
        told.touch(mode=0o600)
        told.write_text(
            "".join(f"{_escaped(key)}={_escaped(value)}\n" for key, value in conf.items()), encoding="utf-8"
        )
        command = [str(pyspark_jars().parent / "bin" / "spark-submit")]
        command += ["--driver-memory", wanted.memory]
        command += ["--properties-file", str(told), "--load-spark-defaults"]
        if wanted.packages:
            command += ["--packages", ",".join(wanted.packages)]
        return [*command, "--class", SPARK_CONNECT, "spark-internal"]

    def _wait_until_it_listens(self, within_s: float, is_given_up: Callable[[], bool]) -> None:
        give_up = time.monotonic() + within_s
        while time.monotonic() < give_up and self._kept.code is None:
            if listens("127.0.0.1", self._port):
                return
            if is_given_up():
                self.stop()
                raise EvidenceCancelled("The start of Spark was cancelled.", "Nobody was waiting for it.", "Ask again.")
            time.sleep(0.1)
        is_late = self._kept.code is None
        why = "did not listen in time" if is_late else "ended by itself"
        told = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        end = [line[:200] for line in told if line and not line.startswith(("\t", " "))][-3:]
        self.stop()
        raise EvidenceFailed(
            "The embedded Spark could not be started.",
            f"Expected a server within {within_s:.0f} s; it {why}. Its log ends: {' / '.join(end) or 'empty'}.",
            ("Try again when this machine is less busy. " if is_late else "")
            + "Check that Java 17 or 21 is installed, and `spark.packages` and `spark.conf`. Or name a Spark Connect "
            "server by SPARK_REMOTE.",
        )


def _classes_of(wanted: EmbeddedSpark, jars: Iterable[Path]) -> Path | None:
    """A name for this Java with these jars; None where a folder stands in the class path, which Java then refuses, or
    the cache cannot be written to and has none."""
    if "SPARK_CONF_DIR" in os.environ:
        return None
    program, spark = java().resolve(), pyspark_jars()
    made = (program.stat().st_mtime_ns, spark.stat().st_mtime_ns)
    told = "\n".join(map(str, [program, spark, *made, *jars, *sorted(wanted.conf.items()), *wanted.packages]))
    archive = cache_folder() / _CLASSES / f"{hashlib.sha256(told.encode()).hexdigest()[:16]}.jsa"
    return archive if archive.exists() or os.access(cache_folder(), os.W_OK) else None


def _escaped(text: str) -> str:
    """As a properties file takes it, as a key or as a value."""
    return re.sub(r"([\\:=# !])", r"\\\1", text).replace("\n", "\\n")


def _environment(token: str) -> dict[str, str]:
    """Ours without what would turn the server into a client; the token travels here, not in `ps`."""
    client_only = {"SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE"}
    kept = {key: value for key, value in os.environ.items() if key not in client_only}
    return {
        **kept,
        "SPARK_HOME": str(pyspark_jars().parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_CONNECT_MODE": "0",
        "SPARK_CONNECT_AUTHENTICATE_TOKEN": token,
    }
