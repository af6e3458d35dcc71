"""The catalog as Spark must know it to write: mapped from what PyIceberg is told, so that it is configured once."""

from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from bot.adapters.iceberg.kinds import kind_of
from bot.domain.errors import BadConfiguration
from bot.domain.record import Record

_SPARK_CATALOG = "org.apache.iceberg.spark.SparkCatalog"
_JDBC = "org.apache.iceberg.jdbc.JdbcCatalog"
_S3 = "org.apache.iceberg.aws.s3.S3FileIO"
_DRIVERS = {"sqlite": "org.xerial:sqlite-jdbc:3.54.1.0", "postgresql": "org.postgresql:postgresql:42.7.8"}
_AS_THEY_ARE = {
    "sql": ("warehouse",),
    "rest": ("uri", "warehouse", "prefix", "credential", "token", "scope", "oauth2-server-uri"),
    "hive": ("uri", "warehouse"),
    "glue": ("warehouse", "glue.id", "glue.endpoint"),
}
"""By type: properties that bear one name and one meaning in Python and in Java."""
_RENAMED = {
    "s3.access-key-id": "s3.access-key-id",
    "s3.secret-access-key": "s3.secret-access-key",
    "s3.session-token": "s3.session-token",
    "s3.endpoint": "s3.endpoint",
    "s3.region": "client.region",
    "client.region": "client.region",
}


class SparkCatalogSettings(Record):
    """Where Spark writes."""

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
            f"Spark cannot be told of a catalog of type {kind}.",
            f"Expected one of {', '.join(_AS_THEY_ARE)}.",
            "Configure it in your Spark Connect server, and name it as `spark.catalog`.",
        )
    told = {key: properties[key] for key in _AS_THEY_ARE[kind] if key in properties}
    told |= {java: properties[python] for python, java in _RENAMED.items() if python in properties}
    told |= _jdbc(properties["uri"]) if kind == "sql" else {"type": kind}
    if any(key.startswith("s3.") for key in told):
        told["io-impl"] = _S3
    whole = {**told, "cache-enabled": "false", **more}
    root = f"spark.sql.catalog.{name}"
    return SparkCatalogSettings(
        name=name, conf={root: _SPARK_CATALOG, **{f"{root}.{key}": value for key, value in whole.items()}}
    )


def driver_packages(properties: Mapping[str, str]) -> tuple[str, ...]:
    """What the local Spark needs beside its own packages to reach a SQL catalog."""
    scheme = properties.get("uri", "").partition(":")[0].partition("+")[0]
    return (_DRIVERS[scheme],) if scheme in _DRIVERS else ()


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
