"""What an exported record carries, so that it can be proven without the database: the entries as they were stored.

The seal is the hash of the last entry, posted when an incident closes and kept in every export.
"""

import re
from collections.abc import Sequence, Set
from typing import Literal

from pydantic import Field

from bot.incident.journal import Anchor, ChainFault, Entry, Line, chain_fault, parsed
from bot.observation.errors import BadConfiguration
from bot.observation.ids import IncidentId
from bot.observation.record import Record

FORMAT: Literal["waterline-incident-record"] = "waterline-incident-record"


class StoredEntry(Record):
    """One entry as it is stored. Its hash is sha256 over the JSON of all other fields, keys sorted, no spaces, written
    in ASCII."""

    incident_id: str = Field(description="Incident it belongs to.")
    seq: int = Field(description="1, 2, 3, … without holes.")
    kind: str = Field(description="What it says: `incident-opened`, `evidence-recorded`, …")
    once: str | None = Field(description="A key under which the record takes one entry only; null for most.")
    at: str = Field(description="When it was written, UTC.")
    by: str = Field(description="Slack user id, or `waterline`.")
    body: str = Field(description="What it says, as JSON text: its very bytes are hashed.")
    prev_hash: str = Field(description="Hash of the entry before it; zeros for the first.")
    hash: str = Field(description="Its own hash.")
    withheld: bool = Field(
        default=False,
        exclude_if=lambda withheld: not withheld,
        description="Whether the body is left out of the file, empty, because it names files by values of hidden "
        "columns. Its place in the chain is proven then, and its content only by the database.",
    )


class Chain(Record):
    """All entries of one incident, and where they end."""

    entries: tuple[StoredEntry, ...] = Field(min_length=1, description="By rising seq.")
    end_seq: int = Field(description="The last entry when the file was written.")
    end_hash: str = Field(description="Its hash: compare it with the seal in the incident's thread.")


class Carried(Record):
    format: Literal["waterline-incident-record"] = Field(description="Always this.")
    version: Literal[1] = Field(description="Of this format.")
    written_by: str = Field(description="Version of Waterline and of its templates: the same write the same file.")
    names: dict[str, str] = Field(description="Slack user id -> the name that is shown in its place.")
    chain: Chain = Field(description="The proof.")


def chain_of(lines: Sequence[Line], withheld: Set[int] = frozenset()) -> Chain:
    """The chain as a file carries it, without the bodies of the entries `withheld`."""
    stored = tuple(
        StoredEntry.model_validate(vars(line) | ({"body": "", "withheld": True} if line.seq in withheld else {}))
        for line in lines
    )
    return Chain(entries=stored, end_seq=stored[-1].seq, end_hash=stored[-1].hash)


def fault_in(chain: Chain) -> ChainFault | None:
    """The first entry that does not fit; None when the chain is whole. Of an entry whose body is left out only the
    place is proven."""
    lines = lines_of(chain)
    anchor = Anchor(seq=chain.end_seq, hash=chain.end_hash)
    return chain_fault(IncidentId(lines[0].incident_id), lines, anchor, unread=withheld_in(chain))


def withheld_in(chain: Chain) -> frozenset[int]:
    """The numbers of the entries whose bodies are left out."""
    return frozenset(entry.seq for entry in chain.entries if entry.withheld and not entry.body)


def lines_of(chain: Chain) -> list[Line]:
    return [Line(**entry.model_dump(exclude={"withheld"})) for entry in chain.entries]


def entries_of(chain: Chain) -> tuple[Entry, ...]:
    """The entries, parsed. ValueError where one is of a kind that this version does not know."""
    return tuple(map(parsed, lines_of(chain)))


_SEAL = re.compile(r"(wl-[1-9]\d{0,8})/([1-9]\d{0,8})/([0-9a-f]{64})")


class Seal(Record):
    """One entry by its hash, which covers everything that was written before it. As text `wl-1/12/9f86…`."""

    incident_id: IncidentId
    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.incident_id}/{self.seq}/{self.hash}"


def seal_of(entry: Entry | Line | StoredEntry) -> Seal:
    """The seal of the record up to and including this entry."""
    return Seal(incident_id=IncidentId(entry.incident_id), seq=entry.seq, hash=entry.hash)


def seals_in(text: str) -> tuple[Seal, ...]:
    """Every seal in a text that somebody copied or posted."""
    return tuple(Seal(incident_id=IncidentId(i), seq=int(seq), hash=h) for i, seq, h in _SEAL.findall(text))


def asked(text: str) -> tuple[Seal, ...]:
    """The seals that a person names. Raises BadConfiguration where there is none."""
    seals = seals_in(text)
    if not seals:
        raise BadConfiguration(
            "This is not a seal of a record.",
            f"Expected `wl-1/12/` and 64 hexadecimal digits, as posted in the incident's thread; found {text[:80]!r}.",
            "Copy it from the channel once more.",
        )
    return seals


def seal_fault(seal: Seal, entries: Sequence[Entry | Line | StoredEntry]) -> ChainFault | None:
    """What does not fit between a posted seal and the entries of its incident (none, when it is not there)."""
    found = next((entry for entry in entries if entry.seq == seal.seq), None)
    if found is not None and found.hash == seal.hash:
        return None
    if not entries:
        sentence = "The whole incident is missing, although its seal was posted."
    elif found is None:
        sentence = f"Entry {seal.seq} is missing, although its seal was posted: the record ends at {entries[-1].seq}."
    else:
        sentence = (
            f"The record up to entry {seal.seq} has changed since its seal was posted: "
            f"posted {seal.hash[:12]}…, found {found.hash[:12]}…."
        )
    return ChainFault(incident_id=seal.incident_id, seq=seal.seq, sentence=sentence)
