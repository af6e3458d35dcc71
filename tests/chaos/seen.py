"""What is there when the experiment holds still: what the bot has written, and what Slack, Flink and the table have."""

import json
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text

from bot.workspace import Workspace
from tests.chaos.people import Typed
from tests.chaos.table_history import TableHistory, table_history


@dataclass(frozen=True)
class Seen:
    """What was found while the job held still and the bot had nothing left to do."""

    folder: Path
    slack: Workspace
    record: str
    notes: tuple[Typed, ...]
    checkpoints: tuple[int, ...]
    """Newest checkpoint of each run that is alive."""

    @cached_property
    def journal(self) -> list[dict[str, Any]]:
        """Every entry's columns, its body parsed, in order."""
        return [{**row, "body": json.loads(row["body"])} for row in self._rows("journal", "at, incident_id, seq")]

    @cached_property
    def outbox(self) -> list[dict[str, Any]]:
        """Every message that was to be sent."""
        return self._rows("outbox", "position")

    @cached_property
    def inbox(self) -> list[dict[str, Any]]:
        """Every delivery that was stored."""
        return self._rows("inbox", "received_at")

    @cached_property
    def calls(self) -> list[list[str]]:
        """Stops and starts that Flink carried out for the bot."""
        path = self.folder / "calls.txt"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    @cached_property
    def table(self) -> TableHistory:
        """The table as it is and as it came to be."""
        return table_history(self.folder)

    @cached_property
    def proposals(self) -> dict[str, dict[str, Any]]:
        """Every proposal by its id."""
        return {body["proposal"]["id"]: body["proposal"] for body in self.bodies("proposal-made")}

    @property
    def done(self) -> list[tuple[str, dict[str, Any]]]:
        """(proposal, effect) of every effect that ended as done, in order, as often as the record says so."""
        ended = (body for body in self.bodies("effect-ended") if body["how"] == "done")
        return [(body["proposal"], self.proposals[body["proposal"]]["effects"][body["index"]]) for body in ended]

    def done_of(self, *kinds: str) -> list[dict[str, Any]]:
        """Effects of these kinds that are done."""
        return [effect for _, effect in self.done if effect["kind"] in kinds]

    @property
    def applied(self) -> list[str]:
        """Proposals that were carried out whole."""
        return [body["proposal"] for body in self.bodies("execution-ended") if body["outcome"] == "applied"]

    @property
    def recoveries(self) -> Counter[str]:
        """Actions of the proposals that were carried out whole."""
        return Counter(self.proposals[proposal]["action"] for proposal in self.applied)

    @property
    def approvals(self) -> Counter[str]:
        """How the proposals ended whose approval was complete: applied or refused where they were carried out, else
        expired, superseded, rejected; open: not at all."""
        approved = {body["proposal"] for body in self.bodies("proposal-approved") if body["complete"]}
        ends = {body["proposal"]: body["how"] for body in self.bodies("proposal-ended")}
        ended = (body for body in self.bodies("execution-ended") if body["outcome"] != "unknown")
        ends |= {body["proposal"]: body["outcome"] for body in ended}
        return Counter(ends.get(proposal, "open") for proposal in approved)

    def bodies(self, kind: str) -> list[dict[str, Any]]:
        """Bodies of one kind."""
        return [entry["body"] for entry in self.journal if entry["kind"] == kind]

    def _rows(self, table: str, order: str) -> list[dict[str, Any]]:
        engine = create_engine(self.record)
        with engine.connect() as connection:
            rows = connection.execute(text(f"SELECT * FROM {table} ORDER BY {order}")).mappings().all()  # noqa: S608
        engine.dispose()
        return [dict(row) for row in rows]
