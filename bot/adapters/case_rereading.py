"""A saved case, read again from its raw sources: what this version makes of the bytes that were looked at then.

Whatever needs no Spark is read again: the table's metadata, Flink's answers, checkpoint files, manifests, lineage.
What the sources that are in the file do not tell stays as it was recorded.
"""

import io
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from pyiceberg.table.metadata import TableMetadataUtil

from bot.adapters.case_comparing import differences
from bot.adapters.checkpoint_files import stored_as
from bot.adapters.checkpoint_parsing import Handle
from bot.adapters.flink_kept import runs_again
from bot.adapters.iceberg.history import read_split
from bot.adapters.iceberg.reading import table_state
from bot.adapters.lineage_kept import LINEAGE, reads_again
from bot.adapters.lineage_reads import united
from bot.adapters.listing_kept import names_again
from bot.adapters.manifests_again import manifests_again
from bot.adapters.writer_schema import SCHEMA, Told, written_again
from bot.domain.diagnosis import Case
from bot.domain.evidence import Observation
from bot.domain.flink import StoredCheckpoint, with_kinds
from bot.domain.looked import Seen
from bot.domain.reads import ReadRun
from bot.domain.sentences import counted
from bot.domain.snapshot import without_partitions
from bot.domain.table import TableState


@dataclass
class ReadAgain:
    """What came of it."""

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
