"""The journal's entry and its hash chain: who said what, when, and proof that nothing was changed since.

The hash is taken over the stored text, never over a parsed record: an entry that was written years ago
still verifies when its record has gained fields since.
"""

import hashlib
import json
from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import datetime

from pydantic import TypeAdapter

from bot.incident.entries import Body
from bot.observation.ids import IncidentId
from bot.observation.record import Record, Utc

GENESIS = "0" * 64
"""`prev_hash` of the first entry of each incident."""


_BODY: TypeAdapter[Body] = TypeAdapter(Body)


WATERLINE = "waterline"
"""`by` of entries that the bot makes on its own."""


class Entry(Record):
    """One line of the record, parsed. Corrections are new entries; none is ever changed."""

    incident_id: IncidentId
    seq: int
    """1, 2, 3, … without holes, per incident."""
    at: Utc
    by: str
    """Slack user id, or `waterline`."""
    body: Body
    prev_hash: str
    hash: str


@dataclass(frozen=True)
class Line:
    """An entry as it is stored: text that is hashed as it stands. Not validated, so that damage can be named."""

    incident_id: str
    seq: int
    kind: str
    once: str | None
    """`once_key` of the body."""
    at: str
    by: str
    body: str
    """JSON text."""
    prev_hash: str
    hash: str

    def computed_hash(self) -> str:
        """The hash that this line must carry: sha256 over the canonical JSON of all its other columns."""
        content = {name: value for name, value in vars(self).items() if name != "hash"}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=repr)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Anchor:
    """Where an incident's chain ends, kept apart from its lines: without it a cut tail could not be seen."""

    seq: int
    hash: str


def parsed(line: Line) -> Entry:
    """The entry that a stored line is. ValueError if its text is none."""
    return Entry(
        incident_id=IncidentId(line.incident_id),
        seq=line.seq,
        at=datetime.fromisoformat(line.at),
        by=line.by,
        body=_BODY.validate_json(line.body),
        prev_hash=line.prev_hash,
        hash=line.hash,
    )


def body_text(body: Body) -> str:
    """The JSON text under which a body is stored and hashed."""
    return json.dumps(body.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


class ChainFault(Record):
    """The first entry that does not fit."""

    incident_id: IncidentId
    seq: int
    """0 when the whole incident is missing."""
    sentence: str


def chain_fault(
    incident_id: IncidentId, lines: Sequence[Line], anchor: Anchor | None, *, unread: Set[int] = frozenset()
) -> ChainFault | None:
    """The first line of one incident that breaks the chain; None when it is whole. Lines by rising seq.

    `unread`: numbers of lines whose text is not there, so that only their place is looked at.

    `anchor` is the separately kept end of the chain. Whoever rewrites lines *and* anchor consistently is
    found only by comparing the last hash with one that was exported before.
    """
    prev, expected_seq = GENESIS, 0
    for expected_seq, line in enumerate(lines, start=1):
        problem = _problem(line, expected_seq, prev, is_there=line.seq not in unread)
        if problem:
            return ChainFault(incident_id=incident_id, seq=expected_seq, sentence=problem)
        prev = line.hash
    if anchor is None:
        return ChainFault(
            incident_id=incident_id, seq=expected_seq, sentence="The stored end of this incident's chain is missing."
        )
    if (anchor.seq, anchor.hash) != (expected_seq, prev):
        return ChainFault(
            incident_id=incident_id,
            seq=expected_seq,
            sentence=f"The chain ends at entry {expected_seq} with hash {prev[:12]}, "
            f"but entry {anchor.seq} with hash {anchor.hash[:12]} was written last.",
        )
    return None


def _problem(line: Line, expected_seq: int, prev: str, *, is_there: bool) -> str | None:
    if line.seq < expected_seq:
        return f"Entry {line.seq} was inserted: that number is never written there."
    if line.seq > expected_seq:
        return f"Entry {expected_seq} is missing: entry {line.seq} follows."
    if line.prev_hash != prev:
        return f"Entry {expected_seq} does not follow from the entry before it."
    if is_there and line.computed_hash() != line.hash:
        return f"Entry {expected_seq} was changed: its content does not match its hash."
    return None
