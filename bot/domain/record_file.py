"""What an exported record carries, so that it can be proven without the database: the entries as they were stored."""

from collections.abc import Sequence, Set
from typing import Literal

from pydantic import Field

from bot.domain.ids import IncidentId
from bot.domain.journal import Anchor, ChainFault, Entry, Line, chain_fault, parsed
from bot.domain.record import Record

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
    body: str = Field(description="What it says, as JSON text: hashed as it stands.")
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
    """What every form carries."""

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
    """The entries as they were stored."""
    return [Line(**entry.model_dump(exclude={"withheld"})) for entry in chain.entries]


def entries_of(chain: Chain) -> tuple[Entry, ...]:
    """The entries, parsed. ValueError where one is of a kind that this version does not know."""
    return tuple(map(parsed, lines_of(chain)))
