"""A host with an approved rewind on real parts, and `waterline proposal` on it, also beside a running bot."""

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from click.testing import Result
from ruamel.yaml import YAML
from typer.testing import CliRunner

import bot.bootstrap
import bot.cli.proposal
from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql.store import Store, existing_record, open_store
from bot.bootstrap import build
from bot.cli.options import NobodyThere
from bot.cli.proposal import app
from bot.incident.execution import ProposalView
from bot.incident.incident import Incident
from bot.incident.waterline import due_waterline
from bot.observation.ids import IncidentId, UserId
from bot.ports import JobPorts
from bot.service.incident_store import IncidentStore
from bot.settings import Settings
from tests.little_flink import JOB, LittleFlink, open_catalog
from tests.power_cut import CutAtDeed, PowerCut
from tests.rewound import ANA, BEN, PROPOSAL, Damaged
from tests.slack.looking import ArrowRunner
from tests.slack.people import eventually
from tests.tables import ORDERS, rows


class _Runner(ArrowRunner):
    def close(self) -> None:
        """As Spark's is closed."""


@dataclass
class Host:
    """Run B was restored from the wrong savepoint; the rewind to run A is approved, and nobody has begun it."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    who: UserId = ANA
    deeds: CutAtDeed = field(default_factory=CutAtDeed)
    """What was done to the world from here."""

    @classmethod
    def made_in(cls, folder: Path, monkeypatch: pytest.MonkeyPatch) -> "Host":
        """Without Slack and without Spark: the little Flink, and evidence by Arrow."""
        (folder / "home").mkdir()
        host = cls(folder, monkeypatch)
        record = open_store(host.url)
        Damaged.made_in(folder).approved(IncidentStore(record.journal, SystemClock()))
        record.close()
        monkeypatch.delenv("SLACK_BOT_TOKEN", raising=False)
        host.on_real_parts()
        return host

    def on_real_parts(self) -> None:
        """What commands and bot reach from here; deeds in the world are counted."""
        damaged, catalog = Damaged(self.folder), bot.bootstrap.outside.PyIcebergCatalog
        self.flink = damaged.flink
        ports = JobPorts(damaged.flink, damaged.checkpoints, None)

        def counted(*args: object) -> object:
            made = catalog(*args)  # type: ignore[arg-type]
            self.deeds.around(made, "commit")
            return made

        self.deeds.around(damaged.flink, "stop", "start")
        self.monkeypatch.setattr(bot.bootstrap.outside, "PyIcebergCatalog", counted)
        self.monkeypatch.setattr(bot.bootstrap.outside, "job_ports", lambda *_args: ports)
        self.monkeypatch.setattr(bot.bootstrap.outside, "spark_runner", lambda *_args: _Runner())

    def power_is_cut_at(self, entry: int) -> None:
        """Of the command's own entries."""

        @contextmanager
        def cut(settings: Settings) -> Iterator[Store]:
            with existing_record(settings) as store:
                yield replace(store, journal=PowerCut(store.journal, entry))  # type: ignore[arg-type]

        self.monkeypatch.setattr(bot.cli.proposal, "existing_record", cut)

    def power_is_back(self) -> None:
        """Commands work on the record as it is."""
        self.monkeypatch.setattr(bot.cli.proposal, "existing_record", existing_record)

    def types(self, *arguments: str) -> Result:
        return CliRunner().invoke(app, [*arguments, "--config", str(self.config)])

    def executes(self) -> Result:
        """`waterline proposal execute`, with the digest that was shown."""
        return self.types("execute", "wl-1", "--digest", self.view.proposal.digest[:12])

    @contextmanager
    def bot_runs(self) -> Iterator[None]:
        """It looks at what it owes as `waterline serve` does, only more often."""
        with build(Settings.load(self.config), NobodyThere()) as built:
            built.timers.every("settle", 0.2, built.services.reconciler.reconcile_all)
            yield

    def waits_until_all_is_done(self) -> None:
        """Somebody else carries it out."""
        eventually(lambda: self.view.verified is not None and not self.is_owed)

    def backfill_commits(self) -> None:
        """Another engine appends three rows."""
        catalog = open_catalog(self.folder)
        summary = {"engine-name": "spark", "spark.app.id": "local-17"}
        catalog.load_table(ORDERS).append(rows(range(900, 903)), snapshot_properties=summary)
        catalog.close()

    @property
    def config(self) -> Path:
        """The configuration, with the login of the tests bound to `who`."""
        login, lake = pwd.getpwuid(os.getuid()).pw_name, f"file://{self.folder}/lake"
        catalog = {"type": "sql", "uri": f"sqlite:///{self.folder}/catalog.db", "warehouse": lake}
        content = {
            "home": "home",
            "catalog": {"name": "lake", "properties": catalog},
            "jobs": {JOB: {"flink": "http://127.0.0.1:9"}},
            "tables": {
                "sales.orders": {
                    "contract": {"key": ["order_id"], "position": "source_position"},
                    "job": JOB,
                    "policies": {"default": {"users": [BEN]}},
                }
            },
            "terminal": {"people": {login: self.who}},
        }
        file = self.folder / "waterline.yaml"
        with file.open("w") as written:
            YAML().dump(content, written)
        return file

    @property
    def incident(self) -> Incident:
        """As the record tells it."""
        record = open_store(self.url)
        try:
            return IncidentStore(record.journal, SystemClock()).get(IncidentId("wl-1"))
        finally:
            record.close()

    @property
    def view(self) -> ProposalView:
        return self.incident.proposals[PROPOSAL]

    @property
    def entries(self) -> int:
        """How many there are since the approval."""
        return self.incident.seq - 3

    @property
    def is_owed(self) -> bool:
        """Whether anything is left to do: to begin, a step, the proof, the mark."""
        incident = self.incident
        return self.view.verified is None or due_waterline(incident) not in (None, incident.waterline)

    @property
    def calls(self) -> list[str]:
        """What Flink was told to do since the approval: `stop`, `start`."""
        return [call.split()[0] for call in LittleFlink(self.folder).calls[1:]]

    @property
    def url(self) -> str:
        return f"sqlite:///{self.folder}/home/journal.db"
