"""Evidence: one question, asked of pinned sources, answered with a verdict that a stranger can check."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo

from bot.domain.contract import TableContract
from bot.domain.copies import CopyRule
from bot.domain.findings import Finding
from bot.domain.flink import FlinkManifest, JobRun, StoredCheckpoint
from bot.domain.ids import EvidenceId, JobId, SnapshotId
from bot.domain.looked import NotSeen, Seen
from bot.domain.reads import ReadRun
from bot.domain.record import Record, Utc
from bot.domain.replay import ReplayRecipe
from bot.domain.table import TableState, Window
from bot.domain.written import OF_STATE, WrittenSchema


class Verdict(StrEnum):
    """What the evidence says of its question. `RULED_OUT` is never said without having looked."""

    CONFIRMED = "confirmed"
    RULED_OUT = "ruled-out"
    INCONCLUSIVE = "inconclusive"


class Task(Record):
    """What a module of `spark_tasks/` declares of itself as `TASK`."""

    name: str
    """The module's name: `duplicate_rows`."""
    title: str
    """A few words for a button or heading: `Duplicate rows`."""
    question: str
    """The one question it answers, as a responder would ask it; ends in a question mark."""
    confirmed_means: str
    """What `confirmed` says in this task, a clause: `some key lives more than once`. Runbooks show it."""
    ruled_out_means: str
    """What `ruled out` says in this task, a clause: `each key of the window lives once`. Runbooks show it."""
    needs: tuple[str, ...]
    """Sources without which it is inconclusive: `table`, `jobs`, `checkpoints`, `reads`, `contract.key`, …"""
    cost: str
    """What it reads, in words: `manifests of the window`, `rows of the window, two columns`."""
    reads: Literal["nothing", "metadata", "listing", "rows"] = "rows"
    """The dearest thing that it reads: nothing but what is in hand, manifests of the window, a listing of the whole
    table's folder, or rows. The first two are collected without being asked for, before Flink forgets."""
    version: int = 1
    confirmed_is: Literal["trouble", "relief"] = "trouble"
    """How `confirmed` is felt: duplicates are trouble, a restore point that pairs is a relief."""

    @property
    def cost_in_short(self) -> str:
        """Its first sentence, and that there is more: the catalogue has all of it."""
        first, _, more = self.cost.partition(". ")
        return f"{first}, and in some cases more" if more else first


class Observation(Record):
    """The outside world at one moment: everything a task may know besides the data itself."""

    table: TableState
    jobs: Seen[JobRun] | NotSeen
    checkpoints: Seen[StoredCheckpoint] | NotSeen
    reads: Seen[ReadRun] | NotSeen
    flink_manifests: Seen[FlinkManifest] | NotSeen = NotSeen(
        source="the Flink manifests on storage", reason="Nobody has listed them.", remedy="Look again."
    )
    written: Seen[WrittenSchema] | NotSeen = NotSeen(source=OF_STATE, reason="Nobody has looked.", remedy="Look again.")
    """Of the newest restore point, else of what the job wrote last; at most one. Empty: no job has written anything."""
    others: Seen[JobRun] | NotSeen | None = Field(default=None, exclude_if=lambda told: told is None)
    """Runs of the table's `other_jobs`, each under its own name; None: none are declared."""


def runs_in(seen: Observation) -> tuple[tuple[JobId, str], ...] | None:
    """Each run, of other declared jobs too where these were seen, and its state; None where Flink was not seen."""
    if seen.jobs.state == "not-seen":
        return None
    others = seen.others.values if seen.others is not None else ()
    return tuple(sorted((run.job_id, run.state) for run in (*seen.jobs.values, *others)))


def begun_on_main(window: Window, info: ValidationInfo) -> Window:
    """The window as it stands to the observation that was given before it; see `Window.on_main`."""
    seen = info.data.get("observation")
    return window.on_main(seen.table) if isinstance(seen, Observation) else window


class Ask(Record):
    """One run of a task: the world it may rely on, and the window it answers for."""

    observation: Observation
    window: Annotated[Window, AfterValidator(begun_on_main)]
    """It begins on main, whatever was asked for."""
    contract: TableContract
    trusted: SnapshotId | None = None
    """What consumers are told to pin to; None: outside an incident, the tag `waterline` of the table, if any."""
    branch: str | None = None
    """The branch that stands in the place of main; None: main itself."""
    replay: ReplayRecipe | None = None
    """How the table's rows are made once more from its source; None: nothing is declared."""
    copies: CopyRule = CopyRule()
    """Which copy of a row is the right one."""


class Measure(Record):
    """A number with its unit: `extra rows`, 220, `rows`."""

    name: str
    value: float
    unit: str


class Answer(Record):
    """What a task returns; the runner adds when, how long and what was read."""

    verdict: Verdict
    headline: str
    """One sentence for a tired reader; ends with a full stop."""
    measures: tuple[Measure, ...] = ()
    columns: tuple[str, ...] = ()
    """Names of the sample's columns."""
    rows: tuple[tuple[str, ...], ...] = ()
    """At most 20 sample rows, already text, redacted by contract."""
    finding: Finding | None = None
    """None only when the verdict is inconclusive."""
    sources: tuple[str, ...] = ()
    """What was read besides the pinned metadata file, as a responder would name it."""
    could_not_look: tuple[NotSeen, ...] = ()
    remarks: tuple[str, ...] = ()
    """What is no fault, and worth knowing once the incident is over; each a sentence."""


class Evidence(Answer):
    """An answer, pinned: what was asked of which table state, when, and what it cost."""

    id: EvidenceId
    task: str
    task_version: int
    question: str
    metadata_location: str
    head: SnapshotId | None
    window: Window
    at: Utc
    took_ms: int
    bytes_read: int
    """As Spark's stages reported; 0 when only metadata that is already in hand was used."""
    branch: str | None = None
    """The branch that was looked at; None: main. `head` is its head then."""
    runs: tuple[tuple[JobId, str], ...] | None = Field(default=None, exclude_if=lambda told: told is None)
    """Of a task that reads nothing: each run and its state, as Flink told them; None where Flink was not seen, and of
    other tasks."""


class Progress(Record):
    """How far a running task is; told while it runs, never journalled."""

    tasks_done: int
    tasks_total: int
    bytes_read: int
