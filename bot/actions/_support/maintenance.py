"""Freeze and unfreeze of a table's maintenance, as changes of its properties.

`gc.enabled=false` makes Iceberg itself refuse to expire snapshots and to remove orphan files, in Spark's procedures, in
Flink's table maintenance and in every other user of its Java library. PyIceberg never reads it: its own
`table.maintenance.expire_snapshots()` expires a frozen table (0.12). It does not stop compaction (`rewrite_data_files`,
which deletes nothing by itself), and no property does: Spark's action asks only its own options (Iceberg 1.12), Flink's
`compaction-enabled` and `flink-maintenance.rewrite.*` are read from the job's write options and configuration when it
starts (1.11). A compaction that comes in between is a commit that nobody foresaw. Nor does it stop services that do not
use that library: those of a cloud's table buckets, or a lifecycle rule of the storage. For these the sign
`waterline.maintenance=frozen` is there to be read.

What `gc.enabled` was before is noted on the table by the very commit that freezes it, so that whoever unfreezes it, and
whatever has crashed in between, sets back exactly that.
"""

from collections.abc import Callable

import stamina

from bot.observation.errors import CommitRefused, CouldNotLook
from bot.observation.ids import IncidentId, TableName
from bot.observation.table import TableState
from bot.ports import TableCatalog, TableChange

SIGN = "waterline.maintenance"
FROZEN = "frozen"
_BY = "waterline.maintenance.by"
_BEFORE = "waterline.maintenance.gc-enabled"
_GC = "gc.enabled"
_UNSET = "unset"


def is_frozen(table: TableState) -> bool:
    """Whether the table carries the sign, whoever set it."""
    return table.properties.get(SIGN) == FROZEN


def frozen_by(table: TableState) -> str | None:
    """The incident that froze it; None where nobody did, or somebody by hand."""
    return table.properties.get(_BY) if is_frozen(table) else None


def stays_frozen_for(table: TableState, incident: IncidentId) -> bool:
    """Whether it is kept from expiry, and only this incident, or a person, unfreezes the table. An earlier incident's
    freeze ends with its unfreeze, and a sign alone keeps nothing."""
    is_kept = table.properties.get(_GC, "").lower() == "false"
    return is_frozen(table) and is_kept and frozen_by(table) in (None, incident)


def is_frozen_by_hand(table: TableState) -> bool:
    """Whether people have frozen it, and no incident: it is for them to unfreeze it."""
    return is_frozen(table) and not {_BY, _BEFORE} & table.properties.keys()


def freeze_change(table: TableState, incident: IncidentId) -> TableChange | None:
    """None where it stays frozen already. The freeze of another incident, or one that somebody has taken half away, is
    taken over, with what was set before it."""
    if stays_frozen_for(table, incident):
        return None
    before = table.properties.get(_BEFORE) if is_frozen(table) else None
    return TableChange(
        expected_uuid=table.uuid,
        expected_head=None,
        set_properties={
            SIGN: FROZEN,
            _BY: incident,
            _BEFORE: before or table.properties.get(_GC, _UNSET),
            _GC: "false",
        },
    )


def thaw_change(table: TableState, incident: IncidentId) -> TableChange | None:
    """None where it is not frozen, or another incident has frozen it since. A table that was frozen by hand, without a
    note, loses the sign only."""
    if not is_frozen(table) or frozen_by(table) not in (None, incident):
        return None
    before = table.properties.get(_BEFORE)
    return TableChange(
        expected_uuid=table.uuid,
        expected_head=None,
        set_properties={_GC: before} if before not in (None, _UNSET) else {},
        remove_properties=(SIGN, _BY, _BEFORE, *([_GC] if before == _UNSET else [])),
    )


def as_before(table: TableState) -> str:
    before = table.properties.get(_BEFORE)
    if before is None:
        return f"{_GC} stays as it is, because it was frozen by hand"
    return f"{_GC} is not set again" if before == _UNSET else f"{_GC} is {before} again"


@stamina.retry(on=(CommitRefused, CouldNotLook), attempts=8, timeout=20, wait_initial=0.05, wait_jitter=0.1)
def commit_marks(
    catalog: TableCatalog, name: TableName, change: Callable[[TableState], TableChange | None]
) -> TableState | None:
    """The table after the commit of what `change` answers for the table as it is; None where it answers None.

    Only for changes that do not care where `main` is. Tried up to eight times within 20 s, with longer and longer waits
    in between. Raises CommitRefused, CouldNotLook (each time anew), OutcomeUnknown.
    """
    wanted = change(catalog.load(name))
    return None if wanted is None else catalog.commit(name, wanted)
