"""Evidence: one question, asked of pinned sources, answered with a verdict that a stranger can check.

Whether a look found nothing that another one had not found: gap by gap, key by key, file by file. Pure.

An answer names the first or the largest of what it counts. What it does not name is held by its number alone; so is
all that is missing where the contract hides the positions.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo

from bot.observation.contract import CopyRule, TableContract
from bot.observation.findings import DuplicateFilesFinding, DuplicatesFinding, Finding, GapsFinding, PositionGap
from bot.observation.flink import FlinkManifest, JobRun, RememberedStart, StoredCheckpoint
from bot.observation.ids import EvidenceId, JobId, SnapshotId
from bot.observation.kafka import KafkaPartition
from bot.observation.looked import NotSeen, Seen
from bot.observation.readers import ReadRun
from bot.observation.record import Record, Utc
from bot.observation.replay import ReplayRecipe
from bot.observation.table import TableState, UnnamedCommit, Window
from bot.observation.written import OF_STATE, WrittenSchema


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
    confirmed_is: Literal["trouble", "relief", "neutral"] = "trouble"
    """How `confirmed` is felt: duplicates are trouble, a restore point that pairs is a relief, another run that wrote
    is no fault by itself."""

    def word(self, verdict: Verdict) -> str:
        """As people read it, behind the title: `Duplicate rows: problem`, `Restore points: OK`."""
        if verdict is Verdict.INCONCLUSIVE:
            return "could not check"
        if verdict is Verdict.CONFIRMED and self.confirmed_is == "neutral":
            return "note"
        return "OK" if (verdict is Verdict.CONFIRMED) is (self.confirmed_is == "relief") else "problem"

    def label(self, verdict: Verdict) -> str:
        """The same at the beginning of a line: `Problem`."""
        word = self.word(verdict)
        return word[:1].upper() + word[1:]

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
    undeclared: tuple[JobRun, ...] = Field(default=(), exclude_if=lambda told: not told)
    """Runs with listed commits that Flink lists under a name which is neither the job's nor of `other_jobs`."""
    kafka: Seen[KafkaPartition] | NotSeen | None = Field(default=None, exclude_if=lambda told: told is None)
    """What the broker holds of the topics that the table's job reads; None: no broker is configured for the job."""
    unnamed_commits: Seen[UnnamedCommit] | NotSeen | None = Field(default=None, exclude_if=lambda told: told is None)
    """What metadata files beside those that the catalog knows hold; None: nobody looked."""
    remembered: tuple[RememberedStart, ...] = Field(default=(), exclude_if=lambda told: not told)
    """Starts of the table's job, and of its `other_jobs`, that Waterline saw at any time, by when it first saw them.
    Others may have been: while nobody looked, and before `MOST_STARTS` newer ones."""

    @property
    def is_compacted(self) -> bool:
        """Whether the broker keeps only the newest record of a key in some topic that the job reads."""
        return self.kafka is not None and any(each.is_compacted for each in self.kafka.values)


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
    oldest: SnapshotId | None = Field(default=None, exclude_if=lambda told: told is None)
    """The oldest commit of main that the table listed then; None: not told."""
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


COMPARED = frozenset({"duplicate_rows", "missing_positions", "duplicate_files"})
"""Evidence tasks whose answers can be held against each other."""


def no_more_found(now: Evidence, known: Evidence) -> bool:
    """Whether all that `now` has found stands in `known`, too, of the same task; False also where either does not
    tell, or where `now` could not look at something at which `known` could."""
    unseen, unseen_then = ({each.source for each in told.could_not_look} for told in (now, known))
    if not unseen <= unseen_then:
        return False
    match now.finding, known.finding:
        case GapsFinding() as found, GapsFinding() as before:
            is_known = is_held_by_number(now, known) or all(_is_known_gap(gap, before) for gap in found.gaps)
            return is_known and found.missing <= before.missing
        case DuplicatesFinding() as found, DuplicatesFinding() as before:
            is_known = _names_no_other_key(now, known, before.keys) and _has_no_more_pairs(found, before)
            return is_known and found.keys <= before.keys and found.extra_rows <= before.extra_rows
        case DuplicateFilesFinding() as found, DuplicateFilesFinding() as before:
            is_known = _names_no_other_file(found, before) and {*found.again} <= {*before.again}
            return is_known and found.count <= before.count and found.extra_rows <= before.extra_rows
    return False


def is_held_by_number(now: Evidence, known: Evidence) -> bool:
    """Whether that compares no more than how many are missing, as the contract hides which."""
    return any(isinstance(each.finding, GapsFinding) and each.finding.is_hidden for each in (now, known))


def _is_known_gap(gap: PositionGap, before: GapsFinding) -> bool:
    """Whether each of its positions was missing in one of those that were named, or lies behind the last of them where
    not all were named. Two that touch may be told as one, and one as two."""
    names_all = sum(each.size for each in before.gaps) >= before.missing
    reached = gap.first
    for each in sorted(before.gaps, key=_place):
        if each.partition == gap.partition and each.first <= reached:
            reached = max(reached, each.last + 1)
    if reached > gap.last:
        return True
    return not names_all and bool(before.gaps) and (gap.partition or "", reached) > _place(before.gaps[-1])


def _place(gap: PositionGap) -> tuple[str, int]:
    return gap.partition or "", gap.first


def _names_no_other_key(now: Evidence, known: Evidence, keys: int) -> bool:
    """True where `known` does not name all of them: then their commits and their number tell. A row of the sample is
    the key's columns, its live rows, and their commits."""
    if len(known.rows) < keys:
        return True
    return {row[:-2] for row in now.rows} <= {row[:-2] for row in known.rows}


def _has_no_more_pairs(found: DuplicatesFinding, before: DuplicatesFinding) -> bool:
    """Whether each two commits have as many keys twice as they had, or fewer."""
    told = {(pair.first, pair.second): pair.keys for pair in before.pairs}
    is_hidden_alike = found.hidden <= before.hidden
    return is_hidden_alike and all(pair.keys <= told.get((pair.first, pair.second), 0) for pair in found.pairs)


def _names_no_other_file(found: DuplicateFilesFinding, before: DuplicateFilesFinding) -> bool:
    """True where `before` does not name all of them."""
    if len(before.files) < before.count:
        return True
    return {file.path for file in found.files} <= {file.path for file in before.files}
