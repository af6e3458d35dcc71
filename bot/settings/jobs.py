"""What the file says of a Flink job: where it is asked, stopped and started, and where its state is kept."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from bot.observation.kafka import KafkaSettings
from bot.observation.record import Record

HttpUrl = Annotated[str, Field(pattern=r"^https?://[^\s/]+")]
Folder = Annotated[str, Field(pattern=r"^(/|[a-z0-9]+:).+")]
"""An absolute path or a URI, as Flink takes it."""
"""It is put into statements, so nothing that could end a string may stand in it."""
KubernetesName = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$")]
"""It becomes part of an address, so nothing else may stand in it."""


KAFKA_FILES = ("secret_file", "ca_file", "certificate_file", "key_file")

R = TypeVar("R", bound=Record)


def files_beside(record: R, folder: Path, *names: str) -> R:
    """The same, with the files that it names in that folder unless their paths are absolute."""
    files = {name: getattr(record, name) for name in names}
    return record.model_copy(
        update={name: folder / file.expanduser() for name, file in files.items() if file is not None}
    )


class LoginSettings(Record):
    """How one address is reached, whatever Waterline asks there: Flink, Marquez, webhooks."""

    at: HttpUrl = Field(
        pattern=r"^https?://[^\s/@]+$",
        description="Scheme, host and port. The login holds for every configured address that begins so.",
        examples=["https://flink.acme.example"],
    )
    ca_file: Path | None = Field(
        default=None,
        description="Certificate authority of the server, if the system does not know it. Relative to this file.",
        examples=["/etc/waterline/ca.pem"],
    )
    certificate_file: Path | None = Field(
        default=None,
        description="Client certificate, for a server that asks for one.",
        examples=["/etc/waterline/tls.crt"],
    )
    key_file: Path | None = Field(
        default=None, description="Its key, if it is in a file of its own.", examples=["/etc/waterline/tls.key"]
    )
    user: str | None = Field(
        default=None,
        description="User of a basic login. Without it, the secret is a bearer token.",
        examples=["waterline"],
    )
    secret_file: Path | None = Field(
        default=None,
        description="File with the token or password. Waterline reads it at each request.",
        examples=["/var/run/secrets/flink-token"],
    )
    secret_variable: str | None = Field(
        default=None,
        description="Environment variable with the token or password, instead of a file.",
        examples=["FLINK_TOKEN"],
    )
    proxy: HttpUrl | None = Field(
        default=None, description="Proxy on the way to this address.", examples=["http://proxy.acme.example:3128"]
    )

    def beside(self, folder: Path) -> "LoginSettings":
        return files_beside(self, folder, "ca_file", "certificate_file", "key_file", "secret_file")


class SqlGatewayStartSettings(Record):
    kind: Literal["sql-gateway"] = Field(description="This way of starting.", examples=["sql-gateway"])
    url: HttpUrl = Field(description="Address of the SQL gateway.", examples=["http://flink-sql-gateway:8083"])
    statements: tuple[str, ...] = Field(
        min_length=1,
        description="Statements of one session, in order. The last one is the INSERT that starts the job.",
        examples=[["CREATE CATALOG …", "INSERT INTO …"]],
    )
    properties: dict[str, str] = Field(
        default={},
        description="Session properties. Waterline adds restore path and job id.",
        examples=[{"pipeline.name": "orders-to-iceberg"}],
    )
    timeout: timedelta = Field(
        default=timedelta(seconds=90),
        gt=timedelta(0),
        description="Time limit for the submission.",
        examples=["PT90S"],
    )


class JarStartSettings(Record):
    kind: Literal["jar"] = Field(description="This way of starting.", examples=["jar"])
    jar_id: str = Field(
        description="Id of the uploaded jar, from GET /jars.",
        examples=["4a7c2b6e-1f0d-4c3b-9a58-0d6d2f7b8e11_orders-etl.jar"],
    )
    entry_class: str | None = Field(
        default=None, description="Main class, if the jar's manifest names none.", examples=["com.acme.OrdersJob"]
    )
    args: tuple[str, ...] = Field(
        default=(), description="Program arguments, one per item.", examples=[["--table", "sales.orders"]]
    )
    parallelism: int | None = Field(
        default=None, ge=1, description="Parallelism of the job; the cluster's default if absent.", examples=[4]
    )
    properties: dict[str, str] = Field(
        default={},
        description="Flink settings of this run (`flinkConfiguration`).",
        examples=[{"execution.checkpointing.interval": "60 s"}],
    )
    timeout: timedelta = Field(
        default=timedelta(seconds=90),
        gt=timedelta(0),
        description="Time limit for the submission.",
        examples=["PT90S"],
    )


class OperatorStartSettings(Record):
    """Starts and stops a job through its resource of the Flink Kubernetes operator (1.10 or later)."""

    kind: Literal["flink-operator"] = Field(description="This way of starting.", examples=["flink-operator"])
    resource: Literal["FlinkDeployment", "FlinkSessionJob"] = Field(
        default="FlinkDeployment", description="Kind of the resource that runs the job.", examples=["FlinkSessionJob"]
    )
    namespace: KubernetesName = Field(description="Namespace of the resource.", examples=["streaming"])
    name: KubernetesName = Field(description="Name of the resource.", examples=["orders-to-iceberg"])
    kubeconfig: str | None = Field(
        default=None,
        pattern="^/",
        description="Absolute path of a file with the API server's address and a token or certificate. Without "
        "it, Waterline uses its pod's service account.",
        examples=["/etc/waterline/kubeconfig"],
    )
    context: str | None = Field(
        default=None, description="Context in that file; the current one by default.", examples=["production"]
    )
    timeout: timedelta = Field(
        default=timedelta(minutes=5),
        gt=timedelta(0),
        description="Time limit until Flink knows the new run. After it Waterline calls the outcome unknown and "
        "verifies it.",
        examples=["PT5M"],
    )


StartSettings = Annotated[
    SqlGatewayStartSettings | JarStartSettings | OperatorStartSettings, Field(discriminator="kind")
]


class JobSettings(Record):
    flink: HttpUrl = Field(description="Address of the JobManager's REST API.", examples=["http://flink:8081"])
    history_server: HttpUrl | None = Field(
        default=None,
        description="Address of Flink's history server, for runs that the JobManager has forgotten.",
        examples=["http://flink-history:8082"],
    )
    checkpoint_dir: Folder | None = Field(
        default=None,
        description="Flink's `execution.checkpointing.dir`, without the job id, readable from here. It may "
        "hold Flink's marker `_entropy_`.",
        examples=["s3://flink-state/checkpoints"],
    )
    savepoint_dir: Folder | None = Field(
        default=None,
        description="Folder for savepoints, readable from here. Waterline also finds others that Flink names.",
        examples=["s3://flink-state/savepoints"],
    )
    storage: dict[str, str] | None = Field(
        default=None,
        description="How the storage of both folders is reached, under PyIceberg's names. By default the same as in "
        "`catalog.properties`; what is in neither comes from the environment (`AWS_REGION`, …).",
        examples=[{"s3.endpoint": "http://minio:9000", "s3.region": "us-east-1"}],
    )
    kafka: KafkaSettings | None = Field(
        default=None,
        description="The Kafka broker that the job reads from. Waterline asks it which missing records can still be "
        "read, and until when.",
    )
    stop_timeout: timedelta = Field(
        default=timedelta(minutes=2),
        gt=timedelta(0),
        description="Time limit for a stop-with-savepoint and the end of the run. After it Waterline calls the "
        "outcome unknown and verifies it.",
        examples=["PT2M"],
    )
    start: StartSettings | None = Field(
        default=None, description="How to start the job. Without it, people start it by hand."
    )

    def beside(self, folder: Path) -> "JobSettings":
        kafka = self.kafka and files_beside(self.kafka, folder, *KAFKA_FILES)
        return self.model_copy(update={"kafka": kafka})
