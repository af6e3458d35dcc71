"""The journal's entry and its hash chain: who said what, when, and proof that nothing was changed since."""

import hashlib
import json

from bot.domain.entries import Body
from bot.domain.ids import IncidentId
from bot.domain.record import Record, Utc

GENESIS = "0" * 64
"""`prev_hash` of the first entry of each incident."""
WATERLINE = "waterline"
"""`by` of entries that the bot makes on its own."""


class Entry(Record):
    """One line of the record. Corrections are new entries; none is ever changed."""

    incident_id: IncidentId
    seq: int
    """1, 2, 3, … without holes, per incident."""
    at: Utc
    by: str
    """Slack user id, or `waterline`."""
    body: Body
    prev_hash: str
    hash: str

    def computed_hash(self) -> str:
        """The hash that this entry must carry."""
        return entry_hash(self.incident_id, self.seq, self.at, self.by, self.body, self.prev_hash)


def entry_hash(incident_id: IncidentId, seq: int, at: Utc, by: str, body: Body, prev_hash: str) -> str:
    """sha256 over the canonical JSON of everything in the entry, the previous hash included."""
    content = {
        "incident_id": incident_id,
        "seq": seq,
        "at": at.isoformat(),
        "by": by,
        "body": body.model_dump(mode="json"),
        "prev_hash": prev_hash,
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


class ChainFault(Record):
    """The first entry that does not fit."""

    incident_id: IncidentId
    seq: int
    sentence: str


def chain_fault(entries: tuple[Entry, ...]) -> ChainFault | None:
    """The first entry of one incident that breaks the chain; None when it is whole. Entries by rising seq."""
    prev = GENESIS
    for expected_seq, entry in enumerate(entries, start=1):
        problem = None
        if entry.seq != expected_seq:
            problem = f"expected entry {expected_seq}, found {entry.seq}: an entry is missing."
        elif entry.prev_hash != prev:
            problem = "it does not follow from the entry before it."
        elif entry.computed_hash() != entry.hash:
            problem = "its content is not what was written."
        if problem:
            return ChainFault(incident_id=entry.incident_id, seq=entry.seq, sentence=problem)
        prev = entry.hash
    return None
