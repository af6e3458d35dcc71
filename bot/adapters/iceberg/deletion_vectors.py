"""Deletion vectors, by which format 3 deletes rows at their places; PyIceberg (0.12) reads them but writes none.

A vector says which rows of one data file are deleted. All vectors of a commit stand in one Puffin file, each a blob of
its own; the layouts are those of Iceberg's specification (Puffin: `deletion-vector-v1`).
"""

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from pyiceberg.table.deletion_vector import DeletionVector
from pyiceberg.table.puffin import MAGIC_BYTES
from pyroaring import BitMap

_KIND, _MAGIC = "deletion-vector-v1", bytes.fromhex("d1d33964")
_ROW_POSITION = 2147483645
"""The field id that the format reserves for the place of a row."""
_NOT_COMPRESSED = bytes(4)
_SHIFT = 32
"""A 64-bit vector is a list of 32-bit ones, each under the upper half of its places."""
Blob = tuple[int, int]
"""Where a vector begins in its file, and how long it is, in bytes."""


def puffin_of(vectors: Mapping[str, Sequence[int]]) -> tuple[bytes, dict[str, Blob]]:
    """The file that holds them, and where each of them stands. `vectors`: path of a data file -> places, ascending."""
    content, found, told = bytearray(MAGIC_BYTES), {}, []
    for path, places in vectors.items():
        blob = vector_of(places)
        found[path] = (len(content), len(blob))
        told.append(
            {
                "type": _KIND,
                "fields": [_ROW_POSITION],
                "snapshot-id": -1,  # both follow from the commit that names the vector
                "sequence-number": -1,
                "offset": len(content),
                "length": len(blob),
                "properties": {"referenced-data-file": path, "cardinality": str(len(places))},
            }
        )
        content += blob
    footer = json.dumps({"blobs": told, "properties": {"created-by": "Waterline"}}).encode()
    length = len(footer).to_bytes(4, "little")
    return bytes(content + MAGIC_BYTES + footer + length + _NOT_COMPRESSED + MAGIC_BYTES), found


def vector_of(places: Iterable[int]) -> bytes:
    """One blob: length, magic, the places as portable roaring bitmaps, and a checksum. `places` ascend."""
    parts = [(key, list(group)) for key, group in groupby(places, lambda place: place >> _SHIFT)]
    bitmaps = bytearray(len(parts).to_bytes(8, "little"))
    for key, group in parts:
        bitmap = BitMap(place & 0xFFFF_FFFF for place in group)
        bitmap.run_optimize()
        bitmaps += key.to_bytes(4, "little") + bitmap.serialize()
    body = _MAGIC + bytes(bitmaps)
    return len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")


def places_in(blob: bytes) -> list[int]:
    """What `vector_of` was made of. Raises ValueError where the blob is not whole."""
    length, body, checksum = int.from_bytes(blob[:4], "big"), blob[4:-4], int.from_bytes(blob[-4:], "big")
    if len(body) != length or body[: len(_MAGIC)] != _MAGIC or zlib.crc32(body) != checksum:
        raise ValueError("the deletion vector is not whole")
    bitmaps = DeletionVector._deserialize_bitmap(body[len(_MAGIC) :])
    return [(key << _SHIFT) + place for key, bitmap in enumerate(bitmaps) for place in bitmap]
