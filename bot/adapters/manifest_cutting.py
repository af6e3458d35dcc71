"""A manifest whose bounds of some columns are cut out: every byte else stays where it was.

Bounds are values of rows. Each is overwritten with as many zeros, so that whatever reads the file goes the same way
through it; the blocks are packed anew. Bounds that are not values are left: counts, sizes and paths.
"""

import io
from collections.abc import Callable, Iterator

from pyiceberg.avro.codecs.codec import Codec
from pyiceberg.avro.decoder_fast import CythonBinaryDecoder
from pyiceberg.avro.encoder import BinaryEncoder
from pyiceberg.manifest import ManifestEntry

from bot.adapters.kept_file import KeptFile, entries_in, manifest_file

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
    """What the bot reads of an entry, and the bounds that stay."""
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
    """A number as Avro writes it."""
    written = io.BytesIO()
    BinaryEncoder(written).write_int(number)
    return written.getvalue()
