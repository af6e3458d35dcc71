"""Diagnosis: every failure mode answers for itself, with its rows and reasons."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from bot.domain.contract import TableContract
from bot.domain.evidence import Evidence, Observation
from bot.domain.findings import DuplicatesFinding, GapsFinding, PairingFinding
from bot.domain.ids import JobId, SnapshotId
from bot.domain.ledger import Ledger
from bot.domain.record import Record
from bot.domain.table import Window


class Remedy(StrEnum):
    """What a mode asks for. Each that changes the world is one action of `bot/actions/`."""

    REWIND_TABLE_AND_JOB = "rewind-table-and-job"
    WAIT = "wait"
    NOTHING = "nothing"


class Mode(Record):
    """What a module of `bot/diagnosis/` declares of itself as `MODE`."""

    code: str
    """`F1` … `F25` of the catalogue, or a word: `healthy`."""
    name: str
    """The module's name."""
    title: str
    """As said in a sentence: `the job was restored from an older savepoint`."""
    needs: tuple[str, ...]
    """Evidence tasks without which it cannot tell."""
    false_positives: tuple[str, ...]
    """What looks the same and is not; shown to the responder."""
    neighbours: tuple[str, ...]
    """Codes of modes that are easily taken for this one."""


class Case(Record):
    """Everything a mode may reason over: the world at one moment, and what evidence found in it."""

    observation: Observation
    window: Window
    contract: TableContract
    job_name: str | None
    """The configured job that should be writing the table."""
    ledger: Ledger | None = None
    duplicates: DuplicatesFinding | None = None
    gaps: GapsFinding | None = None
    pairing: PairingFinding | None = None
    evidence: tuple[Evidence, ...] = ()


class Matches(Record):
    """The mode holds. `last_good` is the newest snapshot before the fault: the trusted one."""

    verdict: Literal["matches"] = "matches"
    headline: str
    reasons: tuple[str, ...]
    """Each a full sentence with the ids that prove it."""
    rows: tuple[SnapshotId, ...]
    """The ledger rows that show it."""
    last_good: SnapshotId | None
    wrong_run: JobId | None
    """The job run whose commits are not to be kept; None when nothing is to be undone."""
    remedy: Remedy


class Excluded(Record):
    """The mode does not hold, and this is why."""

    verdict: Literal["excluded"] = "excluded"
    reason: str


class CannotTell(Record):
    """The mode may hold; this is what is missing to know."""

    verdict: Literal["cannot-tell"] = "cannot-tell"
    missing: tuple[str, ...]


Examined = Annotated[Matches | Excluded | CannotTell, Field(discriminator="verdict")]


class ModeResult(Record):
    """One mode's answer for one case."""

    mode: Mode
    examined: Examined


class Diagnosis(Record):
    """All modes' answers, in the order of the catalogue; matches come in the order in which to act."""

    results: tuple[ModeResult, ...]

    @property
    def matches(self) -> tuple[tuple[Mode, Matches], ...]:
        """The modes that hold."""
        return tuple((r.mode, r.examined) for r in self.results if isinstance(r.examined, Matches))

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of the modes that hold."""
        return tuple(mode.code for mode, _ in self.matches)

    @property
    def undecided(self) -> tuple[tuple[Mode, CannotTell], ...]:
        """The modes that could not tell."""
        return tuple((r.mode, r.examined) for r in self.results if isinstance(r.examined, CannotTell))

    @property
    def excluded(self) -> tuple[tuple[Mode, Excluded], ...]:
        """The modes that do not hold."""
        return tuple((r.mode, r.examined) for r in self.results if isinstance(r.examined, Excluded))
