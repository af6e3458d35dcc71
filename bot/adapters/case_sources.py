"""The raw bytes that an observation was read from: metadata, manifests, checkpoint files, Flink's manifests, what
Flink and lineage told. What may hold values of rows is cut out of them unless it is asked for.

With `--values` all may but those of the columns that the table's contract redacts.
"""

import hashlib
import json
import lzma
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pyarrow import ArrowException
from pydantic import TypeAdapter, ValidationError

from bot.adapters.case_redaction import (
    CannotBeCut,
    flink_body,
    lineage_events,
    without_bounds,
    without_hidden,
    without_state,
    without_told_partitions,
)
from bot.adapters.case_rereading import listing_of
from bot.adapters.checkpoint_parsing import told_by, understood_handles
from bot.adapters.lineage_reading import LINEAGE
from bot.adapters.storage import Opened, manifests_in, manifests_of, opened
from bot.adapters.table_files import SCHEMA
from bot.domain.contract import TableContract
from bot.domain.diagnosis import Case, SavedCase
from bot.domain.errors import BadConfiguration
from bot.domain.flink import StoredCheckpoint
from bot.domain.masking import Masking
from bot.domain.pairing import folder_of_manifests
from bot.domain.paths import below
from bot.domain.table import TableState, transform_and_column

_TELLS_NOTHING = frozenset({"bucket", "void"})


class RowValues:
    def __init__(self, table: TableState, contract: TableContract, *, with_values: bool) -> None:
        self._contract = contract
        self._with_values = with_values
        listed = [column for columns in (table.columns, *table.schemas.values()) for column in columns]
        self._kept = {column.field_id for column in listed if self._may_leave(column.name)}
        self._kept -= {column.field_id for column in listed if not self._may_leave(column.name)}
        self._known = {column.field_id for column in listed}
        self._partitioned_by = sorted(
            {field for fields in (table.partitioning, *table.specs.values()) for field in fields}
        )

    @property
    def why_no_manifest(self) -> str | None:
        """Why none may leave: partitions are values of rows, and the paths of data files hold them."""
        for told in self._partitioned_by:
            transform, column = transform_and_column(told)
            if transform not in _TELLS_NOTHING and not self._may_leave(column):
                asked = "" if self._contract.hides(column) else "; --values keeps them"
                return f"the table is partitioned by {told}, so they hold values of rows{asked}"
        return None

    def cut(self, manifest: bytes) -> bytes:
        """The manifest without the bounds of every column that may not leave. Raises CannotBeCut."""
        return without_bounds(manifest, self._keeps)

    def _keeps(self, field_id: int) -> bool:
        """A field within another is known by its own id only, so it goes unless nothing is redacted at all."""
        if field_id in self._known:
            return field_id in self._kept
        return self._with_values and not self._contract.redacted

    def _may_leave(self, column: str) -> bool:
        contract = self._contract
        if contract.hides(column):
            return False
        return self._with_values or column in {contract.position, contract.position_partition, contract.event_time}


LARGEST = 64 * 1024 * 1024
"""Bytes of one source; a larger one is named instead."""
IN_ALL = 512 * 1024 * 1024
"""Bytes of all sources, before they are packed."""
_UNREADABLE = (OSError, ArrowException, ValueError)
GONE = "no longer there"
"""Of a file that was deleted since; Flink does so with its own manifests once they are committed."""
_MANY_GONE = 3
Cut = Callable[[bytes], bytes]


@dataclass
class Sources:
    raw: dict[str, bytes] = field(default_factory=dict)
    """Where each source is -> its bytes."""
    left_out: list[str] = field(default_factory=list)
    """Those that are not in the file, each with the reason."""
    cut: list[str] = field(default_factory=list)
    """Those of which values of rows were cut out; their length and all else is as it was."""
    _bytes: int = 0

    def add(self, source: str, content: bytes, cut: Cut | None) -> None:
        """Keeps it, cut; leaves it out where that is impossible, or where the file would grow too large."""
        try:
            kept = content if cut is None else cut(content)
        except (CannotBeCut, ValueError) as error:
            self.left_out.append(f"{source}: values of rows could not be cut out ({error}); --values keeps it whole")
            return
        if self._bytes + len(kept) > IN_ALL:
            self.left_out.append(f"{source}: the file would hold more than {IN_ALL // 2**20} MiB")
            return
        self._bytes += len(kept)
        self.raw[source] = kept
        if kept != content:
            self.cut.append(source)


def sources_of(
    case: Case, tape: Mapping[str, bytes], *, with_values: bool, of_table: Opened = opened, of_state: Opened = opened
) -> Sources:
    """Everything of the case that is not in it. Never raises for a source that is gone: that may be the very fault.

    `tape` is what was told during the look, by address; `of_table` opens the table's own files, `of_state` those
    of the job's checkpoints and savepoints. Cost: reads what the window's evidence has read.
    """
    found, policy = Sources(), RowValues(case.observation.table, case.contract, with_values=with_values)
    for address, body in tape.items():
        found.add(address, body, _of_tape(address, case.contract, with_values=with_values))

    def read(source: str, opened: Opened = of_table) -> bytes | None:
        try:
            files, path = opened(source)
            with files.open_input_stream(path) as stream:
                content: bytes = stream.read(LARGEST + 1)
        except _UNREADABLE as error:
            found.left_out.append(f"{source}: {_why(error)}")
            return None
        if len(content) > LARGEST:
            found.left_out.append(f"{source}: larger than {LARGEST // 2**20} MiB")
            return None
        return content

    table = case.observation.table
    try:
        found.add(*listing_of(table, of_table), None)
    except _UNREADABLE as error:
        found.left_out.append(f"the names in {folder_of_manifests(table)}: {_why(error)}")
    if (metadata := read(table.metadata_location)) is not None:
        cut = None if policy.why_no_manifest is None else without_told_partitions
        found.add(table.metadata_location, metadata, cut)
    _add_manifests(found, case, policy, read, of_table)
    for stored in case.observation.checkpoints.values:
        _add_checkpoint(found, stored, None if with_values else without_state, partial(read, opened=of_state))
    return found


def left_out_in_short(left_out: Sequence[str]) -> tuple[str, ...]:
    """For a terminal: those that are gone in one line, where they are many; the others one by one before it."""
    gone = [each for each in left_out if each.endswith(f": {GONE}")]
    if len(gone) <= _MANY_GONE:
        return tuple(left_out)
    first = gone[0].removesuffix(f": {GONE}")
    return (
        *(each for each in left_out if each not in gone),
        f"{len(gone)} files that are {GONE} (Flink deletes its own once they are committed), the first {first}; the "
        "saved file names all",
    )


def _why(error: Exception) -> str:
    return GONE if isinstance(error, FileNotFoundError) else type(error).__name__


def _of_tape(address: str, contract: TableContract, *, with_values: bool) -> Cut | None:
    """None for what holds no values of rows: a schema. Where Flink's words of a failure name a file by hidden ones, of
    a trace no more is kept than the bot reads, whatever was asked for."""
    if address.startswith(SCHEMA):
        return None
    if address.startswith(LINEAGE):
        return None if with_values else lineage_events

    def cut(body: bytes) -> bytes:
        asked = body if with_values else flink_body(address, body)
        if not contract.redacted or without_hidden(address, asked, contract.veiled) == asked:
            return asked
        return without_hidden(address, flink_body(address, body), contract.veiled)

    return cut


def _add_manifests(
    found: Sources, case: Case, policy: RowValues, read: Callable[[str], bytes | None], of_table: Opened
) -> None:
    """Those of the window's commits with their lists, and Flink's own, which wait or leaked."""
    told: list[tuple[str, Cut | None]] = [
        (leaked.path, policy.cut) for leaked in case.observation.flink_manifests.values
    ]
    for snapshot in case.window.of(case.observation.table):
        told.append((snapshot.manifest_list, _manifest_list))
        try:
            told += [(path, policy.cut) for path in manifests_of(snapshot, of_table)]
        except _UNREADABLE as error:
            found.left_out.append(f"manifests of {snapshot.snapshot_id}: {_why(error)}")
    if told and policy.why_no_manifest is not None:
        found.left_out.append(f"{len(told)} manifests and lists of them: {policy.why_no_manifest}")
        return
    for path, cut in told:
        if (content := read(path)) is not None:
            found.add(path, content, cut)


def _manifest_list(content: bytes) -> bytes:
    """As it is. Raises ValueError for any other file: whoever writes a table's metadata chooses what it names."""
    manifests_in("", content)
    return content


def _is_of(stored: StoredCheckpoint, path: str) -> bool:
    """Whether a file lies in the restore point's folder or beside it, where Flink keeps what points share: whoever
    makes a `_metadata` chooses what it names, and a case is sent to others."""
    around = stored.path.rstrip("/").rpartition("/")[0]
    return below(path, around) is not None and ".." not in path.split("/")


def _add_checkpoint(
    found: Sources, stored: StoredCheckpoint, cut: Cut | None, read: Callable[[str], bytes | None]
) -> None:
    """Its `_metadata`, and the state of committers and of Kafka's readers where that lies beside it."""
    path = f"{stored.path.rstrip('/')}/_metadata"
    if stored.checkpoint_id is None or (content := read(path)) is None:
        return
    if stored.digest is not None and hashlib.sha256(content).hexdigest() != stored.digest:
        found.left_out.append(f"{path}: changed since it was observed")
        return
    found.add(path, content, cut)
    of_kafka = bool(stored.source_positions)
    for handle in understood_handles(told_by(content).operators, of_kafka=of_kafka):
        if handle.file is None:
            continue
        beside = f"{stored.path.rstrip('/')}/{handle.file}" if handle.is_relative else handle.file
        if not _is_of(stored, beside):
            found.left_out.append(f"{beside}: {path} names it, and it does not lie where Flink keeps such state")
            continue
        if beside not in found.raw and (state := read(beside)) is not None:
            found.add(beside, state, None)


_CASE = "case.json"
_INDEX = "raw/index.json"
_LARGEST = 512 * 1024 * 1024
"""Bytes of `case.json` when unpacked; a file that claims more is refused."""
_SLOWLY = 1024 * 1024
"""Bytes up to which a source is packed better and more slowly: checkpoint files become a tenth of the size."""
_LARGEST_INDEX = 16 * 1024 * 1024
"""The same of `raw/index.json`."""
_LARGEST_RAW = 1024 * 1024 * 1024
"""The same of all sources together."""
_TROUBLE = (OSError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, KeyError)
"""What `zipfile` raises of a file that is none, or garbled, or packed in a way or with a password that it does not
know."""
_NAMES = TypeAdapter(dict[str, str])


def write_case(path: Path, saved: SavedCase, raw: Mapping[str, bytes], masking: Masking) -> None:
    """`raw` maps where a source was (a path or an address) to its bytes; text among them is masked, and what is no
    text is left out where it holds a secret, because nothing else of its length could stand there.

    Raises BadConfiguration if `path` exists or cannot be written; then nothing is left behind.
    """
    index: dict[str, str] = {}
    masked = {source: _masked(content, masking) for source, content in raw.items()}
    secret = tuple(f"{source}: it holds what looks like a secret" for source in raw if masked[source] is None)
    saved = saved.model_copy(update={"left_out": saved.left_out + secret})
    part = path.with_name(f"{path.name}.part")
    try:
        if path.exists():
            raise FileExistsError(path)
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
            file.writestr(_CASE, json.dumps(masking.of(saved.model_dump(mode="json"))))
            for number, (source, content) in enumerate(sorted(masked.items())):
                if content is None:
                    continue
                shown = masking.text(source)
                name = f"raw/{number:04d}-{shown.rstrip('/').rsplit('/', 1)[-1][-80:]}"
                index[name] = shown
                file.writestr(name, content, zipfile.ZIP_LZMA if len(content) <= _SLOWLY else None)
            file.writestr(_INDEX, json.dumps(index, indent=1))
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise _unwritable(path, type(error).__name__) from error


def check_free(path: Path) -> None:
    """Raises BadConfiguration where a file stands already: told before the sources are read, which takes a while."""
    if path.exists():
        raise _unwritable(path, "one that is there already")


def _unwritable(path: Path, found: str) -> BadConfiguration:
    return BadConfiguration(
        f"The case could not be written to {path}.",
        f"Expected a new file in a folder that can be written; found {found}.",
        "Choose another path.",
    )


def _masked(content: bytes, masking: Masking) -> bytes | None:
    """None for what is no text and holds a secret."""
    try:
        text = None if b"\0" in content else content.decode()
    except UnicodeDecodeError:
        text = None
    if text is not None:
        return masking.text(text).encode()
    told = content.decode("latin-1")
    return content if masking.text(told) == told else None


def read_case(path: Path) -> SavedCase:
    """Raises BadConfiguration when it is not a saved case, or one of another format."""
    try:
        with zipfile.ZipFile(path) as file:
            if file.getinfo(_CASE).file_size > _LARGEST:
                raise zipfile.BadZipFile(f"{_CASE} is larger than {_LARGEST} bytes")
            content = file.read(_CASE)
    except _TROUBLE as error:
        raise BadConfiguration(
            f"{path} is not a saved case.",
            f"Expected a file of `waterline case save`; found {type(error).__name__}: {error}.",
            "Save the case again with `waterline case save TABLE --to FILE`.",
        ) from error
    try:
        return SavedCase.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        raise BadConfiguration(
            f"{path} was saved by another version of Waterline, which this one cannot read.",
            f"Expected format 1; found at {'.'.join(map(str, first['loc']))}: {first['msg']} "
            f"({error.error_count()} differences in all).",
            "Diagnose it with the version that saved it, or save it again.",
        ) from error


def raw_of(path: Path) -> dict[str, bytes]:
    """Where each raw source was -> its bytes; empty for a file without any. Raises BadConfiguration."""
    try:
        with zipfile.ZipFile(path) as file:
            if _INDEX not in file.namelist():
                return {}
            if file.getinfo(_INDEX).file_size > _LARGEST_INDEX:
                raise zipfile.BadZipFile(f"{_INDEX} is larger than {_LARGEST_INDEX} bytes")
            index = _NAMES.validate_json(file.read(_INDEX))
            if sum(file.getinfo(name).file_size for name in index) > _LARGEST_RAW:
                raise zipfile.BadZipFile(f"its sources are larger than {_LARGEST_RAW} bytes")
            return {source: file.read(name) for name, source in index.items()}
    except (*_TROUBLE, ValidationError) as error:
        raise BadConfiguration(
            f"The sources in {path} cannot be read.",
            f"Expected them below raw/, named in {_INDEX}; found {type(error).__name__}.",
            "Copy the file again; it may be incomplete.",
        ) from error
