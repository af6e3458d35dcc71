"""An approved rewind over a real table, a little Flink and a real record, with hands that can be made to fail."""

import sqlite3
from pathlib import Path

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql.store import Store
from bot.incident.execution import ProposalView
from bot.service.incident_store import IncidentStore
from bot.service.proposals.executing import Executions
from tests.little_flink import by_hand
from tests.rewound import ANA, PROPOSAL, Damaged
from tests.tables import rows


class Scene:
    """A damaged table, an approved rewind, and hands that can be made to fail."""

    def __init__(self, folder: Path, record: Store) -> None:
        self.damaged = Damaged.made_in(folder)
        self.record = record
        self.store = IncidentStore(record.journal, SystemClock())
        self.incident = self.damaged.approved(self.store)
        self.before = len(self.damaged.flink.calls)

    @property
    def executions(self) -> Executions:
        """Over this table and record."""
        return self.damaged.executions(self.store)[0]

    @property
    def view(self) -> ProposalView:
        """The rewind, as the record tells."""
        return self.store.get(self.incident).proposals[PROPOSAL]

    @property
    def calls(self) -> list[str]:
        """What Flink was told to do since the approval: `stop`, `start`."""
        return [call.split()[0] for call in self.damaged.flink.calls[self.before :]]

    def begins(self) -> None:
        """Ana has it carried out."""
        self.executions.begin(self.incident, PROPOSAL, by=ANA)

    def carries_on(self) -> None:
        """As the bot does every few seconds, and at each start."""
        self.executions.carry_on(self.incident, PROPOSAL)

    def somebody_edits_the_record(self, old: str, new: str) -> None:
        """By SQL, past the bot; what it has read is forgotten, as by a restart."""
        with sqlite3.connect(self.damaged.folder / "journal.db") as database:
            sql = "UPDATE journal SET body = replace(body, ?, ?) WHERE kind = 'proposal-made'"
            assert database.execute(sql, (old, new)).rowcount == 1
        database.close()
        self.store = IncidentStore(self.record.journal, SystemClock())
        assert new in self.view.proposal.model_dump_json()

    def backfill_commits(self) -> None:
        """Another engine appends three rows."""
        summary = {"engine-name": "spark", "spark.app.id": "local-17"}
        with by_hand(self.damaged.folder) as table:
            table.append(rows(range(900, 903)), snapshot_properties=summary)
