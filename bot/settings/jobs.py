"""What the file says of a Flink job: where it is asked, stopped and started, and where its state is kept."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from bot.observation.kafka import KafkaSettings
from bot.observation.record import Documented, Record

HttpUrl = Annotated[str, Field(pattern=r"^https?://[^\s/]+")]
Folder = Annotated[str, Field(pattern=r"^(/|[a-z0-9]+:).+")]
"""An absolute path or a URI, as Flink takes it."""
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


class LoginSettings(Documented):
    """How one address is reached, whatever Waterline asks there: Flink, Marquez, webhooks."""

    at: HttpUrl = Field(pattern=r"^https?://[^\s/@]+$", examples=["https://flink.acme.example"])
    """Scheme, host and port. The login holds for every configured address that begins so."""
    ca_file: Path | None = Field(default=None, examples=["/etc/waterline/ca.pem"])
    """Certificate authority of the server, if the system does not know it. Relative to this file."""
    certificate_file: Path | None = Field(default=None, examples=["/etc/waterline/tls.crt"])
    """Client certificate, for a server that asks for one."""
    key_file: Path | None = Field(default=None, examples=["/etc/waterline/tls.key"])
    """Its key, if it is in a file of its own."""
    user: str | None = Field(default=None, examples=["waterline"])
    """User of a basic login. Without it, the secret is a bearer token."""
    secret_file: Path | None = Field(default=None, examples=["/var/run/secrets/flink-token"])
    """File with the token or password. Waterline reads it at each request."""
    secret_variable: str | None = Field(default=None, examples=["FLINK_TOKEN"])
    """Environment variable with the token or password, instead of a file."""
    proxy: HttpUrl | None = Field(default=None, examples=["http://proxy.acme.example:3128"])
    """Proxy on the way to this address."""

    def beside(self, folder: Path) -> "LoginSettings":
        return files_beside(self, folder, "ca_file", "certificate_file", "key_file", "secret_file")


class SqlGatewayStartSettings(Documented):
    kind: Literal["sql-gateway"] = Field(examples=["sql-gateway"])
    """This way of starting."""
    url: HttpUrl = Field(examples=["http://flink-sql-gateway:8083"])
    """Address of the SQL gateway."""
    statements: tuple[str, ...] = Field(min_length=1, examples=[["CREATE CATALOG …", "INSERT INTO …"]])
    """Statements of one session, in order. The last one is the INSERT that starts the job."""
    properties: dict[str, str] = Field(default={}, examples=[{"pipeline.name": "orders-to-iceberg"}])
    """Session properties. Waterline adds restore path and job id."""
    timeout: timedelta = Field(default=timedelta(seconds=90), gt=timedelta(0), examples=["PT90S"])
    """Time limit for the submission."""


class JarStartSettings(Documented):
    kind: Literal["jar"] = Field(examples=["jar"])
    """This way of starting."""
    jar_id: str = Field(examples=["4a7c2b6e-1f0d-4c3b-9a58-0d6d2f7b8e11_orders-etl.jar"])
    """Id of the uploaded jar, from GET /jars."""
    entry_class: str | None = Field(default=None, examples=["com.acme.OrdersJob"])
    """Main class, if the jar's manifest names none."""
    args: tuple[str, ...] = Field(default=(), examples=[["--table", "sales.orders"]])
    """Program arguments, one per item."""
    parallelism: int | None = Field(default=None, ge=1, examples=[4])
    """Parallelism of the job; the cluster's default if absent."""
    properties: dict[str, str] = Field(default={}, examples=[{"execution.checkpointing.interval": "60 s"}])
    """Flink settings of this run (`flinkConfiguration`)."""
    timeout: timedelta = Field(default=timedelta(seconds=90), gt=timedelta(0), examples=["PT90S"])
    """Time limit for the submission."""


class OperatorStartSettings(Documented):
    """Starts and stops a job through its resource of the Flink Kubernetes operator (1.10 or later)."""

    kind: Literal["flink-operator"] = Field(examples=["flink-operator"])
    """This way of starting."""
    resource: Literal["FlinkDeployment", "FlinkSessionJob"] = Field(
        default="FlinkDeployment", examples=["FlinkSessionJob"]
    )
    """Kind of the resource that runs the job."""
    namespace: KubernetesName = Field(examples=["streaming"])
    """Namespace of the resource."""
    name: KubernetesName = Field(examples=["orders-to-iceberg"])
    """Name of the resource."""
    kubeconfig: str | None = Field(default=None, pattern="^/", examples=["/etc/waterline/kubeconfig"])
    """Absolute path of a file with the API server's address and a token or certificate. Without it, Waterline uses its
    pod's service account."""
    context: str | None = Field(default=None, examples=["production"])
    """Context in that file; the current one by default."""
    timeout: timedelta = Field(default=timedelta(minutes=5), gt=timedelta(0), examples=["PT5M"])
    """Time limit until Flink knows the new run. After it Waterline calls the outcome unknown and verifies it."""


StartSettings = Annotated[
    SqlGatewayStartSettings | JarStartSettings | OperatorStartSettings, Field(discriminator="kind")
]


class JobSettings(Documented):
    flink: HttpUrl = Field(examples=["http://flink:8081"])
    """Address of the JobManager's REST API."""
    history_server: HttpUrl | None = Field(default=None, examples=["http://flink-history:8082"])
    """Address of Flink's history server, for runs that the JobManager has forgotten."""
    checkpoint_dir: Folder | None = Field(default=None, examples=["s3://flink-state/checkpoints"])
    """Flink's `execution.checkpointing.dir`, without the job id, readable from here. It may hold Flink's marker
    `_entropy_`."""
    savepoint_dir: Folder | None = Field(default=None, examples=["s3://flink-state/savepoints"])
    """Folder for savepoints, readable from here. Waterline also finds others that Flink names."""
    storage: dict[str, str] | None = Field(
        default=None, examples=[{"s3.endpoint": "http://minio:9000", "s3.region": "us-east-1"}]
    )
    """How the storage of both folders is reached, under PyIceberg's names. By default the same as in
    `catalog.properties`; what is in neither comes from the environment (`AWS_REGION`, …)."""
    kafka: KafkaSettings | None = None
    """The Kafka broker that the job reads from. Waterline asks it which missing records can still be read, and until
    when."""
    stop_timeout: timedelta = Field(default=timedelta(minutes=2), gt=timedelta(0), examples=["PT2M"])
    """Time limit for a stop-with-savepoint and the end of the run. After it Waterline calls the outcome unknown and
    verifies it."""
    start: StartSettings | None = None
    """How to start the job. Without it, people start it by hand."""

    def beside(self, folder: Path) -> "JobSettings":
        kafka = self.kafka and files_beside(self.kafka, folder, *KAFKA_FILES)
        return self.model_copy(update={"kafka": kafka})
