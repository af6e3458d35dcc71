"""Who reads a table: observed runs of consumers, near and far, and those who declared to read it."""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from bot.observation.ids import SnapshotId
from bot.observation.record import Documented, Record, Utc

WAYS = {"slack": "in Slack", "email": "by e-mail", "webhook": "by webhook", "file": "as a file"}
_HOST = re.compile(r"(https?://)(?:[^/?#\s]*@)?([^/?#\s]*)")


class Address(Record):
    """One way to one audience."""

    by: Literal["slack", "email", "webhook", "file"]
    to: str
    """Slack channel id, e-mail address, folder, or a webhook as `hook_name` calls it; its URL in old records."""

    @property
    def key(self) -> str:
        """Unique among the addresses of a notice."""
        return f"{self.by}:{self.to}"

    @property
    def shown(self) -> str:
        """What people read of it."""
        return shown_of(self.by, self.to)

    def __str__(self) -> str:
        shown = f"<#{self.to}>" if self.by == "slack" else self.shown
        return f"{WAYS[self.by]} ({shown})"


def hook_name(url: str) -> str:
    """Scheme, host and a digest: what is kept of a webhook, whose path or query may be all that a sender needs."""
    return f"{hook_host(url)} #{hashlib.sha256(url.encode()).hexdigest()[:12]}"


def hook_host(to: str) -> str:
    """Scheme, host and port of a webhook's URL or name."""
    found = _HOST.match(to)
    return found[1] + found[2] if found is not None else "an address that cannot be read"


def shown_of(by: str, to: str) -> str:
    """What people read of an address of this way."""
    return hook_host(to) if by == "webhook" else to


Kind = Literal["job", "agent", "dashboard", "person", "channel"]
Engine = Literal["Spark", "Trino", "Flink", "PyIceberg", "DuckDB"]


class ReadRun(Record):
    """One consumer run that read the table, from an OpenLineage event."""

    consumer: str
    """The job's name, as declared consumers are named: `revenue_daily`."""
    run_id: str
    at: Utc
    snapshot_id: SnapshotId | None
    """The snapshot it read; None when the event does not say."""
    engine: str = ""
    """By which it read, as its events name it: `spark`; empty where none does."""


class FarRead(Record):
    """One run that read what a reader of the table had written, directly or through further runs."""

    consumer: str
    run_id: str
    at: Utc
    origin: str
    """Run id of the reader of the table from which this run's input came."""
    snapshot_id: SnapshotId | None
    """What the origin read; None when its event does not say."""
    path: tuple[str, ...]
    """From the table's reader on: consumer, dataset, consumer, dataset, …; its own name is not in it."""

    @property
    def distance(self) -> int:
        """Runs between the table and this one, itself included: at least 2."""
        return len(self.path) // 2 + 1


class Consumer(Documented):
    """A declared consumer, and each way to notify it."""

    name: str = Field(min_length=1, max_length=80, pattern=r"^[^\s/][^/\r\n]*$", examples=["revenue_daily"])
    """The consumer's name, equal to its job's name in lineage events."""
    kind: Kind = Field(default="job", examples=["agent"])
    """What it is. A `channel` stands for everybody who reads there; an agent gets the same notices as a job."""
    channel: str | None = Field(default=None, examples=["C0REVENUE1"])
    """Slack channel id for its notices."""
    email: tuple[str, ...] = Field(default=(), examples=[["revenue@acme.example"]])
    """E-mail addresses for its notices."""
    webhook: str | None = Field(
        default=None, pattern=r"^https?://\S+$", examples=["https://hooks.acme.example/waterline"]
    )
    """URL that accepts signed notices as JSON: for jobs and agents."""
    folder: str | None = Field(default=None, examples=["notices/revenue"])
    """Folder for its notices, one Markdown file each; relative to this file."""
    engine: Engine | None = Field(default=None, examples=["Trino"])
    """The engine by which it reads: its notices show how to read the trusted snapshot there. By default the one that
    lineage names."""
    owner: str | None = Field(default=None, examples=["U0DANA0001"])
    """Its owner: a Slack user id, or a name."""

    @model_validator(mode="after")
    def _is_reachable(self) -> "Consumer":
        if not (self.channel or self.email or self.webhook or self.folder):
            raise ValueError("at least one of channel, email, webhook and folder")
        bad = next((each for each in self.email if not _is_mail_address(each)), None)
        if bad is not None:
            raise ValueError(f"e-mail addresses like revenue@acme.example, and {bad!r} is none")
        if self.webhook is not None and "@" in re.split("[/?#]", self.webhook.partition("://")[2])[0]:
            raise ValueError(
                "a webhook without user and password before its host. Every notice is signed by "
                "WATERLINE_WEBHOOK_SECRET, which the receiver, or a proxy before it, can ask for instead"
            )
        return self

    def beside(self, folder: Path) -> "Consumer":
        """The same, its folder in that folder unless its path is absolute."""
        at = None if self.folder is None else str(folder / Path(self.folder).expanduser())
        return self.model_copy(update={"folder": at})

    @property
    def ways(self) -> tuple[Address, ...]:
        """Every way but Slack."""
        mails = tuple(Address(by="email", to=each) for each in self.email)
        hooks = (Address(by="webhook", to=hook_name(self.webhook)),) if self.webhook else ()
        files = (Address(by="file", to=self.folder),) if self.folder else ()
        return (*mails, *hooks, *files)

    @staticmethod
    def hooks_of(consumers: Iterable["Consumer"]) -> dict[str, str]:
        """Name of each of their webhooks, as `ways` calls it -> its URL."""
        return {hook_name(each.webhook): each.webhook for each in consumers if each.webhook}


class Untold(Record):
    """A channel that the table's data contract names for announcements, and that no notice reaches."""

    name: str
    """As the contract names it."""
    why: str
    """A clause."""


def _is_mail_address(text: str) -> bool:
    name, at, host = text.rpartition("@")
    return bool(at and name and "." in host) and text.isascii() and text.isprintable() and not set(text) & set(' ,;<>"')
