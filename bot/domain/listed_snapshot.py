"""One snapshot of a long list: two words of memory, and every field looked up when somebody asks for it.

To whoever looks at it, it is a `Snapshot` like any other: pydantic asks a record for its `__dict__`, which here is made
anew each time. A copy of it is a plain one.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bot.domain.columns import LOOK, NONE, moment_of
from bot.domain.ids import CheckpointId, JobId, OperatorId, SnapshotId
from bot.domain.snapshot import Snapshot

if TYPE_CHECKING:
    from bot.domain.listed import Listed


class ListedSnapshot(Snapshot):
    """Made by `listed_snapshot` alone."""

    __slots__ = ("_of", "_place")

    if TYPE_CHECKING:
        _of: Listed
        _place: int
    else:
        __dict__ = property(lambda self: {name: getattr(self, name) for name in Snapshot.model_fields})
        __pydantic_fields_set__ = property(lambda _self: set(Snapshot.model_fields))
        __pydantic_extra__ = property(lambda _self: None)
        __pydantic_private__ = property(lambda _self: None)

    @property
    def job_id(self) -> JobId | None:
        """See `Snapshot`; from a column, because every commit of a table is asked for it."""
        return self._of.writers[self._of.columns.writers[self._place]][0]

    @property
    def operator_id(self) -> OperatorId | None:
        return self._of.writers[self._of.columns.writers[self._place]][1]

    @property
    def checkpoint_id(self) -> CheckpointId | None:
        found = self._of.columns.checkpoints[self._place]
        if found > LOOK:
            return CheckpointId(found)
        return None if found == NONE else super().checkpoint_id

    def __copy__(self) -> Any:
        return Snapshot.model_construct(**self.__dict__)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Any:
        return self.__copy__()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and self.__dict__ == other.__dict__

    def __reduce__(self) -> tuple[Any, ...]:
        return Snapshot.model_validate, (self.__dict__,)


def _parent_id(self: ListedSnapshot) -> SnapshotId | None:
    found = self._of.columns.parents[self._place]
    return None if found == NONE else SnapshotId(found)


_FIELDS: dict[str, Callable[[ListedSnapshot], object]] = {
    "snapshot_id": lambda self: self._of.columns.ids[self._place],
    "parent_id": _parent_id,
    "sequence_number": lambda self: self._of.columns.sequence_numbers[self._place],
    "committed_at": lambda self: moment_of(self._of.columns.moments[self._place]),
    "operation": lambda self: self._of.kind_at(self._place).operation,
    "manifest_list": lambda self: self._of.manifest_list_at(self._place),
    "schema_id": lambda self: self._of.kind_at(self._place).schema_id,
    "summary": lambda self: self._of.summary_at(self._place),
}
assert _FIELDS.keys() == Snapshot.model_fields.keys()
for _name, _read in _FIELDS.items():  # not in the class: pydantic takes a property there for a field's default
    setattr(ListedSnapshot, _name, property(_read))
_set_list, _set_place = (vars(ListedSnapshot)[slot].__set__ for slot in ("_of", "_place"))


def listed_snapshot(of: "Listed", place: int) -> ListedSnapshot:
    made = ListedSnapshot.__new__(ListedSnapshot)
    _set_list(made, of)
    _set_place(made, place)
    return made
