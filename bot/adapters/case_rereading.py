"""A saved case, read again from its raw sources: what this version makes of the bytes that were looked at then.

Whatever needs no Spark is read again: the table's metadata, Flink's answers, checkpoint files, manifests, lineage.
What the sources that are in the file do not tell stays as it was recorded.
"""

import io
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from pyarrow.fs import FileSelector, FileType
from pydantic import BaseModel, TypeAdapter, ValidationError
from pyiceberg.manifest import DataFileContent, ManifestEntry, ManifestEntryStatus, ManifestFile
from pyiceberg.table.metadata import TableMetadataUtil

from bot.adapters.checkpoint_files import stored_as
from bot.adapters.checkpoint_parsing import Handle
from bot.adapters.flink_pages import RunPages
from bot.adapters.iceberg.streaming_metadata import read_split, table_state
from bot.adapters.lineage_reading import LINEAGE, reads_again, united
from bot.adapters.storage import Opened, entries_in, manifests_in
from bot.adapters.table_files import SCHEMA, Told, manifest_named, written_again
from bot.domain.diagnosis import Case
from bot.domain.errors import CouldNotLook, WaterlineError
from bot.domain.evidence import Observation
from bot.domain.findings import LeakedManifest
from bot.domain.flink import JobRun, StoredCheckpoint, with_kinds
from bot.domain.ids import JobId, short, short_job
from bot.domain.ledger import LedgerRow
from bot.domain.looked import Seen
from bot.domain.pairing import folder_of_manifests
from bot.domain.reads import ReadRun
from bot.domain.sentences import counted
from bot.domain.snapshot import without_partitions
from bot.domain.table import Snapshot, TableState

_SHOWN = 3
_WIDEST = 80


def differences(what: str, recorded: BaseModel, now: BaseModel, leaving: Collection[str] = ()) -> tuple[str, ...]:
    """Sentences, at most three and how many more; empty where both say the same. `leaving`: fields that are passed."""
    before = recorded.model_dump(mode="json", exclude=set(leaving))
    after = now.model_dump(mode="json", exclude=set(leaving))
    found = list(_between("", before, after))
    told = tuple(f"{what}, {place}: recorded {_short(then)}, read now {_short(here)}" for place, then, here in found)
    more = len(told) - _SHOWN
    return told if more <= 0 else (*told[:_SHOWN], f"{what}: {more} further differences")


def _between(place: str, before: object, after: object) -> Iterator[tuple[str, object, object]]:
    match before, after:
        case dict(), dict():
            for name in dict.fromkeys([*before, *after]):
                yield from _between(f"{place}.{name}".lstrip("."), before.get(name), after.get(name))
        case list(), list() if len(before) == len(after):
            for number, (then, here) in enumerate(zip(before, after, strict=True)):
                yield from _between(f"{place}[{number}]", then, here)
        case _:
            if before != after:
                yield place, before, after


def _short(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"{len(value)} items"
    text = repr(value)
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]}…"


LISTING = "listing:"
MOST_NAMES = 10_000
_ICEBERGS_OWN = re.compile(r"snap-.*|.*-m\d+\.avro|.*\.metadata\.json(\.gz)?|.*\.crc|.*\.stats|version-hint\.text")
_LINES = TypeAdapter(list[tuple[str, int, datetime | None]])
_CLOCKS = timedelta(seconds=10)
"""How far the clocks of storage and of the bot may be apart."""


def listing_of(table: TableState, of_table: Opened) -> tuple[str, bytes]:
    """(Address, names with size and time) of what Iceberg did not name itself. Raises what pyarrow raises."""
    folder = folder_of_manifests(table)
    files, path = of_table(folder)
    listed = sorted(files.get_file_info(FileSelector(path)), key=lambda info: str(info.base_name))
    told = [
        (info.base_name, info.size, info.mtime.astimezone(UTC).isoformat() if info.mtime is not None else None)
        for info in listed
        if info.type is FileType.File and not _ICEBERGS_OWN.fullmatch(info.base_name)
    ]
    return f"{LISTING}{folder}", json.dumps(told[:MOST_NAMES]).encode()


def names_again(observed: Observation, raw: Mapping[str, bytes]) -> tuple[int, tuple[str, ...]]:
    """(How many names were read, where this version tells Flink's manifests otherwise).

    The sink deletes and writes while the case is saved, so only what lay there before the look counts as new.
    Raises ValueError for a listing of another form.
    """
    recorded = observed.flink_manifests
    kept = next((content for address, content in raw.items() if address.startswith(LISTING)), None)
    if kept is None or not isinstance(recorded, Seen):
        return 0, ()
    told: list[str] = []
    for each in recorded.values:
        now = manifest_named(each.path, each.bytes, each.written_at)
        what = f"Flink manifest {each.path}"
        told += differences(what, each, now) if now is not None else (f"{what} is not read as one now",)
    known = {each.path.rpartition("/")[2] for each in recorded.values}
    names = _LINES.validate_json(kept)
    before = observed.table.read_at - _CLOCKS
    told += [
        f"{name} is read as a Flink manifest only now"
        for name, size, at in names
        if name not in known and at is not None and at < before and manifest_named(name, size, at) is not None
    ]
    return len(names), tuple(told)


_OF_PAGE = {
    "/exceptions": ("failures", "vertices"),
    "/config": ("code_version",),
    "/checkpoints/config": ("settings", "checkpoint_interval_ms"),
    "/checkpoints": ("checkpoints", "completed_count", "failed_count", "restored_count", "restored"),
}
"""A page of a run -> what only it tells."""


@dataclass
class KeptAnswers:
    url: str
    pages: Mapping[str, bytes]
    """Path, without what was asked behind it -> body."""
    what: str = "The saved case"

    def get(self, path: str) -> bytes | None:
        """None where it was not kept, or where Flink itself had none."""
        return self.pages.get(path)

    def garbled(self, asked: str, error: ValidationError) -> WaterlineError:
        """This version does not understand a kept body."""
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the body"
        return CouldNotLook(f"{asked} cannot be read.", f"Found at {where}: {first['msg']}.", "Save the case again.")


def runs_again(
    recorded: Sequence[JobRun], job: str, raw: Mapping[str, bytes]
) -> tuple[dict[JobId, JobRun], tuple[str, ...]]:
    """(Each run of which the pages were kept, as it is read now; where that differs from what was recorded.)

    What a page tells that was not kept is taken from the record.
    """
    found: dict[JobId, JobRun] = {}
    told: list[str] = []
    for answers in _clusters(raw):
        try:
            listed = RunPages(answers).ids_of(job)
        except CouldNotLook as error:
            told.append(f"the list of jobs at {answers.url}: {error.found}")
            continue
        known = {run.job_id for run in recorded}
        told += [f"run {short_job(run)} is listed as {job} and was not recorded" for run in listed if run not in known]
        for run in recorded:
            if f"/jobs/{run.job_id}" in answers.pages:
                again, sentences = _run_again(run, answers)
                told += sentences
                if again is not None:
                    found[run.job_id] = again
    return found, tuple(told)


def _run_again(recorded: JobRun, answers: KeptAnswers) -> tuple[JobRun | None, tuple[str, ...]]:
    what = f"run {short_job(recorded.job_id)}"
    try:
        now = RunPages(answers, is_history=recorded.from_history).run(recorded.job_id)
    except CouldNotLook as error:
        return None, (f"{what}: {error.happened} {error.found}",)
    except (ValueError, OverflowError, OSError) as error:
        return None, (f"{what}: its times cannot be read now: {error}",)
    if now is None:
        return None, ()
    page = f"/jobs/{recorded.job_id}"
    gone = [name for each, names in _OF_PAGE.items() if page + each not in answers.pages for name in names]
    now = now.model_copy(update={name: getattr(recorded, name) for name in gone})
    return now, differences(what, recorded, now)


def _clusters(raw: Mapping[str, bytes]) -> list[KeptAnswers]:
    bases = [address.removesuffix("/jobs/overview") for address in raw if address.endswith("/jobs/overview")]
    return [
        KeptAnswers(
            base,
            {
                urlsplit(address).path.removeprefix(urlsplit(base).path.rstrip("/")): body
                for address, body in raw.items()
                if address.startswith(f"{base}/")
            },
        )
        for base in bases
    ]


@dataclass
class Counted:
    """How many were read, and what they say otherwise."""

    lists: int = 0
    manifests: int = 0
    differences: list[str] = field(default_factory=list)


def manifests_again(case: Case, raw: Mapping[str, bytes]) -> Counted:
    """Added files and rows of each commit, and of each Flink manifest that waits or leaked. Never raises."""
    told = Counted()
    by_id = {row.snapshot_id: row for row in (case.ledger.rows if case.ledger else ())}
    for snapshot in case.window.of(case.observation.table):
        if snapshot.manifest_list in raw:
            _of_commit(told, snapshot, by_id.get(snapshot.snapshot_id), raw)
    for leak in case.leaked.manifests if case.leaked is not None else ():
        if leak.path in raw:
            _of_flink(told, leak, raw[leak.path])
    return told


def _of_commit(told: Counted, snapshot: Snapshot, row: LedgerRow | None, raw: Mapping[str, bytes]) -> None:
    try:
        listed = manifests_in(snapshot.manifest_list, raw[snapshot.manifest_list])
        told.lists += 1
        own = [each for each in listed if each.added_snapshot_id == snapshot.snapshot_id]
        if any(each.manifest_path not in raw for each in own):
            return
        entries = list(_entries(told, own, raw))
    except (ValueError, OSError) as error:
        told.differences.append(f"manifests of {short(snapshot.snapshot_id)} cannot be read now: {error}")
        return
    if row is None:
        return
    added = [entry for entry in entries if entry.status is ManifestEntryStatus.ADDED]
    data = [entry for entry in added if entry.data_file.content is DataFileContent.DATA]
    counted = {
        "files": (row.added_files, len(data)),
        "rows": (row.added_rows, sum(entry.data_file.record_count for entry in data)),
        "delete files": (row.added_delete_files, len(added) - len(data)),
    }
    told.differences += [
        f"commit {short(snapshot.snapshot_id)}: recorded {then} added {what}, its manifests hold {now}"
        for what, (then, now) in counted.items()
        if then != now
    ]


def _entries(told: Counted, manifests: list[ManifestFile], raw: Mapping[str, bytes]) -> Iterator[ManifestEntry]:
    for manifest in manifests:
        yield from entries_in(raw[manifest.manifest_path])
        told.manifests += 1


def _of_flink(told: Counted, leak: LeakedManifest, content: bytes) -> None:
    try:
        entries = entries_in(content)
    except (ValueError, OSError) as error:
        if leak.files is not None:
            told.differences.append(f"Flink manifest {leak.path} cannot be read now: {error}")
        return
    told.manifests += 1
    rows = sum(e.data_file.record_count for e in entries if e.data_file.content is DataFileContent.DATA)
    if (leak.files, leak.rows) != (len(entries), rows):
        told.differences.append(
            f"Flink manifest {leak.path}: recorded {leak.files} files and {leak.rows} rows, it holds {len(entries)} "
            f"and {rows}"
        )


@dataclass
class ReadAgain:
    observation: Observation
    """As this version reads the sources; what they do not tell is as it was recorded."""
    read: list[str] = field(default_factory=list)
    """What was read again: `the table's metadata`, `2 runs`."""
    differences: list[str] = field(default_factory=list)
    """Sentences; empty where this version reads the same."""

    def tell(self, number: int, what: str, found: Collection[str] = ()) -> None:
        """Counts `number` things as read."""
        if number:
            self.read.append(counted(number, what))
        self.differences += found


def read_again(case: Case, raw: Mapping[str, bytes]) -> ReadAgain:
    """Never raises for a source that this version cannot read: that is a difference. Digests are not compared: values
    may have been cut out of the sources."""
    again = ReadAgain(case.observation)
    for part in (_table, _runs, _checkpoints, _names, _written, _reads):
        part(again, case, raw)
    told = manifests_again(case, raw)
    again.tell(told.lists, "manifest list")
    again.tell(told.manifests, "manifest", told.differences)
    return again


def _table(again: ReadAgain, case: Case, raw: Mapping[str, bytes]) -> None:
    recorded = case.observation.table
    content = raw.get(recorded.metadata_location)
    if content is None:
        return
    try:
        now = _state(content, recorded)
    except (ValueError, KeyError) as error:
        again.tell(1, "metadata file", [f"the table's metadata cannot be read now: {_first_line(error)}"])
        return
    again.observation = again.observation.model_copy(update={"table": now})
    again.tell(1, "metadata file", differences("the table", _as_read_now(recorded), now, _leaving(recorded)))


def _as_read_now(recorded: TableState) -> TableState:
    """Records of earlier versions hold what commits told of single partitions."""
    snapshots = (each.model_copy(update={"summary": without_partitions(each.summary)}) for each in recorded.snapshots)
    return recorded.model_copy(update={"snapshots": tuple(snapshots)})


def _leaving(recorded: TableState) -> tuple[str, ...]:
    """Records without the typed fields of the partitioning, the last sequence number, or the first with row ids, are
    older than the reading of them."""
    told = ("spec_fields", "last_sequence_number", "lineage_since")
    older = [name for name in told if not getattr(recorded, name)]
    return ("read_at", "lost_metadata", *older)


def _state(content: bytes, recorded: TableState) -> TableState:
    rest, history = read_split(io.BytesIO(content).read)
    metadata = TableMetadataUtil.parse_obj(rest)
    now = table_state(recorded.name, metadata, recorded.metadata_location, recorded.read_at, history)
    return now.model_copy(update={"lost_metadata": recorded.lost_metadata})


def _runs(again: ReadAgain, case: Case, raw: Mapping[str, bytes]) -> None:
    recorded = case.observation.jobs
    if not isinstance(recorded, Seen) or case.job_name is None:
        return
    found, told = runs_again(recorded.values, case.job_name, raw)
    again.tell(len(found), "run", told)
    now = tuple(found.get(run.job_id, run) for run in recorded.values)
    again.observation = again.observation.model_copy(update={"jobs": recorded.model_copy(update={"values": now})})


def _checkpoints(again: ReadAgain, case: Case, raw: Mapping[str, bytes]) -> None:
    recorded = case.observation.checkpoints
    if not isinstance(recorded, Seen):
        return
    read: dict[str, StoredCheckpoint] = {}
    for each in recorded.values:
        content = raw.get(f"{each.path.rstrip('/')}/_metadata")
        if content is not None:
            now = stored_as(content, each.path, each.written_at, _beside(raw, each.path))
            read[each.path] = now.model_copy(update={"digest": each.digest})
    kinds = with_kinds(read.values(), again.observation.jobs.values)
    read = dict(zip(read, kinds, strict=True))
    told = [sentence for each in recorded.values if each.path in read for sentence in _of(each, read[each.path])]
    again.tell(len(read), "restore point", told)
    values = tuple(read.get(each.path, each) for each in recorded.values)
    points = recorded.model_copy(update={"values": values})
    again.observation = again.observation.model_copy(update={"checkpoints": points})


def _of(recorded: StoredCheckpoint, now: StoredCheckpoint) -> tuple[str, ...]:
    """Records without the manifests' folders, or without where the source goes on, are older than the reading of
    them."""
    leaving = [name for name in ("manifest_folders", "source_positions") if not getattr(recorded, name)]
    return differences(f"restore point {recorded.path}", recorded, now, leaving)


def _beside(raw: Mapping[str, bytes], folder: str) -> Callable[[Handle], bytes | None]:
    def state(handle: Handle) -> bytes | None:
        path = f"{folder.rstrip('/')}/{handle.file}" if handle.is_relative else handle.file or ""
        content = raw.get(path, b"")[handle.start : handle.start + handle.size]
        return content if len(content) == handle.size else None

    return state


def _names(again: ReadAgain, case: Case, raw: Mapping[str, bytes]) -> None:
    try:
        number, told = names_again(case.observation, raw)
        again.tell(number, "file name", told)
    except ValueError as error:
        again.tell(1, "listing", [f"the listing of the metadata folder cannot be read now: {_first_line(error)}"])


def _written(again: ReadAgain, case: Case, raw: Mapping[str, bytes]) -> None:
    """Under which columns the job wrote; the diagnosis goes on with what was recorded."""
    for recorded in case.observation.written.values:
        content = raw.get(f"{SCHEMA}{recorded.path}")
        if content is None:
            continue
        what = f"the schema that {recorded.path} tells"
        try:
            now = written_again(Told.model_validate_json(content), recorded)
        except ValueError as error:
            again.tell(1, "schema of the job", [f"{what} cannot be read now: {_first_line(error)}"])
        else:
            again.tell(1, "schema of the job", differences(what, recorded, now))


def _reads(again: ReadAgain, case: Case, raw: Mapping[str, bytes]) -> None:
    """Reads until the moment of the look: the file may hold later ones, and other sources may tell of more."""
    recorded, until = case.observation.reads, case.observation.table.read_at
    kept = {address: events for address, events in raw.items() if address.startswith(LINEAGE)}
    if not kept or not isinstance(recorded, Seen):
        return
    try:
        told_by = (reads_again(address, events, case.observation.table) for address, events in kept.items())
        now = set(united(read for reads in told_by for read in reads))
    except (ValueError, KeyError) as error:
        again.tell(len(kept), "file of events", [f"events of lineage cannot be read now: {_first_line(error)}"])
        return
    then = {read for read in recorded.values if read.at <= until}
    only_now = {read for read in now if read.at <= until} - then
    told = [f"{_of_read(read)} is found only now" for read in only_now]
    told += [f"{_of_read(read)} is not found now" for read in then - now]
    again.tell(len(now), "read", sorted(told))


def _of_read(read: ReadRun) -> str:
    return f"the read of {read.snapshot_id} by {read.consumer} at {read.at:%H:%M:%S} UTC"


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"
