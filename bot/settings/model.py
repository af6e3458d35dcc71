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
from bot.observation.record import Record
from bot.settings.jobs import HttpUrl, JobSettings, LoginSettings, files_beside
from bot.settings.reading import as_markdown, bad, checked, yaml_of
from bot.settings.tables import TableSettings, refuse_contradictions


class CatalogSettings(Record):
    name: str = Field(
        min_length=1,
        description="The catalog's name. In a SQL catalog it is part of the key: use the same name as in Flink "
        "and Spark.",
        examples=["lake"],
    )
    properties: dict[str, str] = Field(
        min_length=1,
        description="PyIceberg gets these as they are. Types `sql`, `rest`, `hive` and `glue` were tried. With "
        "another type, Spark writes rows only if its Connect server knows the catalog itself "
        "(`spark.catalog`).",
        examples=[{"type": "rest", "uri": "http://catalog:8181"}],
    )
    mark: Literal["tag", "property", "none"] = Field(
        default="tag",
        description="How Waterline marks the last verified snapshot. Use `property` where tags are refused or stop "
        "the catalog's own snapshot expiry, as in S3 Tables. With `none`, only the trust API and notices name it.",
        examples=["property"],
    )


class SparkSettings(Record):
    """Where evidence is collected."""

    remote: str | None = Field(
        default=None,
        pattern=r"^sc://",
        description="Spark Connect address, with PySpark's parameters and further headers after `/;`. Without it, "
        "Waterline starts a local Spark.",
        examples=["sc://spark-connect:15002"],
    )
    token_file: Path | None = Field(
        default=None,
        description="File with the bearer token of the Spark Connect server, read at each call. Relative to this file.",
        examples=["/var/run/secrets/spark-token"],
    )
    token_command: tuple[str, ...] = Field(
        default=(),
        description="Command that prints the bearer token. Waterline runs it again every `token_lifetime`.",
        examples=[["databricks-token", "--profile", "waterline"]],
    )
    token_lifetime: timedelta = Field(
        default=timedelta(minutes=5),
        gt=timedelta(0),
        description="How long a printed token is used.",
        examples=["PT5M"],
    )
    tls: bool | None = Field(
        default=None,
        description="Whether the connection is encrypted. By default as the address says (`use_ssl=true`), and always "
        "with a token or `ca_file` for another host.",
        examples=[True],
    )
    ca_file: Path | None = Field(
        default=None,
        description="Certificate authority of the Spark Connect server, if the system does not know it. "
        "Relative to this file.",
        examples=["/etc/waterline/spark-ca.pem"],
    )
    answer_timeout: timedelta = Field(
        default=timedelta(seconds=30),
        gt=timedelta(0),
        description="Spark counts as frozen after this time without an answer.",
        examples=["PT30S"],
    )
    idle_after: timedelta = Field(
        default=timedelta(minutes=15),
        gt=timedelta(0),
        description="After this time without a question, the session is released, and a local Spark ends.",
        examples=["PT15M"],
    )
    memory: str = Field(
        default="1g", pattern=r"^\d+[mg]$", description="Heap of the local Spark, as `-Xmx` takes it.", examples=["2g"]
    )
    limit: timedelta = Field(
        default=timedelta(minutes=10),
        gt=timedelta(0),
        description="Time limit of one evidence task.",
        examples=["PT10M"],
    )
    catalog: str | None = Field(
        default=None,
        description="Name of the catalog on the Spark server, if it is configured there with Iceberg's session "
        "extensions. Without it, a replay configures it from `catalog.properties`.",
        examples=["lake"],
    )
    catalog_properties: dict[str, str] = Field(
        default={},
        description="Iceberg's Java properties for a replay, where they differ from `catalog.properties`.",
        examples=[{"io-impl": "org.apache.iceberg.aws.s3.S3FileIO"}],
    )
    packages: tuple[str, ...] = Field(
        default=(),
        description="More packages for the local Spark, which it downloads by name when it starts. It has those of "
        "Iceberg and of the warehouse's storage.",
        examples=[["org.apache.hadoop:hadoop-huaweicloud:3.4.2"]],
    )
    conf: dict[str, str] = Field(
        default={},
        description="More settings for the local Spark. They win over those that follow from `catalog.properties`.",
        examples=[{"spark.hadoop.fs.s3a.connection.maximum": "50"}],
    )


class LineageSettings(Record):
    events: Path | None = Field(
        default=None,
        description="File of OpenLineage events, one JSON per line; relative to this file. Without it or "
        "Marquez, readers are not known.",
        examples=["lineage/events.jsonl"],
    )
    marquez: HttpUrl | None = Field(
        default=None,
        description="Address of Marquez, without `/api/v1`, in place of `events`.",
        examples=["http://marquez:5000"],
    )
    catalog_names: tuple[str, ...] | None = Field(
        default=None,
        description="All other names of the catalog in other engines, such as Trino; an empty list if there are "
        "none. Without it, a read of `NAME.sales.orders` is shown as one that may be of this table.",
        examples=[["iceberg"]],
    )


class JournalSettings(Record):
    url: str | None = Field(
        default=None,
        description="SQLAlchemy URL of the database; by default a SQLite file in `home`. Put a password into "
        "the driver's own files (`.pgpass`), not here.",
        examples=["postgresql+psycopg://waterline@db/waterline"],
    )


class SlackSettings(Record):
    """How Slack is reached. Tokens come from the environment."""

    mode: Literal["socket", "http"] = Field(
        default="socket",
        description="`socket` needs no public address; `http` receives Slack's signed requests.",
        examples=["socket"],
    )
    base_url: HttpUrl = Field(
        default="https://slack.com/api/",
        description="Slack's Web API. The demo uses the local workspace's address.",
        examples=["https://slack.com/api/"],
    )
    team_id: str | None = Field(
        default=None,
        pattern=r"^T[A-Z0-9]+$",
        description="Where the app is installed for a whole organisation (Enterprise Grid): the id of the workspace "
        "whose user groups the policies name.",
        examples=["T0STREAMS1"],
    )
    min_message_interval: timedelta = Field(
        default=timedelta(seconds=1),
        ge=timedelta(0),
        description="Time between two messages in one channel. Slack allows about one a second.",
        examples=["PT1S"],
    )
    host: str = Field(
        default="127.0.0.1",
        description="Address that listens in mode `http`; `0.0.0.0` if a proxy connects from another host.",
        examples=["127.0.0.1"],
    )
    port: int = Field(
        default=3000, ge=1, le=65535, description="Port that listens for Slack in mode `http`.", examples=[3000]
    )


class SmtpSettings(Record):
    host: str = Field(min_length=1, description="The mail server's name.", examples=["smtp.acme.example"])
    port: int = Field(default=587, ge=1, le=65535, description="Its port.", examples=[587])
    security: Literal["starttls", "tls", "none"] = Field(
        default="starttls",
        description="`tls` from the first byte (port 465), `starttls`, or `none` for a relay on this host.",
        examples=["starttls"],
    )
    sender: str = Field(
        pattern=r"^[^\s@<>]+@[^\s@<>]+$", description="The address in From.", examples=["waterline@acme.example"]
    )
    user: str | None = Field(
        default=None,
        description="User name at the mail server; its password is WATERLINE_SMTP_PASSWORD. Without it, there "
        "is no login.",
        examples=["waterline"],
    )
    timeout: timedelta = Field(
        default=timedelta(seconds=20),
        gt=timedelta(0),
        description="Time limit of one try.",
        examples=["PT20S"],
    )


class NoticesSettings(Record):
    """Ways to consumers beside Slack. Webhooks need WATERLINE_WEBHOOK_SECRET, folders need nothing."""

    smtp: SmtpSettings | None = Field(default=None, description="The mail server. Without it, no notices go by e-mail.")


class TerminalSettings(Record):
    """Decisions in a terminal: the operating system says who types, this file says who that is."""

    people: dict[str, UserId] = Field(
        default={},
        description="Login name on the bot's host -> Slack user id. Users not listed here can only decide in Slack.",
        examples=[{"ben": "U0BEN00001"}],
    )


class WatchSettings(Record):
    channel: str | None = Field(
        default=None,
        description="Slack channel id for findings on tables without a `channel`. Without it, such tables are "
        "not watched.",
        examples=["C0INCIDENT"],
    )
    notify: People = Field(default=People(), description="Whom urgent findings mention, and so notify.")
    poll_interval: timedelta = Field(
        default=timedelta(seconds=30),
        ge=timedelta(seconds=1),
        description="Time between two looks at a table. A look reads the catalog's pointer and Flink's job, and "
        "more only on suspicion.",
        examples=["PT30S"],
    )
    evidence_interval: timedelta = Field(
        default=timedelta(minutes=10),
        ge=timedelta(seconds=10),
        description="How often to collect evidence without rows, even if nothing looks suspicious.",
        examples=["PT10M"],
    )
    grace_period: timedelta = Field(
        default=timedelta(minutes=2),
        ge=timedelta(0),
        description="How long a job may be stopped, or a source unreachable, before it becomes a finding. A "
        "finding is over once its cause is gone for this long.",
        examples=["PT2M"],
    )


class WebSettings(Record):
    """Probes, pages, API and MCP server: all of them only read."""

    pages: bool = Field(
        default=True,
        description="`false`: only the probes `/livez` and `/readyz`, which need no token.",
        examples=[True],
    )
    host: str = Field(
        default="127.0.0.1",
        description="Address that listens; `0.0.0.0` if somebody connects from another host. Pages on any "
        "address but loopback need a token or an identity header.",
        examples=["127.0.0.1"],
    )
    port: int = Field(default=8370, ge=0, le=65535, description="Port that listens; 0: a free one.", examples=[8370])
    identity_header: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9-]+$",
        description="Header in which an authenticating proxy names the user. Everybody whom it names may read.",
        examples=["X-Forwarded-Email"],
    )
    proxies: tuple[str, ...] = Field(
        default=("127.0.0.1", "::1"),
        description="Addresses and networks of that proxy. The header is ignored from anywhere else.",
        examples=[["10.0.0.0/8"]],
    )

    @property
    def is_loopback(self) -> bool:
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


class Settings(Record):
    home: Path = Field(
        default=Path("waterline-home"),
        description="Folder for journal, evidence and exports; relative to this file.",
        examples=["/var/lib/waterline"],
    )
    catalog: CatalogSettings = Field(description="The Iceberg catalog.")
    jobs: dict[str, JobSettings] = Field(default={}, description="Flink jobs by their name in Flink (`pipeline.name`).")
    tables: dict[TableName, TableSettings] = Field(
        min_length=1, description="Watched tables, as namespace.table in the catalog."
    )
    actions: tuple[str, ...] = Field(
        default=(),
        description="Python modules of your own actions, one each, named like the action.",
        examples=[["ourteam.waterline.restart_enrichment"]],
    )
    spark: SparkSettings = Field(default=SparkSettings(), description="Where evidence is collected.")
    lineage: LineageSettings = Field(default=LineageSettings(), description="Who read which snapshot.")
    journal: JournalSettings = Field(default=JournalSettings(), description="The record.")
    slack: SlackSettings = Field(default=SlackSettings(), description="How Slack is reached.")
    logins: tuple[LoginSettings, ...] = Field(
        default=(), description="Certificates, tokens and proxies of addresses that ask for them."
    )
    notices: NoticesSettings = Field(default=NoticesSettings(), description="E-mail and signed webhooks for notices.")
    terminal: TerminalSettings = Field(default=TerminalSettings(), description="Who decides in a terminal.")
    watch: WatchSettings | None = Field(
        default=None, description="The watch over tables without an incident. Without this section there is none."
    )
    web: WebSettings = Field(
        default=WebSettings(pages=False),
        description="Probes, pages, API and MCP server. Without this section, `waterline serve` has the probes alone.",
    )

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
