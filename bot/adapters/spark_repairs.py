"""Rows of a declared replay, written by Spark to a branch: one commit that carries its own mark.

In a session of its own, whose id follows from the mark: should an earlier attempt still be at work on a server that
outlived the bot, it is found there and ended before anything is written.
"""

import contextlib
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit
from uuid import NAMESPACE_URL, uuid4, uuid5

from pyspark.errors.exceptions.connect import SparkConnectGrpcException, UnknownException
from pyspark.sql import DataFrame, SparkSession

from bot.adapters.iceberg.backends import kind_of
from bot.adapters.spark_session import TROUBLE, SparkConnection, first_line
from bot.adapters.spark_storage import storages_in
from bot.observation.contract import CopyRule, TableContract
from bot.observation.errors import BadConfiguration, CommitRefused, CouldNotLook, EvidenceFailed, OutcomeUnknown
from bot.observation.ids import short
from bot.observation.record import Record
from bot.observation.replay import ReplayRange, ReplayRecipe, SourceSurvey
from bot.observation.table import TableState
from bot.ports import RowReplay
from spark_tasks._support.kafka import topic_trouble
from spark_tasks._support.reading import whole_schema
from spark_tasks._support.replay import rows_absent, rows_given, summed, survey

_SPARK_CATALOG = "org.apache.iceberg.spark.SparkCatalog"
_JDBC = "org.apache.iceberg.jdbc.JdbcCatalog"
_HADOOPS = "org.apache.iceberg.hadoop.HadoopFileIO"
"""Spark writes by the file systems, and with the keys, by which evidence reads: Iceberg's own S3FileIO, GCSFileIO and
ADLSFileIO need more jars."""
_DRIVERS = ("sqlite", "postgresql")
_AS_THEY_ARE = {
    "sql": ("warehouse",),
    "rest": ("uri", "warehouse", "prefix", "credential", "token", "scope", "oauth2-server-uri"),
    "hive": ("uri", "warehouse"),
    "glue": ("warehouse", "glue.id", "glue.endpoint"),
}
"""By type: properties that bear one name and one meaning in Python and in Java."""
_PREFIXES = ("header.", "rest.sigv4", "rest.signing-")
"""The same, of a REST catalog."""


class SparkCatalogSettings(Record):
    name: str
    """Of the catalog within Spark."""
    conf: dict[str, str] = {}
    """Settings of the session; empty where the Spark server has the catalog configured itself."""


def spark_catalog(name: str, properties: Mapping[str, str], more: Mapping[str, str]) -> SparkCatalogSettings:
    """PyIceberg's properties as settings of Spark; `more` are Iceberg's own Java properties, and win.

    Raises BadConfiguration for a catalog of another type.
    """
    kind = kind_of(properties) or "sql"
    if kind not in _AS_THEY_ARE:
        raise BadConfiguration(
            f"Waterline cannot configure Spark for a catalog of type {kind}.",
            f"Expected one of {', '.join(_AS_THEY_ARE)}.",
            "Configure it in your Spark Connect server, and name it as `spark.catalog`.",
        )
    told = {key: properties[key] for key in _AS_THEY_ARE[kind] if key in properties}
    told |= {key: value for key, value in properties.items() if kind == "rest" and key.startswith(_PREFIXES)}
    told |= _jdbc(properties["uri"]) if kind == "sql" else {"type": kind}
    io = {"io-impl": _HADOOPS} if storages_in(properties) else {}
    whole = {**told, **io, "cache-enabled": "false", **more}
    root = f"spark.sql.catalog.{name}"
    return SparkCatalogSettings(
        name=name, conf={root: _SPARK_CATALOG, **{f"{root}.{key}": value for key, value in whole.items()}}
    )


def drivers_of(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Which pinned driver the local Spark needs to write through a SQL catalog."""
    scheme = properties.get("uri", "").partition(":")[0].partition("+")[0]
    return (scheme,) if scheme in _DRIVERS else ()


def _jdbc(uri: str) -> dict[str, str]:
    """An address of SQLAlchemy (`sqlite:////a/b.db`, `postgresql+psycopg://user:secret@host/db`) as JDBC has it."""
    parts = urlsplit(uri)
    backend = parts.scheme.partition("+")[0]
    told = {"catalog-impl": _JDBC, "jdbc.schema-version": "V1"}
    if backend == "sqlite":
        return {**told, "uri": f"jdbc:sqlite:{parts.path.removeprefix('/')}"}
    told["uri"] = f"jdbc:{backend}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
    if parts.username:
        told |= {"jdbc.user": unquote(parts.username), "jdbc.password": unquote(parts.password or "")}
    return told


_SPARK_SAYS_ITSELF = "engine-name"
_SAYS_NOTHING = (SparkConnectGrpcException, UnknownException)
_CLOSED = "SESSION_CLOSED"
"""Within the condition that Spark names for the id of a session that has ended."""


class SparkReplays:
    """The port `SourceReplays`."""

    def __init__(self, connection: SparkConnection, catalog: SparkCatalogSettings) -> None:
        self._connection = connection
        self._catalog = catalog

    def survey(
        self, table: TableState, recipe: ReplayRecipe, bounds: ReplayRange, contract: TableContract, copies: CopyRule
    ) -> SourceSurvey:
        assert table.head is not None
        try:
            return survey(self._connection.session(table=table), table, table.head, recipe, bounds, contract, copies)
        except EvidenceFailed as error:
            raise CouldNotLook(error.happened, error.found, error.remedy) from error
        except TROUBLE as error:
            if (told := topic_trouble(error)) is not None:
                raise CouldNotLook(told.happened, told.found, told.remedy) from error
            raise CouldNotLook(
                "It is not known what a replay would write: Spark could not read the source or the table.",
                f"Expected rows from {recipe.source}; found: {first_line(error)}",
                "Check that Spark can reach both, then propose again.",
            ) from error

    def write(self, table: TableState, change: RowReplay) -> None:
        if table.ref(change.ref) != change.expected_head:
            raise CommitRefused(
                f"Nothing was written: branch {change.ref} of {table.name} has moved.",
                f"Expected it on {short(change.expected_head)}; it is on {short(table.ref(change.ref))}.",
                "Find out who moved it, then propose the replay again.",
            )
        spark = self._session(table, change)
        try:
            self._write(spark, table, change)
        finally:
            with contextlib.suppress(*TROUBLE):
                spark.stop()

    def _session(self, table: TableState, change: RowReplay) -> SparkSession:
        """The one of this mark; where that was closed already, nothing of it is at work any more."""
        try:
            try:
                return self._connection.beside(_session_of(change), table)
            except EvidenceFailed as error:
                if _CLOSED not in error.found:
                    raise
                return self._connection.beside(str(uuid4()), table)
        except EvidenceFailed as error:
            raise CouldNotLook(error.happened, error.found, error.remedy) from error

    def _write(self, spark: SparkSession, table: TableState, change: RowReplay) -> None:
        try:
            spark.interruptAll()
            for key, value in self._catalog.conf.items():
                spark.conf.set(key, value)
            rows = _rows(spark, table, change).persist()
            found = summed(rows)
        except EvidenceFailed as error:
            raise CommitRefused(error.happened, error.found, error.remedy) from error
        except TROUBLE as error:
            if (told := topic_trouble(error)) is not None:
                raise CommitRefused(f"Nothing was written. {told.happened}", told.found, told.remedy) from error
            raise CommitRefused(
                "Nothing was written: the source of the replay could not be read.",
                f"Expected {change.replay.rows:,} rows from {change.replay.recipe.source}; found: {first_line(error)}",
                "Check that Spark can reach the source, run the evidence replayable_rows again, and propose again.",
            ) from error
        if found != (change.replay.rows, change.replay.digest):
            raise CommitRefused(
                "Nothing was written: the source returns other rows than when the replay was approved.",
                f"Expected {change.replay.rows:,} rows, value for value; found {found[0]:,}, or other values in them.",
                "Run the evidence replayable_rows again, then propose again.",
            )
        self._append(rows, table, change)

    def _append(self, rows: DataFrame, table: TableState, change: RowReplay) -> None:
        write = rows.writeTo(self._target(table, change))
        for key, value in change.summary.items():
            if key != _SPARK_SAYS_ITSELF:
                write = write.option(f"snapshot-property.{key}", value)
        try:
            write.append()
        except TROUBLE as error:
            if _surely_failed(error):
                raise CommitRefused(
                    f"Nothing was written to branch {change.ref}: Spark could not do it.",
                    f"Expected it to write {change.replay.rows:,} rows; found: {first_line(error)}",
                    "Check that Spark can write the table (catalog, driver, rights), then propose again.",
                ) from error
            raise OutcomeUnknown(
                f"It is not known whether the replayed rows are on branch {change.ref}.",
                f"Expected Spark to commit them; found: {first_line(error)}",
                "Waterline looks for the commit on the branch and repeats nothing.",
            ) from error

    def _target(self, table: TableState, change: RowReplay) -> str:
        """The branch is named as part of the table: as a write option it is passed over in silence by Iceberg 1.12,
        and the rows go to main (run)."""
        parts = (self._catalog.name, *table.name.split("."), f"branch_{change.ref}")
        return ".".join(_quoted(part) for part in parts)


def _rows(spark: SparkSession, table: TableState, change: RowReplay) -> DataFrame:
    replay = change.replay
    contract = TableContract(
        key=replay.key,
        position=replay.position,
        position_partition=replay.position_partition,
        event_time=replay.event_time,
    )
    given = rows_given(spark, replay.recipe, replay.bounds, contract, whole_schema(spark, table))
    return rows_absent(spark, table, change.expected_head, contract, given)


def _surely_failed(error: Exception) -> bool:
    """Whether the server itself says that the write ended without a commit; a lost connection says nothing, and
    Iceberg tells where it does not know."""
    told_by_server = isinstance(error, SparkConnectGrpcException) and type(error) not in _SAYS_NOTHING
    return told_by_server and "CommitStateUnknown" not in str(error)


def _session_of(change: RowReplay) -> str:
    return str(uuid5(NAMESPACE_URL, "/".join(f"{key}={value}" for key, value in sorted(change.summary.items()))))


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
