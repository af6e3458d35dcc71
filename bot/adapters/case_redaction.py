"""What may hold values of rows, cut out of a saved case's raw sources: every byte else stays where it was.

Bounds are values of rows. Each is overwritten with as many zeros, so that whatever reads the file goes the same way
through it; the blocks are packed anew. Bounds that are not values are left: counts, sizes and paths.

A table's metadata file without what its commits tell of single partitions: partitions are values of rows.

State of other operators may hold whole rows. It is overwritten with as many zeros: header, operators, sizes, names and
paths stay, and the file is read as before.

What may stay is named, so what a later version adds is cut.
"""

import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator

from pydantic import JsonValue
from pyiceberg.avro.codecs.codec import Codec
from pyiceberg.avro.decoder_fast import CythonBinaryDecoder
from pyiceberg.avro.encoder import BinaryEncoder
from pyiceberg.manifest import ManifestEntry

from bot.adapters.checkpoint_parsing import NotUnderstood, Told, blocks_in, told_by, understood_handles
from bot.adapters.flink_pages import CODE_VERSION_KEYS, MOST_CAUSES, cause_lines
from bot.adapters.storage import KeptFile, entries_in, manifest_file
from bot.domain.masking import LONGEST_MESSAGE
from bot.domain.snapshot import PARTITIONS, without_partitions

_SYNC_BYTES = 16
Keeps = Callable[[int], bool]
"""Whether the bounds of the column with this field id may stay."""


class CannotBeCut(ValueError):
    """The file does not look as expected, so it is not known what a cut would leave."""


def without_bounds(content: bytes, keeps: Keeps) -> bytes:
    """The same manifest without the bounds of every column that is not kept. Raises CannotBeCut, ValueError."""
    before = entries_in(content)
    if any(entry.data_file.key_metadata for entry in before):
        raise CannotBeCut("it names keys of encrypted files")
    values = {pair for entry in before for pair in _bounds(entry) if not keeps(pair[0])}
    cut = _with_blocks(content, lambda block: _blanked(block, values))
    after = entries_in(cut)
    if [_rest(entry, keeps) for entry in before] != [_rest(entry, keeps) for entry in after]:
        raise CannotBeCut("more than bounds would be lost")
    if values & {pair for entry in after for pair in _bounds(entry) if any(pair[1])}:
        raise CannotBeCut("a bound could not be found in it")
    return cut


def _bounds(entry: ManifestEntry) -> Iterator[tuple[int, bytes]]:
    file = entry.data_file
    for bounds in (file.lower_bounds, file.upper_bounds):
        yield from (bounds or {}).items()


def _rest(entry: ManifestEntry, keeps: Keeps) -> tuple[object, ...]:
    file = entry.data_file
    counts = (file.record_count, file.file_size_in_bytes, file.value_counts, file.null_value_counts)
    kept = tuple(pair for pair in _bounds(entry) if keeps(pair[0]))
    return (entry.status, entry.snapshot_id, entry.sequence_number, file.file_path, file.content, counts, kept)


def _blanked(block: bytes, values: set[tuple[int, bytes]]) -> bytes:
    """In Avro a pair of the map is: its key, the length of the value, the value."""
    for field_id, value in values:
        before = _whole(field_id) + _whole(len(value))
        block = block.replace(before + value, before + bytes(len(value)))
    return block


def _with_blocks(content: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """The Avro file whose blocks went through `change`; it keeps their length."""
    with manifest_file(KeptFile("kept", content)) as file:
        start, sync, codec = file.decoder.tell(), file.header.sync, file.header.compression_codec()
    told = CythonBinaryDecoder(content[start:])
    parts = [content[:start]]
    while told.tell() < len(content) - start:
        count = told.read_int()
        packed = _packed(change(_unpacked(told.read_bytes(), codec)), codec)
        if told.read(_SYNC_BYTES) != sync:
            raise CannotBeCut("a block does not end where it should")
        parts += [_whole(count), _whole(len(packed)), packed, sync]
    return b"".join(parts)


def _unpacked(block: bytes, codec: type[Codec] | None) -> bytes:
    return codec.decompress(block) if codec is not None else block


def _packed(block: bytes, codec: type[Codec] | None) -> bytes:
    return codec.compress(block)[0] if codec is not None else block


def _whole(number: int) -> bytes:
    written = io.BytesIO()
    BinaryEncoder(written).write_int(number)
    return written.getvalue()


_GZIP = b"\x1f\x8b"


def without_told_partitions(metadata: bytes) -> bytes:
    """The same file, packed as it was; byte for byte where no commit tells of a partition. Raises CannotBeCut."""
    try:
        plain = gzip.decompress(metadata) if metadata.startswith(_GZIP) else metadata
    except (OSError, EOFError, zlib.error) as error:
        raise CannotBeCut(f"it cannot be unpacked: {type(error).__name__}") from error
    if f'"{PARTITIONS}'.encode() not in plain:
        return metadata
    told = json.loads(plain)
    snapshots = told.get("snapshots") if isinstance(told, dict) else None
    for snapshot in snapshots or ():
        snapshot["summary"] = without_partitions(snapshot.get("summary") or {})
    cut = json.dumps(told).encode()
    return gzip.compress(cut, mtime=0) if plain is not metadata else cut


_VERSION = slice(4, 8)


def without_state(content: bytes) -> bytes:
    """The same file. Raises CannotBeCut where its layout is not understood, or where it would be read otherwise."""
    told = told_by(content)
    if told.problem is not None and not told.operators:
        raise CannotBeCut(told.problem)
    try:
        blocks = blocks_in(content, int.from_bytes(content[_VERSION], "big"))
    except NotUnderstood as error:
        raise CannotBeCut(f"its layout could not be followed: {error}") from error
    understood = understood_handles(told.operators, of_kafka=bool(told.source_positions))
    kept = {handle.inline for handle in understood if handle.inline is not None}
    cut = bytearray(content)
    for begin, length in blocks:
        if content[begin : begin + length] not in kept:
            cut[begin : begin + length] = bytes(length)
    left = bytes(cut)
    if _read(told_by(left)) != _read(told):
        raise CannotBeCut("it would be read otherwise")
    return left


def _read(told: Told) -> tuple[object, ...]:
    sizes = tuple((part.operator_id, part.name, part.parallelism, part.bytes) for part in told.operators)
    return (told.model_copy(update={"operators": ()}), sizes)


_JOB = r"/jobs/[0-9a-f]{32}"
_SCAN = ("snapshotId", "schemaId")
_DATASET = ("symlinks", "version", "datasetVersion")


def flink_body(address: str, body: bytes) -> bytes:
    """What Flink answered there: of stack traces only what the bot keeps of each (its first line and causes), of
    the job's parameters only those that name its code, of the job itself no plan, which quotes its statements."""
    return next((cut(body) for form, cut in _OF_FLINK if form.search(address)), body)


def without_hidden(address: str, body: bytes, veil: Callable[[str], str]) -> bytes:
    """The same answer; what it says of failures shows nothing that `veil` takes away. Byte for byte where it shows
    nothing of that anyway."""
    keys = next((keys for form, keys in _FAILURES_IN if form.search(address)), None)
    if keys is None:
        return body
    told = json.loads(body)
    veiled = _veiled(told, veil, keys, is_of_failure=not keys)
    return body if veiled == told else json.dumps(veiled).encode()


def lineage_events(lines: bytes) -> bytes:
    """One event a line: who ran when, and which snapshot of which dataset it read, what it wrote; no filters, texts
    or settings. A line that is no JSON is left out."""
    kept = []
    for line in lines.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        kept.append(json.dumps(_event(event)).encode())
    return b"\n".join(kept)


def _exceptions(body: bytes) -> bytes:
    entries = _dict(_dict(json.loads(body)).get("exceptionHistory")).get("entries")
    told = [
        {
            **_only(entry, "exceptionName", "timestamp", "taskName"),
            "stacktrace": _traced(str(_dict(entry).get("stacktrace", ""))),
        }
        for entry in (entries if isinstance(entries, list) else [])
    ]
    return json.dumps({"exceptionHistory": {"entries": told}}).encode()


def _traced(trace: str) -> str:
    first = trace.partition("\n")[0].strip()[:LONGEST_MESSAGE]
    return "\n".join([first, *(f"Caused by: {cause}" for cause in cause_lines(trace)[:MOST_CAUSES])])


def _config(body: bytes) -> bytes:
    told = _dict(json.loads(body))
    user = _dict(_dict(told.get("execution-config")).get("user-config"))
    named: JsonValue = {"user-config": _only(user, *CODE_VERSION_KEYS)}
    return json.dumps({**_only(told, "jid", "name"), "execution-config": named}).encode()


def _detail(body: bytes) -> bytes:
    named = ("jid", "name", "state", "start-time", "end-time", "job-type", "vertices", "status-counts")
    return json.dumps(_only(json.loads(body), *named)).encode()


_OF_FLINK: tuple[tuple[re.Pattern[str], Callable[[bytes], bytes]], ...] = (
    (re.compile(rf"{_JOB}/exceptions(\?|$)"), _exceptions),
    (re.compile(rf"{_JOB}/config(\?|$)"), _config),
    (re.compile(rf"{_JOB}(\?|$)"), _detail),
)
_FAILURES_IN: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = (
    (re.compile(rf"{_JOB}/exceptions(\?|$)"), frozenset()),
    (re.compile(rf"{_JOB}/checkpoints(/|\?|$)"), frozenset({"failure_message"})),
)
"""Which answers tell of failures, and under which names; none: everywhere."""


def _veiled(told: JsonValue, veil: Callable[[str], str], keys: frozenset[str], *, is_of_failure: bool) -> JsonValue:
    match told:
        case str():
            return veil(told) if is_of_failure else told
        case dict():
            return {
                name: _veiled(each, veil, keys, is_of_failure=is_of_failure or name in keys)
                for name, each in told.items()
            }
        case list():
            return [_veiled(each, veil, keys, is_of_failure=is_of_failure) for each in told]
        case _:
            return told


def _event(event: JsonValue) -> JsonValue:
    run = _dict(_dict(event).get("run"))
    inputs, outputs = _dict(event).get("inputs"), _dict(event).get("outputs")
    parent = _dict(_dict(run.get("facets")).get("parent"))
    facets: JsonValue = {}
    if parent:
        part_of = {"job": _only(parent.get("job"), "namespace", "name"), "run": _only(parent.get("run"), "runId")}
        facets = {"parent": {name: told for name, told in part_of.items() if told}}
    return {
        **_only(event, "eventTime", "eventType"),
        "run": {**_only(run, "runId"), "facets": facets},
        "job": _only(_dict(event).get("job"), "namespace", "name"),
        "inputs": [_dataset(each) for each in (inputs if isinstance(inputs, list) else [])],
        "outputs": [_dataset(each) for each in (outputs if isinstance(outputs, list) else [])],
    }


def _dataset(told: JsonValue) -> JsonValue:
    named = _only(told, "namespace", "name")
    facets = _only(_dict(told).get("facets"), *_DATASET)
    scan = _only(_dict(_dict(told).get("inputFacets")).get("icebergScanReport"), *_SCAN)
    return {**named, "facets": facets, **({"inputFacets": {"icebergScanReport": scan}} if scan else {})}


def _only(told: JsonValue, *names: str) -> dict[str, JsonValue]:
    return {name: value for name, value in _dict(told).items() if name in names}


def _dict(told: JsonValue) -> dict[str, JsonValue]:
    return told if isinstance(told, dict) else {}
