"""Packs a table's history while it is read, one snapshot after the other."""

import marshal
import zlib
from array import array
from collections.abc import Mapping, Sequence
from itertools import pairwise

from bot.observation.ids import CheckpointId, JobId, OperatorId
from bot.observation.listed import BLOCK, LOOK, NONE, Block, Columns, Kind, Listed, moment_of
from bot.observation.snapshot import (
    Snapshot,
    Summaries,
    checkpoint_in,
    has_ids_and_rows,
    job_in,
    names_others,
    operator_in,
)
from bot.observation.table import ages

PACKED_FROM = 1_000
"""Snapshots; fewer are kept as plain records, which are looked at faster."""


_FASTEST = 1


class Packing:
    def __init__(self) -> None:
        self._columns = Columns(array("q"), array("q"), array("q"), array("q"), array("q"), array("I"))
        self._writers: dict[tuple[JobId | None, OperatorId | None], int] = {}
        self._blocks: list[Block] = []
        self._kinds: dict[object, Kind] = {}
        self._open_kinds: list[Kind] = []
        self._open_texts: list[Mapping[str, str] | str] = []
        self._summaries = Summaries()
        self._kind: Kind | None = None
        self._begins, self._naming = array("I"), array("I")

    def add(
        self,
        *,
        snapshot_id: int,
        parent_id: int | None,
        sequence_number: int,
        moment: int,
        schema_id: int | None,
        manifest_list: str,
        summary: Mapping[str, str],
    ) -> None:
        """One more snapshot. Raises OverflowError where a number is none of the format's."""
        moment_of(moment)
        numbers = (
            snapshot_id,
            NONE if parent_id is None else parent_id,
            sequence_number,
            moment,
            _in_column(checkpoint_in(summary)),
            self._writers.setdefault((job_in(summary), operator_in(summary)), len(self._writers)),
        )
        folder, slash, name = manifest_list.rpartition("/")
        alike, own = self._summaries.packed(summary)
        operation = summary.get("operation", "unknown")
        known = (id(alike), operation, schema_id, folder)
        kind = self._kinds.get(known)
        if kind is None:
            kind = self._kinds[known] = Kind(alike, operation, schema_id, folder + slash)
        self._follow(numbers, kind if has_ids_and_rows(summary) else None)
        for column, number in zip(self._columns, numbers, strict=True):
            column.append(number)
        if names_others(summary):
            self._naming.append(len(self._columns.ids) - 1)
        self._open_kinds.append(kind)
        self._open_texts += (name, own)
        if len(self._open_kinds) == BLOCK:
            self._close()

    def _follow(self, numbers: tuple[int, ...], kind: Kind | None) -> None:
        """Notes a place where commits stop to follow each other as `Listed.begins` has it."""
        before, self._kind = self._kind, kind
        if kind is not None and kind is before:
            of_parent = tuple(column[-1] for column in self._columns)
            id_below, _, number_below, moment_below, checkpoint_below, writer_below = of_parent
            _, parent, number, moment, checkpoint, writer = numbers
            is_next = parent == id_below and writer == writer_below and number - number_below == (number > 0)
            if is_next and moment >= moment_below and checkpoint > checkpoint_below > LOOK:
                return
        self._begins.append(len(self._columns.ids))

    def packed(self) -> Sequence[Snapshot]:
        """All of them by rising sequence number, and by age where it is the same, as they all are in format v1; none
        before its parent, however clocks differ. Nothing is added after it."""
        columns = self._columns
        told = zip(columns.sequence_numbers, columns.moments, strict=True)
        if all(one <= other for one, other in pairwise(told)):
            return self._as_told()
        settled = ages(columns.ids, columns.parents, columns.sequence_numbers, columns.moments)
        listed, again = self._listed(), Packing()
        for place in sorted(range(len(settled)), key=settled.__getitem__):
            each = listed[place]
            again.add(
                snapshot_id=each.snapshot_id,
                parent_id=each.parent_id,
                sequence_number=each.sequence_number,
                moment=round(each.committed_at.timestamp() * 1000),
                schema_id=each.schema_id,
                manifest_list=each.manifest_list,
                summary=dict(each.summary),
            )
        return again._as_told()

    def _as_told(self) -> Sequence[Snapshot]:
        listed = self._listed()
        return listed if len(listed) >= PACKED_FROM else tuple(each.model_copy() for each in listed)

    def _listed(self) -> Listed:
        if self._open_kinds:
            self._close()
        return Listed(self._columns, tuple(self._writers), self._blocks, self._begins, self._naming)

    def _close(self) -> None:
        texts = zlib.compress(marshal.dumps(self._open_texts), _FASTEST)
        self._blocks.append(Block(tuple(self._open_kinds), texts))
        self._open_kinds, self._open_texts = [], []


def _in_column(checkpoint: CheckpointId | None) -> int:
    if checkpoint is None:
        return NONE
    return checkpoint if LOOK < checkpoint < -NONE else LOOK
