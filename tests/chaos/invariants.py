"""What must hold after any number of kills, looked at from outside: by SQL, by PyIceberg, by what Slack and Flink have.

Each rule answers with sentences, one a violation; none is as it should be. What was done to table and job has its
rules in `deeds`.
"""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

from bot.adapters.journal_sql import open_store
from tests.chaos import deeds
from tests.chaos.seen import Seen

_TWICE = "It counts once"


def violations(seen: Seen) -> list[str]:
    rules = (
        _chain, _incidents_one_at_a_time, _notes, _work_ended, _answered, _executions, _approvals, _messages, _notices,
        *deeds.RULES,
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
