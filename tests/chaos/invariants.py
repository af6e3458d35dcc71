"""What must hold after any number of kills, looked at from outside: by SQL, by PyIceberg, by what Slack and Flink have.

Each rule answers with sentences, one a violation; none is as it should be.
"""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text

from bot.adapters.journal_sql import open_store
from bot.workspace import Workspace
from tests.chaos.people import Typed
from tests.little_flink import ROWS_A_CHECKPOINT, open_catalog
from tests.tables import ORDERS

_TWICE = "It counts once"


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

    @property
    def commits(self) -> int:
        """Commits that the table's metadata lists."""
        with closing(open_catalog(self.folder)) as catalog:
            return len(catalog.load_table(ORDERS).metadata.snapshots)

    def bodies(self, kind: str) -> list[dict[str, Any]]:
        """Bodies of one kind."""
        return [entry["body"] for entry in self.journal if entry["kind"] == kind]

    def _rows(self, table: str, order: str) -> list[dict[str, Any]]:
        engine = create_engine(self.record)
        with engine.connect() as connection:
            rows = connection.execute(text(f"SELECT * FROM {table} ORDER BY {order}")).mappings().all()  # noqa: S608
        engine.dispose()
        return [dict(row) for row in rows]


def violations(seen: Seen) -> list[str]:
    """Every rule."""
    rules = (
        _chain, _incidents_one_at_a_time, _notes, _work_ended, _answered, _executions, _approvals, _effects, _moves,
        _positions, _messages, _notices,
    )  # fmt: skip
    return [f"{rule.__name__.strip('_')}: {sentence}" for rule in rules for sentence in rule(seen)]


def _chain(seen: Seen) -> Iterator[str]:
    with closing(open_store(seen.record)) as store:
        yield from (fault.sentence for fault in store.journal.verify())


def _incidents_one_at_a_time(seen: Seen) -> Iterator[str]:
    alive: set[str] = set()
    for entry in seen.journal:
        if entry["kind"] == "incident-opened":
            if alive:
                yield f"{entry['incident_id']} was opened on the table while {', '.join(alive)} was open"
            alive.add(entry["incident_id"])
        elif entry["kind"] == "incident-closed":
            alive.discard(entry["incident_id"])


def _notes(seen: Seen) -> Iterator[str]:
    said = Counter(body["text"] for body in seen.bodies("note-added"))
    for note in seen.notes:
        if said[note.text] > 1:
            yield f"“{note.text}” was written {said[note.text]} times"
        if note.acked and not said[note.text]:
            yield f"“{note.text}” was acknowledged and is not in the record"


def _work_ended(seen: Seen) -> Iterator[str]:
    for row in seen.inbox:
        if row["state"] != "done":
            yield f"delivery {row['key']} is {row['state']} after {row['attempts']} attempts"
        if row["problem"]:
            yield f"delivery {row['key']} met a defect: {row['problem']}"
    for row in seen.outbox:
        if row["state"] not in {"sent", "failed"}:
            yield f"message {row['key']} is {row['state']} after {row['tries']} tries: {row['problem']}"
        if row["state"] == "failed":
            yield f"message {row['key']} was given up: {row['problem']}"
    for note in seen.bodies("note-added"):
        if "failed (reference" in note["text"]:
            yield f"a duty met a defect: {note['text']}"


def _answered(seen: Seen) -> Iterator[str]:
    answered = {body["run"] for kind in ("evidence-recorded", "evidence-ended") for body in seen.bodies(kind)}
    for body in seen.bodies("evidence-requested"):
        if body["run"] not in answered:
            yield f"evidence {body['task']} ({body['run']}) was asked for and never answered"


def _executions(seen: Seen) -> Iterator[str]:
    started = Counter(body["proposal"] for body in seen.bodies("execution-started"))
    ended = Counter(b["proposal"] for b in seen.bodies("execution-ended") if b["outcome"] != "unknown")
    for proposal, times in started.items():
        if times != 1:
            yield f"execution of {proposal} was started {times} times"
        if ended[proposal] != 1:
            yield f"execution of {proposal} ended {ended[proposal]} times"


def _approvals(seen: Seen) -> Iterator[str]:
    approved = {b["proposal"] for b in seen.bodies("proposal-approved") if b["complete"]}
    done = {b["proposal"] for kind in ("execution-ended", "proposal-ended") for b in seen.bodies(kind)}
    for proposal in approved - done:
        yield f"{proposal} was approved and is neither carried out nor ended"


def _applied(seen: Seen) -> set[str]:
    return {b["proposal"] for b in seen.bodies("execution-ended") if b["outcome"] == "applied"}


def _effects(seen: Seen) -> Iterator[str]:
    done = Counter((b["proposal"], b["index"]) for b in seen.bodies("effect-ended") if b["how"] == "done")
    yield from (f"effect {which} ended as done {times} times" for which, times in done.items() if times > 1)
    for what in ("stop", "start"):
        of_run = Counter(job_id for kind, job_id in seen.calls if kind == what)
        yield from (f"{what} of run {job_id} was done {times} times" for job_id, times in of_run.items() if times > 1)
    starts = sum(kind == "start" for kind, _ in seen.calls)
    if starts != len(_applied(seen)):
        yield f"{len(_applied(seen))} recoveries were applied, and {starts} runs were started"


def _moves(seen: Seen) -> Iterator[str]:
    """Main goes back once for each recovery, and never otherwise."""
    with closing(open_catalog(seen.folder)) as catalog:
        log = [entry.snapshot_id for entry in catalog.load_table(ORDERS).metadata.snapshot_log]
    back = sum(snapshot in log[:place] for place, snapshot in enumerate(log))
    if back != len(_applied(seen)):
        yield f"{len(_applied(seen))} recoveries were applied, and main went back {back} times"


def _positions(seen: Seen) -> Iterator[str]:
    with closing(open_catalog(seen.folder)) as catalog:
        rows = catalog.load_table(ORDERS).scan(selected_fields=("source_position",)).to_arrow()
    found = Counter(rows["source_position"].to_pylist())
    if len(seen.checkpoints) != 1:
        yield f"{len(seen.checkpoints)} runs are alive"
        return
    expected = set(range(seen.checkpoints[0] * ROWS_A_CHECKPOINT))
    missing, more = expected - set(found), {p for p, times in found.items() if times > 1} | (set(found) - expected)
    if missing or more:
        yield f"{len(missing)} positions are missing, {len(more)} are there more than once or too many"


def _messages(seen: Seen) -> Iterator[str]:
    world = seen.slack.world
    shown: dict[str, list[str]] = {}
    for channel in {row["channel"] for row in seen.outbox}:
        roots = list(world.conversations.in_channel(channel))
        for message in roots:
            key = ((message.metadata or {}).get("event_payload") or {}).get("key")
            if key:
                shown.setdefault(key, []).append(json.dumps(message.blocks, ensure_ascii=False))
    for row in seen.outbox:
        if row["recipient"] is not None or "/picture/" in row["key"] or row["state"] == "failed":
            continue
        there = shown.pop(row["key"], [])
        if not there:
            yield f"message {row['key']} is sent and not there"
        if len([text for text in there if _TWICE not in text]) > 1:
            yield f"message {row['key']} is there {len(there)} times, and not each repetition says so"
    yield from (f"message {key} is there and nobody wanted it" for key in shown)


def _notices(seen: Seen) -> Iterator[str]:
    queued = len(seen.bodies("notice-queued"))
    ended = Counter(b["key"] for b in seen.bodies("notice-ended"))
    if queued != len(ended):
        yield f"{queued} notices were promised, and of {len(ended)} the record tells how they ended"
    yield from (f"notice {key} ended {times} times" for key, times in ended.items() if times > 1)
