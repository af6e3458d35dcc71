"""Metadata files of format 3, which PyIceberg (0.12) reads and changes, but refuses to write.

A catalog that only points to a table's metadata (SQL, Hive, Glue) has its client write the next file. What the library
does not know of the format would be lost if it wrote down what it has read: so the file before is taken as it is, and
only that is put in which the commit changes.
"""

import json
from functools import partial
from typing import Any, cast

from pyiceberg.catalog import Catalog, MetastoreCatalog
from pyiceberg.io import FileIO
from pyiceberg.serializers import Compressor
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.typedef import IcebergBaseModel

_WRITERS = {"_write_metadata": False, "_write_metadata_no_exist_check": True}
"""Methods by which PyIceberg's catalogs write it -> whether over a file that is there, as AWS's S3 tables want it."""
_LISTED = {"snapshots": "snapshot-id", "schemas": "schema-id", "partition-specs": "spec-id", "sort-orders": "order-id"}
"""What holds parts that never change once they are there -> what tells them apart."""
Json = dict[str, Any]


def writing_format_3(catalog: Catalog) -> Catalog:
    """The same catalog. Where the server itself writes metadata (REST), nothing has to be done."""
    if isinstance(catalog, MetastoreCatalog):
        for name, overwrites in _WRITERS.items():
            if (written := getattr(catalog, name, None)) is not None:
                setattr(catalog, name, partial(_write, written, overwrites))
    return catalog


def _write(others: Any, overwrites: bool, metadata: TableMetadata, io: FileIO, metadata_path: str) -> None:
    """In place of the catalog's own method, which `others` is: for the formats before."""
    if metadata.format_version < 3 or not metadata.metadata_log:
        others(metadata, io, metadata_path)
        return
    before = _read(io, metadata.metadata_log[-1].metadata_file)
    content = json.dumps(following(before, metadata), separators=(",", ":")).encode()
    with io.new_output(metadata_path).create(overwrite=overwrites) as stream:
        stream.write(Compressor.get_compressor(metadata_path).bytes_compressor()(content))


def following(before: str, after: TableMetadata) -> Json:
    """The file that comes after the file `before`: equal to it but for what PyIceberg has changed since it read it."""
    made, known, wanted = cast("Json", json.loads(before)), _dumped(TableMetadataUtil.parse_raw(before)), _dumped(after)
    for key in known.keys() | wanted.keys():
        if known.get(key) == wanted.get(key):
            continue
        if key not in wanted:
            made.pop(key, None)
        elif key in _LISTED:
            made[key] = _list_of(made.get(key, []), wanted[key], _LISTED[key])
        else:
            made[key] = wanted[key]
    return made


def _list_of(before: list[Json], after: list[Json], told_apart_by: str) -> list[Json]:
    """What was there as it was there, and what is new."""
    there = {each[told_apart_by]: each for each in before}
    return [there.get(each[told_apart_by], each) for each in after]


def _dumped(metadata: TableMetadata) -> Json:
    """As PyIceberg would write it; its own refusal stands in the way of the class's method."""
    return cast("Json", json.loads(IcebergBaseModel.model_dump_json(metadata)))


def _read(io: FileIO, path: str) -> str:
    with io.new_input(path).open() as stream, Compressor.get_compressor(path).stream_decompressor(stream) as plain:
        return plain.read().decode()
