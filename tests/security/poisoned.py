"""A whole incident in which every text that came from outside is an attack."""

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from bot.incident.incident import Incident, fold
from bot.incident.journal import Entry
from bot.observation.record import Record

_OF_SLACK = frozenset({"by", "user", "users", "groups", "channel", "proposed_by", "responder", "to", "pages"})
"""Ids that Slack or the configuration gave: shapes, not texts."""
_LINKS = frozenset({"id", "kind", "run", "step", "proposal", "key", "task", "digest", "runbook", "notice"})
"""What ties entries together: poisoned it would be another incident, or none. The runbook is the team's own."""


def poisoned(entries: Sequence[Entry], attack: str) -> Incident:
    """The same incident, its texts replaced; a field whose shape forbids the attack keeps what it had."""
    return fold([_entry(entry, attack) for entry in entries])


R = TypeVar("R", bound=Record)


def poisoned_record(record: R, attack: str) -> R:
    """One record, its texts replaced."""
    content = record.model_dump(mode="json")
    for holder, key in list(_texts(content)):
        kept, holder[key] = holder[key], attack
        try:
            type(record).model_validate(content)
        except ValidationError:
            holder[key] = kept
    return type(record).model_validate(content)


def _entry(entry: Entry, attack: str) -> Entry:
    body = poisoned_record(entry.body, attack)
    return entry.model_copy(update={"body": body})


def _texts(value: Any) -> Any:
    """(holder, key) of every text that may be replaced."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(pairs):
        if isinstance(key, str) and key in (_LINKS | _OF_SLACK):
            continue
        if isinstance(inner, str):
            yield value, key
        else:
            yield from _texts(inner)
