"""A `TableChange` as the requirements and updates of one atomic catalog commit; pure.

Built as data on purpose: PyIceberg's `ManageSnapshots` keeps only one requirement of each type, so tagging
the old head and then rolling back would drop the guard on `main`.
"""

from uuid import UUID

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef, SnapshotRefType
from pyiceberg.table.update import (
    AssertRefSnapshotId,
    AssertTableUUID,
    RemovePropertiesUpdate,
    RemoveSnapshotRefUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)

from bot.domain.errors import CommitRefused
from bot.domain.ids import TableName
from bot.ports import TableChange

_WITHOUT_END_MS = 2**63 - 1
Commit = tuple[tuple[TableRequirement, ...], tuple[TableUpdate, ...]]


def commit_of(name: TableName, change: TableChange, metadata: TableMetadata) -> Commit:
    """Requirements and updates of `change` on top of `metadata`.

    Raises CommitRefused where the metadata already shows that the change cannot hold: an unknown snapshot,
    a new tag that is taken, or a move of main that names no head to compare with.
    """
    if change.move_main_to is not None and change.expected_head is None:
        raise CommitRefused(
            f"Table {name} was not changed: the move of main does not name the expected head.",
            f"Expected the approved head with the target {change.move_main_to}; found none.",
            "Report this as a defect of Waterline. It never moves main without comparing the head.",
        )
    _refuse_unknown_snapshots(name, change, metadata)
    requirements: list[TableRequirement] = [AssertTableUUID(uuid=UUID(change.expected_uuid))]
    if change.expected_head is not None:  # sent as None it would mean "there must be no main"
        requirements.append(AssertRefSnapshotId(ref=MAIN_BRANCH, snapshot_id=change.expected_head))
    updates: list[TableUpdate] = []
    for tag, target in change.new_tags.items():
        present = metadata.refs.get(tag)
        if present is not None and present.snapshot_id != target:
            raise CommitRefused(
                f"Table {name} was not changed: the name {tag} is taken.",
                f"Expected no {tag}, or a tag on snapshot {target}; found a "
                f"{present.snapshot_ref_type.value} on snapshot {present.snapshot_id}.",
                "Find out who set it, then propose again. This change never moves it.",
            )
        # With the tag in place the requirement holds it there; without, nobody may set it in between.
        expected = None if present is None else target
        requirements.append(AssertRefSnapshotId(ref=tag, snapshot_id=expected))
        if present is None or _takes_an_age(present):
            updates.append(_set_ref(tag, target, metadata))
    updates += [_set_ref(tag, target, metadata) for tag, target in change.set_tags.items()]
    if change.move_main_to is not None:
        updates.append(_set_ref(MAIN_BRANCH, change.move_main_to, metadata))
    compared = {**change.expected_refs, **dict.fromkeys(change.new_branches)}
    requirements += [AssertRefSnapshotId(ref=ref, snapshot_id=target) for ref, target in compared.items()]
    updates += [_set_ref(name, at, metadata, SnapshotRefType.BRANCH) for name, at in change.new_branches.items()]
    updates += [RemoveSnapshotRefUpdate(ref_name=ref) for ref in change.remove_refs if ref in metadata.refs]
    if change.set_properties:
        updates.append(SetPropertiesUpdate(updates=dict(change.set_properties)))
    present_keys = [key for key in change.remove_properties if key in metadata.properties]
    if present_keys:
        updates.append(RemovePropertiesUpdate(removals=present_keys))
    return tuple(requirements), tuple(updates)


def _refuse_unknown_snapshots(name: TableName, change: TableChange, metadata: TableMetadata) -> None:
    targets = {*change.new_tags.values(), *change.set_tags.values(), *change.new_branches.values()}
    if change.move_main_to is not None:
        targets.add(change.move_main_to)
    gone = sorted(target for target in targets if metadata.snapshot_by_id(target) is None)
    if gone:
        raise CommitRefused(
            f"Table {name} was not changed: a snapshot of the change no longer exists.",
            f"Expected the metadata to list {', '.join(map(str, gone))}; it does not. They may have expired.",
            "Collect evidence again and propose again. An expired snapshot cannot be used.",
        )


def _takes_an_age(present: SnapshotRef) -> bool:
    """Whether it is a tag that the table's own setting lets expire."""
    return present.snapshot_ref_type is SnapshotRefType.TAG and present.max_ref_age_ms is None


def _set_ref(
    name: str, snapshot_id: int, metadata: TableMetadata, new: SnapshotRefType = SnapshotRefType.TAG
) -> SetSnapshotRefUpdate:
    """Points `name` to the snapshot and keeps the retention that the ref has; a ref that is not there is made `new`.

    One without an age of its own is given one without end: else the table's `history.expire.max-ref-age-ms` holds for
    it, and Spark's expiry takes the tag away (seen with Iceberg 1.12). `main` never goes, and takes no age.
    """
    present = metadata.refs.get(name)
    own = present.max_ref_age_ms if present else None
    kind = present.snapshot_ref_type if present else new
    return SetSnapshotRefUpdate(
        ref_name=name,
        type=SnapshotRefType.BRANCH if name == MAIN_BRANCH else kind,
        snapshot_id=snapshot_id,
        max_ref_age_ms=own if own is not None or name == MAIN_BRANCH else _WITHOUT_END_MS,
        max_snapshot_age_ms=present.max_snapshot_age_ms if present else None,
        min_snapshots_to_keep=present.min_snapshots_to_keep if present else None,
    )
