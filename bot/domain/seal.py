"""The seal of a record: the hash of its last entry, posted when an incident closes and kept in every export."""

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from bot.domain.errors import BadConfiguration
from bot.domain.ids import IncidentId
from bot.domain.journal import ChainFault
from bot.domain.record import Record

_SEAL = re.compile(r"(wl-[1-9]\d{0,8})/([1-9]\d{0,8})/([0-9a-f]{64})")
_HASH = re.compile(r"[0-9a-f]{64}")
NOBODY = IncidentId("?")
"""The incident of a bare hash that no entry carries."""


class Link(Protocol):
    """One entry's place in a chain, its body read or not."""

    @property
    def incident_id(self) -> str:
        """Incident it belongs to."""

    @property
    def seq(self) -> int:
        """Its number."""

    @property
    def hash(self) -> str:
        """Its own hash."""


class Seal(Record):
    """One entry by its hash, which covers everything that was written before it. As text `wl-1/12/9f86…`."""

    incident_id: IncidentId
    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.incident_id}/{self.seq}/{self.hash}"


def seal_of(entry: Link) -> Seal:
    """The seal of the record up to and including this entry."""
    return Seal(incident_id=IncidentId(entry.incident_id), seq=entry.seq, hash=entry.hash)


def seals_in(text: str) -> tuple[Seal, ...]:
    """Every seal in a text that somebody copied or posted."""
    return tuple(Seal(incident_id=IncidentId(i), seq=int(seq), hash=h) for i, seq, h in _SEAL.findall(text))


def asked(text: str, record: Mapping[IncidentId, Sequence[Link]]) -> tuple[Seal, ...]:
    """The seals that a person names: whole ones, or a bare hash. Raises BadConfiguration for anything else."""
    seals = seals_in(text)
    if seals:
        return seals
    if not _HASH.fullmatch(text.strip()):
        raise BadConfiguration(
            "This is no seal of a record.",
            f"Expected `wl-1/12/` and 64 hexadecimal digits, as posted in the incident's thread; found {text[:80]!r}.",
            "Copy it from the channel once more.",
        )
    carriers = [seal_of(e) for entries in record.values() for e in entries if e.hash == text.strip()]
    return tuple(carriers) or (Seal(incident_id=NOBODY, seq=0, hash=text.strip()),)


def seal_fault(seal: Seal, entries: Sequence[Link]) -> ChainFault | None:
    """What does not fit between a posted seal and the entries of its incident (none, when it is not there)."""
    found = next((entry for entry in entries if entry.seq == seal.seq), None)
    if found is not None and found.hash == seal.hash:
        return None
    if seal.incident_id == NOBODY:
        sentence = f"No entry of any incident has the hash {seal.hash[:12]}…, which was posted: this is another record."
    elif not entries:
        sentence = "The whole incident is missing, although its seal was posted."
    elif found is None:
        sentence = f"Entry {seal.seq} is missing, although its seal was posted: the record ends at {entries[-1].seq}."
    else:
        sentence = (
            f"Up to entry {seal.seq} the record is not what it was when its seal was posted: "
            f"posted {seal.hash[:12]}…, found {found.hash[:12]}…."
        )
    return ChainFault(incident_id=seal.incident_id, seq=seal.seq, sentence=sentence)
