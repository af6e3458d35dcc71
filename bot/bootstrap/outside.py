"""Builds what reaches jobs, lineage and Spark, as the settings say."""

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import spark_tasks
from bot.adapters.checkpoint_files import CheckpointFiles
from bot.adapters.clock import SystemClock
from bot.adapters.contracts import contract_of
from bot.adapters.flink_operator import FlinkOperator
from bot.adapters.flink_rest import FlinkHistory, FlinkRest
from bot.adapters.flink_starting import JarStart, SqlGatewayStart, Starter
from bot.adapters.http import Logins
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.kafka import Kafka
from bot.adapters.kubernetes import as_pod, by_kubeconfig, flink_resource
from bot.adapters.lineage import Marquez, NoLineage, OpenLineageFile
from bot.adapters.spark import SparkEvidenceRunner
from bot.adapters.spark_repairs import SparkCatalogSettings, SparkReplays, drivers_of, spark_catalog
from bot.adapters.spark_server import EmbeddedSpark
from bot.adapters.spark_storage import AccessOf
from bot.adapters.table_files import FolderOfTable
from bot.evidence import find_tasks
from bot.observation.contract import TableContract
from bot.observation.ids import TableName
from bot.ports import (
    Clock,
    EvidenceRunner,
    JobPorts,
    ReadEvents,
    SourceReplays,
    TableCatalog,
    TableFiles,
)
from bot.settings import JarStartSettings, JobSettings, OperatorStartSettings, Settings, SqlGatewayStartSettings


@dataclass(frozen=True)
class Outside:
    """Everything beyond this process that is asked or acted on, but for Slack and the record."""

    catalog: TableCatalog
    runner: EvidenceRunner
    jobs: Mapping[str, JobPorts]
    reads: ReadEvents
    files: TableFiles
    replays: SourceReplays | None = None


def outside_of(settings: Settings, clock: Clock, stack: ExitStack) -> Outside:
    """As the settings say; closed with the stack. Raises BadConfiguration."""
    catalog = PyIcebergCatalog(settings.catalog.name, settings.catalog.properties, clock)
    runner = spark_runner(settings, catalog.storage.properties_of)
    stack.callback(runner.close)
    logins = Logins(settings.logins)
    return Outside(
        catalog=catalog,
        runner=runner,
        jobs={name: job_ports(job, stack, logins, settings.catalog.properties) for name, job in settings.jobs.items()},
        reads=lineage(settings, stack),
        files=FolderOfTable(catalog.storage),
        replays=replays(settings, runner),
    )


def job_ports(
    job: JobSettings,
    stack: ExitStack,
    logins: Logins | None = None,
    catalog: Mapping[str, str] | None = None,
) -> JobPorts:
    """One job's cluster, storage and history; closed with the stack. `catalog`: its properties, which open the job's
    storage where its own settings do not say how."""
    rest = FlinkRest(
        job.flink,
        savepoint_dir=job.savepoint_dir,
        starter=_starter(job, logins),
        stop_limit=job.stop_timeout,
        logins=logins,
    )
    flink = _operated(rest, job.start, job.stop_timeout) if isinstance(job.start, OperatorStartSettings) else rest
    stack.callback(flink.close)
    history = FlinkHistory(job.history_server, logins=logins) if job.history_server is not None else None
    if history is not None:
        stack.callback(history.close)
    return JobPorts(
        flink=flink,
        checkpoints=CheckpointFiles(
            job.checkpoint_dir, job.savepoint_dir, properties=catalog if job.storage is None else job.storage
        ),
        history=history,
        kafka=Kafka(job.kafka, SystemClock()) if job.kafka is not None else None,
        snapshots=flink.snapshots if isinstance(flink, FlinkOperator) else None,
    )


def lineage(settings: Settings, stack: ExitStack) -> ReadEvents:
    """Who read what, by the source that is configured; closed with the stack."""
    names = (settings.catalog.name, settings.lineage.catalog_names)
    if settings.lineage.events is not None:
        return OpenLineageFile(settings.lineage.events, *names)
    if settings.lineage.marquez is not None:
        marquez = Marquez(settings.lineage.marquez, *names, logins=Logins(settings.logins))
        stack.callback(marquez.close)
        return marquez
    return NoLineage()


def replays(settings: Settings, runner: SparkEvidenceRunner) -> SourceReplays | None:
    """What writes rows that are made once more from their source; None where no table declares how."""
    if all(table.replay is None for table in settings.tables.values()):
        return None
    catalog, spark = settings.catalog, settings.spark
    if spark.catalog is not None:
        return SparkReplays(runner.connection, SparkCatalogSettings(name=spark.catalog))
    told = spark_catalog(catalog.name, catalog.properties, spark.catalog_properties)
    return SparkReplays(runner.connection, told)


def spark_runner(settings: Settings, access_of: AccessOf | None = None) -> SparkEvidenceRunner:
    """The evidence runner: SPARK_REMOTE, else what the configuration says. Spark starts with the first task.

    `access_of`: the catalog's properties with what it vended for a table; the local Spark reads its files with them."""
    spark, properties = settings.spark, settings.catalog.properties
    recipes = [table.replay for table in settings.tables.values() if table.replay is not None]
    drivers = drivers_of(properties) if recipes else ()
    embedded = EmbeddedSpark(
        memory=spark.memory,
        properties=properties,
        drivers=(*drivers, *(("kafka",) if any(each.kafka is not None for each in recipes) else ())),
        packages=spark.packages,
        conf=spark.conf,
        keeps_classes=True,
    )
    address = os.environ.get("SPARK_REMOTE") or spark.remote
    return SparkEvidenceRunner(
        find_tasks(spark_tasks),
        spark.model_copy(update={"remote": address}) if address else embedded,
        time_limit=spark.limit,
        answer_timeout=spark.answer_timeout,
        idle_after=spark.idle_after,
        access_of=access_of,
    )


def _starter(job: JobSettings, logins: Logins | None) -> Starter | None:
    match job.start:
        case SqlGatewayStartSettings() as start:
            return SqlGatewayStart(start, logins)
        case JarStartSettings() as start:
            return JarStart(job.flink, start, logins)
        case OperatorStartSettings() | None:
            return None


def _operated(rest: FlinkRest, start: OperatorStartSettings, stop_limit: timedelta) -> FlinkOperator:
    """Raises BadConfiguration when there is no way to the Kubernetes API server."""
    login = as_pod() if start.kubeconfig is None else by_kubeconfig(Path(start.kubeconfig), start.context)
    resource = flink_resource(login, start.resource, start.namespace, start.name)
    return FlinkOperator(rest, resource, start.resource, stop_limit=stop_limit, start_limit=start.timeout)


def filed_contracts(settings: Settings) -> Callable[[TableName], TableContract | None]:
    """Reads what a table's contract file says now; None where it has no file. It raises BadConfiguration."""

    def filed(table: TableName) -> TableContract | None:
        file = settings.tables[table].contract_file if table in settings.tables else None
        return None if file is None else contract_of(file, table)

    return filed
