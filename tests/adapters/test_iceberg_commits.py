"""A commit is one compare-and-swap: all of it or nothing, and never over a commit that was not foreseen."""

import pytest
from pyiceberg.table.refs import MAIN_BRANCH

from bot.adapters.iceberg import PyIcebergCatalog
from bot.domain.errors import CommitRefused
from bot.domain.ids import SnapshotId
from bot.ports import TableChange
from tests.adapters.lake import ORDERS, Lake
from tests.adapters.rewinds import rewind


def test_a_rewind_moves_tags_and_marks_in_one_commit(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Head, tags and property change together: one new metadata file, whose state is handed back."""
    before = catalog.load(ORDERS)
    good, _, bad = lake.heads

    after = catalog.commit(ORDERS, rewind(before, good))

    assert after.head == good
    assert {ref.name: ref.snapshot_id for ref in after.refs} == {"main": good, "incident-1": bad, "waterline": good}
    assert after.properties["waterline.status"] == "under-review"
    assert after == catalog.load(ORDERS)
    assert [entry.metadata_file for entry in lake.table.metadata.metadata_log][-1] == before.metadata_location
    assert [s.snapshot_id for s in after.rolled_back] == lake.heads[1:]


def test_a_table_of_format_3_is_changed_alike(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """PyIceberg 0.12 itself writes no such metadata into a SQL catalog."""
    lake.becomes_format_3()
    table = catalog.load(ORDERS)

    after = catalog.commit(ORDERS, rewind(table, lake.heads[0]))

    assert (3, lake.heads[0]) == (after.format_version, after.head)
    assert catalog.load(ORDERS) == after.model_copy(update={"read_at": catalog.load(ORDERS).read_at})


def test_a_table_of_format_3_that_somebody_committed_to_is_not_changed(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """The comparison is the same in every format."""
    lake.becomes_format_3()
    table = catalog.load(ORDERS)
    catalog.commit(ORDERS, rewind(table, lake.heads[0]))

    with pytest.raises(CommitRefused, match=f"expected id {table.head}, found {lake.heads[0]}"):
        catalog.commit(ORDERS, rewind(table, lake.heads[1]))

    assert catalog.load(ORDERS).head == lake.heads[0]


def test_a_commit_after_approval_refuses_the_rewind(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """A head that is not the approved one refuses the change whole: no tag, no property, no move."""
    approved = catalog.load(ORDERS)
    unforeseen = lake.append(99)

    with pytest.raises(CommitRefused, match=f"expected id {approved.head}, found {unforeseen}"):
        catalog.commit(ORDERS, rewind(approved, lake.heads[0]))

    now = catalog.load(ORDERS)
    assert now.head == unforeseen
    assert [ref.name for ref in now.refs] == ["main"]
    assert "waterline.status" not in now.properties


def test_a_table_that_was_made_anew_is_refused(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """The same name with another uuid is another table."""
    other = catalog.load(ORDERS).model_copy(update={"uuid": "00000000-0000-4000-8000-000000000000"})

    with pytest.raises(CommitRefused, match="Table UUID does not match"):
        catalog.commit(ORDERS, rewind(other, lake.heads[0]))


def test_the_same_change_twice_changes_nothing_more(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Tags and properties that are there already are kept; what is to be removed may be gone already."""
    table = catalog.load(ORDERS)
    change = TableChange(
        expected_uuid=table.uuid,
        expected_head=table.head,
        new_tags={"incident-1": lake.heads[-1]},
        set_tags={"waterline": lake.heads[0]},
        set_properties={"a": "1"},
        remove_properties=("b",),
        remove_refs=("never-was",),
    )
    once = catalog.commit(ORDERS, change)

    twice = catalog.commit(ORDERS, change)

    assert twice.ref("incident-1") == lake.heads[-1]
    assert twice.model_copy(update={"metadata_location": once.metadata_location}) == once


def test_no_setting_of_the_table_lets_expiry_take_what_is_kept(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Each new tag or branch has an age of its own, without end; one that has an age keeps it, and main has none."""
    lake.table.manage_snapshots().create_tag(lake.heads[0], "monthly", max_ref_age_ms=1000).commit()
    table = catalog.load(ORDERS)
    change = TableChange(
        expected_uuid=table.uuid,
        expected_head=table.head,
        move_main_to=lake.heads[0],
        set_tags={"waterline": lake.heads[0], "monthly": lake.heads[1]},
        new_branches={"recovery-wl-1": lake.heads[0]},
    )

    catalog.commit(ORDERS, change)

    ages = {name: ref.max_ref_age_ms for name, ref in lake.table.refresh().metadata.refs.items()}
    assert {"main": None, "monthly": 1000, "waterline": 2**63 - 1, "recovery-wl-1": 2**63 - 1} == ages


def test_a_tag_that_stands_already_is_given_an_age_and_keeps_its_own(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """A tag without one, on the very snapshot that is named, would go with the next expiry of Spark."""
    lake.table.manage_snapshots().create_tag(lake.heads[0], "by-hand").commit()
    lake.table.manage_snapshots().create_tag(lake.heads[0], "monthly", max_ref_age_ms=1000).commit()
    tags = dict.fromkeys(("by-hand", "monthly"), lake.heads[0])

    catalog.commit(ORDERS, TableChange(expected_uuid=catalog.load(ORDERS).uuid, expected_head=None, new_tags=tags))

    refs = lake.table.refresh().metadata.refs
    assert {name: refs[name].max_ref_age_ms for name in tags} == {"by-hand": 2**63 - 1, "monthly": 1000}
    assert {refs[name].snapshot_id for name in tags} == {lake.heads[0]}


def test_a_new_tag_that_is_taken_is_refused(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """A tag of an earlier incident is never moved by chance."""
    lake.table.manage_snapshots().create_tag(lake.heads[0], "incident-1").commit()

    with pytest.raises(CommitRefused, match="the name incident-1 is taken"):
        catalog.commit(ORDERS, rewind(catalog.load(ORDERS), lake.heads[1]))

    assert catalog.load(ORDERS).ref("incident-1") == lake.heads[0]


def test_tags_may_be_set_whatever_the_head_is(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """A change of tags and properties alone may leave the head open, while the writer goes on."""
    table = catalog.load(ORDERS)
    lake.append(99)
    change = TableChange(expected_uuid=table.uuid, expected_head=None, set_tags={"waterline": lake.heads[0]})

    after = catalog.commit(ORDERS, change)

    assert after.ref("waterline") == lake.heads[0]
    assert after.head == lake.heads[-1]


def test_main_is_never_moved_without_a_comparison(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """`expected_head` None and a move together are a defect, refused before the catalog hears of it."""
    change = TableChange(expected_uuid=catalog.load(ORDERS).uuid, expected_head=None, move_main_to=lake.heads[0])

    with pytest.raises(CommitRefused, match="does not name the expected head"):
        catalog.commit(ORDERS, change)

    assert catalog.load(ORDERS).head == lake.heads[-1]


def test_a_snapshot_that_is_gone_is_refused(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """A target that expired meanwhile is named."""
    gone = SnapshotId(4711)

    with pytest.raises(CommitRefused, match="4711"):
        catalog.commit(ORDERS, rewind(catalog.load(ORDERS), gone))


def test_moving_main_keeps_its_retention(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """How long snapshots of main are kept is the owner's decision; a rewind must not forget it."""
    lake.table.manage_snapshots().set_current_snapshot(snapshot_id=lake.heads[-1]).commit()
    lake.table.manage_snapshots().create_branch(
        lake.heads[-1], MAIN_BRANCH, max_snapshot_age_ms=86_400_000, min_snapshots_to_keep=7
    ).commit()

    catalog.commit(ORDERS, rewind(catalog.load(ORDERS), lake.heads[0]))

    main = lake.table.metadata.refs[MAIN_BRANCH]
    assert (main.max_snapshot_age_ms, main.min_snapshots_to_keep) == (86_400_000, 7)


def test_properties_and_tags_are_removed(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Lifting the review takes its marks away."""
    marked = catalog.commit(ORDERS, rewind(catalog.load(ORDERS), lake.heads[0]))
    change = TableChange(
        expected_uuid=marked.uuid,
        expected_head=marked.head,
        remove_refs=("incident-1",),
        remove_properties=("waterline.status",),
    )

    after = catalog.commit(ORDERS, change)

    assert [ref.name for ref in after.refs] == ["main", "waterline"]
    assert "waterline.status" not in after.properties
