"""The team's Spark: one Connect server on loopback that knows the catalog `lake`."""

from collections.abc import Mapping
from pathlib import Path

from bot.kept_process import free_ports, listens
from bot.lab.home import Home, Storage
from bot.lab.process import Kept
from bot.pinned_jars import (
    FORGETS_FILES,
    LEAN,
    OPENS,
    SPARK_CONNECT,
    SPARK_FORGETS,
    java,
    log4j,
    pyspark_jars,
    spark_jars,
)


class SparkServer:
    """Starts the server at once."""

    def __init__(self, home: Home, storage: Storage) -> None:
        (self._port,) = (port,) = free_ports(1)
        self.remote = f"sc://127.0.0.1:{port}"
        settings = {
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(port),
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.local.dir": str(home / "scratch"),
            "spark.sql.warehouse.dir": str(home / "scratch" / "spark-warehouse"),
            "spark.sql.shuffle.partitions": "2",
            **catalog_settings(storage),
            **SPARK_FORGETS,
        }
        given = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
        class_path = ":".join([f"{pyspark_jars()}/*", *(str(jar) for jar in [*spark_jars(), *s3_jars(storage)])])
        command = [str(java()), "-Xmx600m", *LEAN, *OPENS, FORGETS_FILES, log4j_option(home)]
        command += ["-cp", class_path, "org.apache.spark.deploy.SparkSubmit", "--master", "local[2]"]
        command += [*given, "--class", SPARK_CONNECT, "spark-internal"]
        env = {"SPARK_HOME": str(pyspark_jars().parent), "SPARK_LOCAL_IP": "127.0.0.1", **storage.environment}
        self.process = Kept("spark", command, home.folder, env, restarts="never")

    def is_ready(self) -> bool:
        """Whether it listens."""
        return listens("127.0.0.1", self._port)


def catalog_settings(storage: Storage, uri: str = "uri") -> dict[str, str]:
    """Spark's settings for the lab's catalog. `uri`: how the name of its address is written; Iceberg minds no case."""
    catalog = f"spark.sql.catalog.{storage.catalog_name}"
    of_s3 = _s3_settings(catalog, storage.environment) if s3_jars(storage) else {}
    properties = {uri if name == "uri" else name: value for name, value in storage.engine_properties.items()}
    return {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        **{f"{catalog}.{name}": value for name, value in properties.items()},
        f"{catalog}.cache-enabled": "false",
        **of_s3,
    }


def _s3_settings(catalog: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Hadoop's S3 reads the table, too: Iceberg's own needs ten services of the SDK beside."""
    return {
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.s3a.endpoint": environment["AWS_ENDPOINT_URL"],
        "spark.hadoop.fs.s3a.endpoint.region": environment["AWS_REGION"],
        "spark.hadoop.fs.s3a.path.style.access": "true",
        f"{catalog}.io-impl": "org.apache.iceberg.hadoop.HadoopFileIO",
    }


def s3_jars(storage: Storage) -> list[Path]:
    """What Spark needs beside its own to read this storage, and the topic whose rows lie there."""
    return spark_jars(["s3", "kafka"]) if storage.warehouse.startswith("s3://") else []


def log4j_option(home: Home) -> str:
    """Warnings only; for Spark's JVM."""
    file = home / "conf" / "spark-log4j2.properties"
    file.write_text(log4j("warn"), encoding="utf-8")
    return f"-Dlog4j2.configurationFile={file}"
