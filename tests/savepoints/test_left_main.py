"""A savepoint whose snapshot main has left pairs with nothing: it is not called authoritative."""

from bot.domain.ids import SnapshotId
from bot.domain.savepoints import has_left_main
from bot.domain.table import TableState
from bot.slack.blocks.savepoints import catalogue_text
from tests.little_flink import open_catalog
from tests.savepoints.world import World
from tests.tables import ORDERS


def main_goes_back(world: World) -> None:
    """Somebody rewinds the table to below the savepoint's snapshot."""
    catalog = open_catalog(world.scene.folder)
    catalog.load_table(ORDERS).manage_snapshots().rollback_to_snapshot(world.good).commit()
    catalog.close()


def test_after_a_rewind_below_it_the_list_says_that_it_pairs_no_more(world: World) -> None:
    """Who restored it would repeat nothing and lose what lies between."""
    world.plans()
    world.takes_it()
    before = catalogue_text(ORDERS, world.savepoints.catalogue(ORDERS))
    main_goes_back(world)

    found = world.savepoints.catalogue(ORDERS)
    told = catalogue_text(ORDERS, found)

    assert "Authoritative until" in before
    assert (found.counts, found.left) == (None, frozenset({found.kept[0].proposal}))
    assert told.startswith("None is authoritative: main was rolled back")
    assert "Checkpoint 5 paired, until a rollback removed it from main, with snapshot" in told


def test_another_restore_then_names_no_other(world: World) -> None:
    """There is nothing that it is instead of."""
    world.plans()
    world.takes_it()
    main_goes_back(world)
    proposal = world.proposes_the_rewind()

    assert world.beside(proposal) == proposal


def test_while_the_table_cannot_be_looked_at_it_counts_and_the_list_says_so(world: World) -> None:
    """Not to know is no reason to let another restore pass without a word."""
    world.plans()
    world.takes_it()
    catalog = open_catalog(world.scene.folder)
    catalog.drop_table(ORDERS)
    catalog.close()

    found = world.savepoints.catalogue(ORDERS)

    assert (found.counts, found.left) == (found.kept[0], None)
    assert "Could not read the table" in catalogue_text(ORDERS, found)


def test_where_expiry_has_cut_the_line_nobody_says_that_main_left_it(world: World) -> None:
    """The tag keeps its snapshot; those between it and the head are gone, with the parent's id where PyIceberg took
    them."""
    world.plans()
    world.takes_it()
    [kept] = world.savepoints.catalogue(ORDERS).kept
    table = world.scene.table
    mine = table.by_id[SnapshotId(int(kept.snapshot))]
    head = mine.model_copy(
        update={"snapshot_id": SnapshotId(77), "parent_id": SnapshotId(76), "sequence_number": mine.sequence_number + 9}
    )
    cut = _with(table, (mine, head), SnapshotId(77))
    bare = head.model_copy(update={"parent_id": None})
    by_pyiceberg = _with(table, (mine, bare), SnapshotId(77))
    told = {**head.summary, "total-records": head.summary["added-records"]}
    aside = _with(table, (mine, bare.model_copy(update={"summary": told})), SnapshotId(77))

    assert not has_left_main(kept, cut)
    assert not has_left_main(kept, by_pyiceberg)
    assert has_left_main(kept, aside)


def _with(table: TableState, snapshots: tuple[object, ...], head: SnapshotId) -> TableState:
    fields = {name: getattr(table, name) for name in TableState.model_fields}
    return TableState.model_construct(**{**fields, "snapshots": snapshots, "head": head})
