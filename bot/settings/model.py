"""The configuration file as one frozen value."""

import ipaddress
from datetime import timedelta
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr

from bot.incident.approval import People
from bot.incident.setup import TableSetup
from bot.observation.errors import BadConfiguration
from bot.observation.ids import TableName, UserId
from bot.observation.record import Documented
from bot.settings.jobs import HttpUrl, JobSettings, LoginSettings, files_beside
from bot.settings.reading import as_markdown, bad, checked, yaml_of
from bot.settings.tables import TableSettings, refuse_contradictions


class CatalogSettings(Documented):
    name: str = Field(min_length=1, examples=["lake"])
    """The catalog's name. In a SQL catalog it is part of the key: use the same name as in Flink and Spark."""
    properties: dict[str, str] = Field(min_length=1, examples=[{"type": "rest", "uri": "http://catalog:8181"}])
    """PyIceberg gets these as they are. Types `sql`, `rest`, `hive` and `glue` were tried. With another type, Spark
    writes rows only if its Connect server knows the catalog itself (`spark.catalog`)."""
    mark: Literal["tag", "property", "none"] = Field(default="tag", examples=["property"])
    """How Waterline marks the last verified snapshot. Use `property` where tags are refused or stop the catalog's own
    snapshot expiry, as in S3 Tables. With `none`, only the trust API and notices name it."""


class SparkSettings(Documented):
    """Where evidence is collected."""

    remote: str | None = Field(default=None, pattern=r"^sc://", examples=["sc://spark-connect:15002"])
    """Spark Connect address, with PySpark's parameters and further headers after `/;`. Without it, Waterline starts a
    local Spark."""
    token_file: Path | None = Field(default=None, examples=["/var/run/secrets/spark-token"])
    """File with the bearer token of the Spark Connect server, read at each call. Relative to this file."""
    token_command: tuple[str, ...] = Field(default=(), examples=[["databricks-token", "--profile", "waterline"]])
    """Command that prints the bearer token. Waterline runs it again every `token_lifetime`."""
    token_lifetime: timedelta = Field(default=timedelta(minutes=5), gt=timedelta(0), examples=["PT5M"])
    """How long a printed token is used."""
    tls: bool | None = Field(default=None, examples=[True])
    """Whether the connection is encrypted. By default as the address says (`use_ssl=true`), and always with a token or
    `ca_file` for another host."""
    ca_file: Path | None = Field(default=None, examples=["/etc/waterline/spark-ca.pem"])
    """Certificate authority of the Spark Connect server, if the system does not know it. Relative to this file."""
    answer_timeout: timedelta = Field(default=timedelta(seconds=30), gt=timedelta(0), examples=["PT30S"])
    """Spark counts as frozen after this time without an answer."""
    idle_after: timedelta = Field(default=timedelta(minutes=15), gt=timedelta(0), examples=["PT15M"])
    """After this time without a question, the session is released, and a local Spark ends."""
    memory: str = Field(default="1g", pattern=r"^\d+[mg]$", examples=["2g"])
    """Heap of the local Spark, as `-Xmx` takes it."""
    limit: timedelta = Field(default=timedelta(minutes=10), gt=timedelta(0), examples=["PT10M"])
    """Time limit of one evidence task."""
    catalog: str | None = Field(default=None, examples=["lake"])
    """Name of the catalog on the Spark server, if it is configured there with Iceberg's session extensions. Without it,
    a replay configures it from `catalog.properties`."""
    catalog_properties: dict[str, str] = Field(default={}, examples=[{"io-impl": "org.apache.iceberg.aws.s3.S3FileIO"}])
    """Iceberg's Java properties for a replay, where they differ from `catalog.properties`."""
    packages: tuple[str, ...] = Field(default=(), examples=[["org.apache.hadoop:hadoop-huaweicloud:3.4.2"]])
    """More packages for the local Spark, which it downloads by name when it starts. It has those of Iceberg and of the
    warehouse's storage."""
    conf: dict[str, str] = Field(default={}, examples=[{"spark.hadoop.fs.s3a.connection.maximum": "50"}])
    """More settings for the local Spark. They win over those that follow from `catalog.properties`."""


class LineageSettings(Documented):
    events: Path | None = Field(default=None, examples=["lineage/events.jsonl"])
    """File of OpenLineage events, one JSON per line; relative to this file. Without it or Marquez, readers are not
    known."""
    marquez: HttpUrl | None = Field(default=None, examples=["http://marquez:5000"])
    """Address of Marquez, without `/api/v1`, in place of `events`."""
    catalog_names: tuple[str, ...] | None = Field(default=None, examples=[["iceberg"]])
    """All other names of the catalog in other engines, such as Trino; an empty list if there are none. Without it, a
    read of `NAME.sales.orders` is shown as one that may be of this table."""


class JournalSettings(Documented):
    url: str | None = Field(default=None, examples=["postgresql+psycopg://waterline@db/waterline"])
    """SQLAlchemy URL of the database; by default a SQLite file in `home`. Put a password into the driver's own files
    (`.pgpass`), not here."""


class SlackSettings(Documented):
    """How Slack is reached. Tokens come from the environment."""

    mode: Literal["socket", "http"] = Field(default="socket", examples=["socket"])
    """`socket` needs no public address; `http` receives Slack's signed requests."""
    base_url: HttpUrl = Field(default="https://slack.com/api/", examples=["https://slack.com/api/"])
    """Slack's Web API. The demo uses the local workspace's address."""
    team_id: str | None = Field(default=None, pattern=r"^T[A-Z0-9]+$", examples=["T0STREAMS1"])
    """Where the app is installed for a whole organisation (Enterprise Grid): the id of the workspace whose user groups
    the policies name."""
    min_message_interval: timedelta = Field(default=timedelta(seconds=1), ge=timedelta(0), examples=["PT1S"])
    """Time between two messages in one channel. Slack allows about one a second."""
    host: str = Field(default="127.0.0.1", examples=["127.0.0.1"])
    """Address that listens in mode `http`; `0.0.0.0` if a proxy connects from another host."""
    port: int = Field(default=3000, ge=1, le=65535, examples=[3000])
    """Port that listens for Slack in mode `http`."""


class SmtpSettings(Documented):
    host: str = Field(min_length=1, examples=["smtp.acme.example"])
    """The mail server's name."""
    port: int = Field(default=587, ge=1, le=65535, examples=[587])
    """Its port."""
    security: Literal["starttls", "tls", "none"] = Field(default="starttls", examples=["starttls"])
    """`tls` from the first byte (port 465), `starttls`, or `none` for a relay on this host."""
    sender: str = Field(pattern=r"^[^\s@<>]+@[^\s@<>]+$", examples=["waterline@acme.example"])
    """The address in From."""
    user: str | None = Field(default=None, examples=["waterline"])
    """User name at the mail server; its password is WATERLINE_SMTP_PASSWORD. Without it, there is no login."""
    timeout: timedelta = Field(default=timedelta(seconds=20), gt=timedelta(0), examples=["PT20S"])
    """Time limit of one try."""


class NoticesSettings(Documented):
    """Ways to consumers beside Slack. Webhooks need WATERLINE_WEBHOOK_SECRET, folders need nothing."""

    smtp: SmtpSettings | None = None
    """The mail server. Without it, no notices go by e-mail."""


class TerminalSettings(Documented):
    """Decisions in a terminal: the operating system says who types, this file says who that is."""

    people: dict[str, UserId] = Field(default={}, examples=[{"ben": "U0BEN00001"}])
    """Login name on the bot's host -> Slack user id. Users not listed here can only decide in Slack."""


class WatchSettings(Documented):
    channel: str | None = Field(default=None, examples=["C0INCIDENT"])
    """Slack channel id for findings on tables without a `channel`. Without it, such tables are not watched."""
    notify: People = People()
    """Whom urgent findings mention, and so notify."""
    poll_interval: timedelta = Field(default=timedelta(seconds=30), ge=timedelta(seconds=1), examples=["PT30S"])
    """Time between two looks at a table. A look reads the catalog's pointer and Flink's job, and more only on
    suspicion."""
    evidence_interval: timedelta = Field(default=timedelta(minutes=10), ge=timedelta(seconds=10), examples=["PT10M"])
    """How often to collect evidence without rows, even if nothing looks suspicious."""
    grace_period: timedelta = Field(default=timedelta(minutes=2), ge=timedelta(0), examples=["PT2M"])
    """How long a job may be stopped, or a source unreachable, before it becomes a finding. A finding is over once its
    cause is gone for this long."""


class WebSettings(Documented):
    """Probes, pages, API and MCP server: all of them only read."""

    pages: bool = Field(default=True, examples=[True])
    """`false`: only the probes `/livez` and `/readyz`, which need no token."""
    host: str = Field(default="127.0.0.1", examples=["127.0.0.1"])
    """Address that listens; `0.0.0.0` if somebody connects from another host. Pages on any address but loopback need a
    token or an identity header."""
    port: int = Field(default=8370, ge=0, le=65535, examples=[8370])
    """Port that listens; 0: a free one."""
    identity_header: str | None = Field(default=None, pattern=r"^[A-Za-z0-9-]+$", examples=["X-Forwarded-Email"])
    """Header in which an authenticating proxy names the user. Everybody whom it names may read."""
    proxies: tuple[str, ...] = Field(default=("127.0.0.1", "::1"), examples=[["10.0.0.0/8"]])
    """Addresses and networks of that proxy. The header is ignored from anywhere else."""

    @property
    def is_loopback(self) -> bool:
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


class Settings(Documented):
    home: Path = Field(default=Path("waterline-home"), examples=["/var/lib/waterline"])
    """Folder for journal, evidence and exports; relative to this file."""
    catalog: CatalogSettings
    """The Iceberg catalog."""
    jobs: dict[str, JobSettings] = {}
    """Flink jobs by their name in Flink (`pipeline.name`)."""
    tables: dict[TableName, TableSettings] = Field(min_length=1)
    """Watched tables, as namespace.table in the catalog."""
    actions: tuple[str, ...] = Field(default=(), examples=[["ourteam.waterline.restart_enrichment"]])
    """Python modules of your own actions, one each, named like the action."""
    spark: SparkSettings = SparkSettings()
    """Where evidence is collected."""
    lineage: LineageSettings = LineageSettings()
    """Who read which snapshot."""
    journal: JournalSettings = JournalSettings()
    """The record."""
    slack: SlackSettings = SlackSettings()
    """How Slack is reached."""
    logins: tuple[LoginSettings, ...] = ()
    """Certificates, tokens and proxies of addresses that ask for them."""
    notices: NoticesSettings = NoticesSettings()
    """E-mail and signed webhooks for notices."""
    terminal: TerminalSettings = TerminalSettings()
    """Who decides in a terminal."""
    watch: WatchSettings | None = None
    """The watch over tables without an incident. Without this section there is none."""
    web: WebSettings = WebSettings(pages=False)
    """Probes, pages, API and MCP server. Without this section, `waterline serve` has the probes alone."""

    @classmethod
    def load(cls, path: Path) -> "Settings":
        """The file at `path`. Raises BadConfiguration with file, line and setting of the first problem."""
        content = yaml_of(path)
        read = checked(cls, content, path)
        if read.lineage.events is not None and read.lineage.marquez is not None:
            raise bad(
                content, path, ("lineage", "marquez"), "there are two sources of lineage.",
                "Expected `events` or `marquez`; found both.", "Remove one of them.",
            )  # fmt: skip
        refuse_contradictions(read.jobs, read.tables, content, path)
        here = path.resolve().parent
        events = read.lineage.events
        return read.model_copy(
            update={
                "home": here / read.home.expanduser(),
                "tables": {name: table.beside(here) for name, table in read.tables.items()},
                "jobs": {name: job.beside(here) for name, job in read.jobs.items()},
                "spark": files_beside(read.spark, here, "ca_file", "token_file"),
                "logins": tuple(login.beside(here) for login in read.logins),
                "lineage": read.lineage.model_copy(update={"events": here / events.expanduser() if events else None}),
            }
        )

    @classmethod
    def reference(cls) -> str:
        return as_markdown(cls)

    @property
    def journal_url(self) -> str:
        return self.journal.url or f"sqlite:///{self.home / 'journal.db'}"

    @property
    def setups(self) -> dict[TableName, TableSetup]:
        return {name: table.setup(name, self.jobs) for name, table in self.tables.items()}


def refuse_open_house(web: WebSettings, token: SecretStr | None) -> None:
    """Raises BadConfiguration when anybody in the network could read, and for a proxy that is no address."""
    if web.pages and not (web.is_loopback or token is not None or web.identity_header is not None):
        raise BadConfiguration(
            f"The pages are not served: anybody who reaches {web.host}:{web.port} could read them.",
            "Expected WATERLINE_WEB_TOKEN in the environment, or `web.identity_header`; found neither.",
            "Set one of them, set `web.host` to 127.0.0.1, or set `web.pages` to false.",
        )
    for proxy in web.proxies:
        try:
            ipaddress.ip_network(proxy)
        except ValueError as error:
            raise BadConfiguration(
                f"web.proxies: {proxy} is no address.",
                f"Expected addresses such as 10.1.2.3 or networks such as 10.0.0.0/8; found: {error}.",
                "Write the address of the proxy, not its name.",
            ) from error
