"""What a kind of effect answers: one class, one instance in `KINDS`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic, Literal, TypeVar

from bot.actions._support.current_state import ConfiguredJobs, looked_at
from bot.actions._support.requirements import CurrentState
from bot.incident.entries import Check, EffectStarted
from bot.incident.proposal import Requirement
from bot.incident.setup import TableSetup
from bot.observation.errors import CommitRefused, CouldNotLook
from bot.observation.ids import SnapshotId, TableName, short
from bot.observation.record import Record
from bot.observation.replay import SourceSurvey
from bot.observation.table import TableState
from bot.ports import JobPorts, RowReplay, SourceReplays, TableCatalog

E = TypeVar("E")


class EffectResult(Record):
    sentence: str
    result: dict[str, str] = {}
    """What only the deed could tell, for what follows and for the undo: `savepoint`, `snapshot`."""


class Verification(Record):
    happened: Literal["yes", "no", "unknown"]
    sentence: str
    result: dict[str, str] = {}


class Pending(Record):
    sentence: str
    """What is there so far."""
    every: timedelta | None = None
    """How often it has an occasion to come: the job's checkpoint interval; None: not known."""
    is_needed: bool = True
    """Whether nothing is proven without it; else it is waited for a moment only."""


class NoReplays:
    """Where nobody has said how Spark writes: refuses, and says so."""

    def survey(self, table: TableState, *_asked: object) -> SourceSurvey:
        raise CouldNotLook(
            f"The source of {table.name} was not read: this process cannot replay rows.",
            "Expected Spark and a declared replay; this process was started without them.",
            "Declare `replay` for the table, restart Waterline, and propose again.",
        )

    def write(self, table: TableState, change: RowReplay) -> None:
        raise CommitRefused(
            f"Nothing was written to {table.name}: this process cannot write rows.",
            "Expected Spark and the table's catalog; this process was started without them.",
            "Run it in `waterline serve`.",
        )


NO_REPLAYS = NoReplays()


@dataclass(frozen=True)
class Clients:
    catalog: TableCatalog
    jobs: Mapping[str, JobPorts]
    """Asked for one that is not among them, CouldNotLook."""
    replays: SourceReplays = NO_REPLAYS
    tables: Mapping[TableName, TableSetup] = field(default_factory=dict)
    """What the configuration says of the tables, as far as it is known."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "jobs", ConfiguredJobs(self.jobs))

    def world(self, table: TableName) -> CurrentState:
        """The table, read now, and other tables and the jobs, asked when they are needed. Raises CouldNotLook, also
        where the table is gone."""
        other_jobs = self.tables[table].other_jobs if table in self.tables else ()
        with looked_at():
            now = self.catalog.load(table)
        return CurrentState(table=now, jobs=self.jobs, load=self.catalog.load, other_jobs=other_jobs)


def tag_check(tag: str, snapshot: SnapshotId, table: TableState) -> Check:
    return Check(
        name=f"Tag {tag} keeps snapshot {short(snapshot)}",
        passed=table.ref(tag) == snapshot,
        sentence=f"Tag {tag} is on {short(table.ref(tag))}.",
    )


class EffectHandler(ABC, Generic[E]):
    """One kind of effect. `prepare` may be called any number of times, `perform` once an intent."""

    uses_up: frozenset[str] = frozenset()
    """Kinds of requirement that the effect makes untrue on purpose: not asked of the effects after it."""
    finds_its_point: bool = False
    """Whether `prepare` asks `newest_that_pairs`: that finds what binds, so who has committed since the stop is no
    matter, as long as nobody has rolled the table back."""

    def leaves(self, effect: E) -> tuple[Requirement, ...]:
        """What must hold from then on, because of it."""
        return ()

    @abstractmethod
    def describe(self, effect: E) -> str:
        """A few words for a progress line: `Stop run 91ab20`."""

    def prepare(
        self, effect: E, intent: EffectStarted, world: CurrentState, earlier: EffectStarted | None
    ) -> EffectStarted:
        """The intent with what must be fixed before acting. Requirements have been checked. Raises Superseded,
        CouldNotLook."""
        return intent

    @abstractmethod
    def perform(self, effect: E, intent: EffectStarted, clients: Clients) -> EffectResult:
        """Do it, at most once. Raises CommitRefused, Superseded, CouldNotLook (surely not done), OutcomeUnknown."""

    @abstractmethod
    def verify(self, effect: E, intent: EffectStarted, clients: Clients) -> Verification:
        """Whether it happened, from the world alone. Raises CouldNotLook."""

    def may_still_complete(self, effect: E, clients: Clients) -> str | None:
        """By what it may yet come to be, though it is not there so far, a sentence; None: by nothing. Raises
        CouldNotLook."""
        return None

    def on_table(self, effect: E, table: TableState) -> str:
        """What the table's commits tell a person of an effect of which nobody else knows; empty: nothing."""
        return ""

    def awaits(self, effect: E, intent: EffectStarted, world: CurrentState) -> Pending | None:
        """What is not so yet, and may come to be by itself, before `checks` can tell; None: nothing."""
        return None

    def checks(self, effect: E, intent: EffectStarted, world: CurrentState) -> tuple[Check, ...]:
        """Lines of the verification: is the world as this effect promised? None by default: evidence tells. Raises
        CouldNotLook."""
        return ()
