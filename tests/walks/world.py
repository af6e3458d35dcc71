"""One incident on the real cluster: lab, workspace, the bot as its own process, and people who walk."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog

from bot.cli.demo import SYMPTOMS, bot_process, write_config
from bot.cli.walk import Walk
from bot.lab.lab import Lab
from bot.workspace import SeenMessage, Workspace
from tests.words.measure import Text, joined, measure

CHANNEL = "orders-oncall"
_PATIENCE_S = 300.0
"""For one proposal from the command to its proof, on a machine that does other work as well."""


class Stopped(Exception):
    """The walk has come to where the test wants it."""


class Incident:
    """A broken lab and the bot that looks at it."""

    def __init__(self, lab: Lab, workspace: Workspace, folder: Path) -> None:
        self.lab = lab
        self.workspace = workspace
        self.folder = folder
        self.config = write_config(folder, lab.state, workspace.api_url, workspace.world.cast)
        self.said: list[str] = []

    @contextmanager
    def bot(self) -> Iterator[subprocess.Popen[bytes]]:
        """The bot runs; it is ended with the block unless the test has killed it."""
        log = self.folder / "bot.log"
        with bot_process(self.config, self.workspace, log) as bot:
            bot.waits_until_here()
            yield bot.process

    def walk(self, story: str, *, stop_at: str | None = None, runbook: str | None = None) -> list[str]:
        """Walk the story's runbook (or this one) to its end, or to the click on `stop_at` (which is made)."""
        return _StoppingWalk(self.workspace, runbook or SYMPTOMS[story], self.said.append, stop_at).run()

    def goes_on(self, story: str) -> list[str]:
        """Walk from where the incident is to its end, as after `stop_at`."""
        return _GoingOn(self.workspace, SYMPTOMS[story], self.said.append).run()

    def opens(self, runbook: str) -> None:
        """Ana opens an incident, and it is named by itself."""
        before = self._named()
        _StoppingWalk(self.workspace, runbook, self.said.append, None).opens()
        self.until(lambda: self._named() > before, _PATIENCE_S)

    def asks_for(self, command: str) -> None:
        """Ana types it in the incident's channel."""
        self.workspace.person("ana").types(command, CHANNEL)

    def _named(self) -> int:
        return [each["step"] for each in self.journal("step-done")].count("name-it")

    def ledgers(self) -> int:
        """How often the ledger has answered, in all incidents."""
        return [e["evidence"]["task"] for e in self.journal("evidence-recorded")].count("ledger")  # type: ignore[index]

    def reads_the_ledger(self) -> None:
        """Ana asks for it once more."""
        before = self.ledgers()
        self.asks_for("/waterline run ledger")
        self.until(lambda: self.ledgers() > before)

    def carries_out(self, number: int) -> None:
        """Ben approves the newest proposal, the incident's `number`-th, Ana executes it, and it is proven."""
        ana, ben = self.workspace.person("ana"), self.workspace.person("ben")
        self.until(lambda: len(self.journal("proposal-made")) == number, _PATIENCE_S)
        ben.waits_for(lambda m: "Approve" in m.buttons, CHANNEL, timeout=_PATIENCE_S)
        ben.clicks("Approve")
        ana.waits_for(lambda m: "Execute" in m.buttons, CHANNEL, timeout=_PATIENCE_S)
        ana.clicks("Execute")
        self.until(lambda: len(self.journal("verified")) == number, _PATIENCE_S)

    def until(self, condition: Callable[[], bool], limit_s: float = 60) -> None:
        """Waits until it holds."""
        deadline = time.monotonic() + limit_s
        while not condition():
            assert time.monotonic() < deadline, "it did not come"
            time.sleep(0.05)

    def properties(self) -> dict[str, str]:
        """The table's properties, read with PyIceberg."""
        catalog = self._catalog()
        try:
            return dict(catalog.load_table("sales.orders").metadata.properties)
        finally:
            catalog.close()

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A `waterline` command in a terminal."""
        command = [sys.executable, "-m", "bot.cli", *arguments, "--config", str(self.config)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    def unclear(self) -> str:
        """Long sentences and words of the house, in every message as it was rendered and in the record."""
        people = {CHANNEL: "ana", "revenue-analytics": "dana", "fraud-ml": "eli"}
        messages = [m for channel, name in people.items() for m in self.workspace.person(name).messages(channel)]
        shown = [Text(m.channel, m.plain) for each in messages for m in (each, *each.replies)]
        assert self.command("record", "export", "wl-1", "--form", "markdown", "--to", str(self.folder)).returncode == 0
        [record] = self.folder.glob("*.md")
        lines = list(enumerate(record.read_text(encoding="utf-8").splitlines(), 1))
        found = measure([*shown, *(Text(f"{record.name}:{number}", text) for number, text in joined(lines))])
        assert found.sentences > 200
        return "\n".join(map(str, [*found.too_long, *found.forbidden]))

    def journal(self, kind: str) -> list[dict[str, object]]:
        """Bodies of one kind, read from the database by SQL alone."""
        with sqlite3.connect(self.folder / "bot" / "journal.db") as connection:
            rows = connection.execute("SELECT kind, body FROM journal ORDER BY seq").fetchall()
        return [json.loads(body) for found, body in rows if found == kind]

    def positions(self) -> list[int]:
        """Every live source position, sorted, read with PyIceberg: neither the bot's code nor the lab's."""
        catalog = self._catalog()
        try:
            table = catalog.load_table("sales.orders").scan(selected_fields=("source_position",)).to_arrow()
        finally:
            catalog.close()
        return sorted(table["source_position"].to_pylist())

    def checkpoints_of_the_last_run(self) -> list[int]:
        """Checkpoint ids on main of the run that wrote the head, oldest first."""
        catalog = self._catalog()
        try:
            metadata = catalog.load_table("sales.orders").metadata
        finally:
            catalog.close()
        by_id = {snapshot.snapshot_id: snapshot for snapshot in metadata.snapshots}
        current = by_id[metadata.current_snapshot_id]
        run, ids = _property(current, "flink.job-id"), []
        while _property(current, "flink.job-id") == run:
            ids.append(int(_property(current, "flink.max-committed-checkpoint-id")))
            current = by_id[current.parent_snapshot_id]
        return list(reversed(ids))

    def _catalog(self) -> SqlCatalog:
        state = self.lab.state
        return SqlCatalog(state.catalog_name, **state.catalog_properties)


class _StoppingWalk(Walk):
    patience_s = 1500.0

    def __init__(self, workspace: Workspace, runbook: str, say: Callable[[str], None], stop_at: str | None) -> None:
        super().__init__(workspace, runbook, say)
        self._stop_at = stop_at

    def run(self) -> list[str]:
        try:
            return super().run()
        except Stopped:
            return self._steps

    def opens(self) -> None:
        self._open()

    def _propose(self, label: str, card: SeenMessage) -> None:
        if self._stop_at is None:
            super()._propose(label, card)
            return
        self._click(label, card)
        self._wait_for("Approve", self._ben)
        self._ben.clicks("Approve")
        self._wait_for("Execute", self._ana)
        if self._stop_at == "Execute":
            self._ana.clicks("Execute")
        raise Stopped


class _GoingOn(Walk):
    patience_s = 1500.0

    def _open(self) -> None:
        """It is open already."""


@contextmanager
def incident(lab: Lab, folder: Path) -> Iterator[Incident]:
    """A workspace beside a lab that is broken already or is going to be."""
    with ExitStack() as stack:
        yield Incident(lab, stack.enter_context(Workspace().serve()), folder)


def kill(process: subprocess.Popen[bytes]) -> None:
    """As a power cut does it."""
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def _property(snapshot: object, key: str) -> str:
    return snapshot.summary.additional_properties.get(key, "")  # type: ignore[attr-defined,no-any-return]
