"""The raw bytes that an observation was read from: metadata, manifests, checkpoint files, Flink's manifests."""

import hashlib
import re
from collections.abc import Iterator, Mapping

from pyarrow import ArrowException

from bot.adapters.iceberg.manifests import manifests_of
from bot.adapters.iceberg.storage import Opened
from bot.adapters.opening import opened
from bot.domain.diagnosis import Case

_LARGEST = 64 * 1024 * 1024
"""Bytes of one source; a larger one is named instead."""
_OF_PEOPLE = re.compile(r"/jobs/[0-9a-f]{32}/(exceptions|config)(\?|$)")
_TROUBLE = (OSError, ArrowException, ValueError)


def raw_sources(
    case: Case, *, with_values: bool, of_table: Opened = opened
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Where each source is -> its bytes, and those left out with the reason. Never raises for a source that is gone:
    that may be the very fault. `of_table` opens the table's own files; Flink's are opened by what the environment says.
    Cost: reads what the window's evidence has read."""
    raw: dict[str, bytes] = {}
    left_out: list[str] = []
    own = case.observation.table.location.rstrip("/") + "/"
    for source in _sources(case, with_values, left_out, of_table):
        try:
            files, path = of_table(source) if source.startswith(own) else opened(source)
            with files.open_input_stream(path) as stream:
                content = stream.read(_LARGEST + 1)
        except _TROUBLE as error:
            left_out.append(f"{source}: {type(error).__name__}")
            continue
        if len(content) > _LARGEST:
            left_out.append(f"{source}: larger than {_LARGEST // 2**20} MiB")
        else:
            raw[source] = content
    left_out += _changed(case, raw)
    return raw, tuple(left_out)


def bodies(tape: Mapping[str, bytes], *, with_values: bool) -> dict[str, bytes]:
    """What Flink answered, by address; without values neither stack traces nor the job's parameters, which may hold
    them (the observation keeps each failure's first line)."""
    return {address: body for address, body in tape.items() if with_values or not _OF_PEOPLE.search(address)}


def _sources(case: Case, with_values: bool, left_out: list[str], of_table: Opened) -> Iterator[str]:
    table = case.observation.table
    yield table.metadata_location
    if not with_values:
        left_out.append(
            "manifests and checkpoint files: bounds and inline state hold values of rows; --values keeps them"
        )
        return
    for stored in case.observation.checkpoints.values:
        yield f"{stored.path.rstrip('/')}/_metadata"
    for leaked in case.observation.flink_manifests.values:
        yield leaked.path
    for snapshot in case.window.of(table):
        yield snapshot.manifest_list
        try:
            yield from manifests_of(snapshot, of_table)
        except _TROUBLE as error:
            left_out.append(f"manifests of {snapshot.snapshot_id}: {type(error).__name__}")


def _changed(case: Case, raw: dict[str, bytes]) -> Iterator[str]:
    """Restore points whose file is not the one that was observed: said, because the case holds both."""
    for stored in case.observation.checkpoints.values:
        content = raw.get(f"{stored.path.rstrip('/')}/_metadata")
        if content is not None and stored.digest is not None and hashlib.sha256(content).hexdigest() != stored.digest:
            yield f"{stored.path}/_metadata: changed since it was observed; the file holds the new one"
