"""What a lab's job writes, with which sink, and who reads it: chosen anew for each table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal, Self

from bot.lab import orders
from bot.lab.consumers import QUERIES
from bot.lab.dynamic_sink import GENERATOR
from bot.lab.errors import LabError
from bot.lab.flink_cluster import FlinkCluster
from bot.lab.home import Home, LabState
from bot.lab.jars import Flink

Sink = Literal["v1", "v2", "dynamic"]
Format = Literal[2, 3]


@dataclass(frozen=True)
class Kind:
    """One table and its job."""

    sink: Sink = "v2"
    format_version: Format = 2
    upsert: bool = False
    consumers: tuple[str, ...] = tuple(QUERIES)

    def with_choice(
        self, sink: Sink | None, format_version: Format, upsert: bool, consumers: Sequence[str] | None
    ) -> Self:
        """None: as before. Raises LabError for what this lab cannot write."""
        chosen = replace(
            self,
            sink=sink or self.sink,
            format_version=format_version,
            upsert=upsert,
            consumers=self.consumers if consumers is None else tuple(consumers),
        )
        if chosen.sink == "dynamic" and upsert:
            raise LabError(
                "The lab has no dynamic sink for upserts.",
                "Expected upsert with the sink v1 or v2: the dynamic sink's generator names no key.",
                "Choose another sink, or append.",
            )
        return chosen

    def state(
        self,
        home: Home,
        flink: Flink,
        cluster: FlinkCluster,
        spark_remote: str,
        last_position: int,
        pids: dict[str, int],
        each_once: bool,
    ) -> LabState:
        """What `lab.json` says of it, from now on."""
        now = datetime.now(UTC)
        generator = GENERATOR if self.sink == "dynamic" else None
        jdbc_uri, warehouse = home.jdbc_uri, home.warehouse
        return LabState(
            home=home.folder,
            sink=self.sink,
            started_at=now,
            catalog_name=orders.CATALOG,
            catalog_uri=home.catalog_uri,
            catalog_jdbc_uri=jdbc_uri,
            warehouse=warehouse,
            table=orders.TABLE,
            flink_url=cluster.flink_url,
            gateway_url=cluster.gateway_url,
            spark_remote=spark_remote,
            checkpoint_dir=home / "checkpoints",
            savepoint_dir=home / "savepoints",
            lineage_path=home.lineage_file,
            job_name=orders.JOB_NAME,
            code_version=orders.CODE_VERSION,
            start_statements=orders.start_statements(
                jdbc_uri, warehouse, orders.first_event_now(now), last_position, generator, each_once=each_once
            ),
            session_properties=orders.session_properties(self.sink, orders.CODE_VERSION),
            recovery_property=orders.RECOVERY_PROPERTY,
            job_id_property=orders.JOB_ID_PROPERTY,
            pids=pids,
            flink_version=flink,
            format_version=self.format_version,
            upsert=self.upsert,
            consumers=self.consumers,
        )
