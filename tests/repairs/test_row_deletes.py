"""One commit that deletes rows by file and place on a branch, and storage that takes no files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bot.actions import _effects as effects
from bot.actions._effects.kind import Hands, Looked
from bot.adapters.clock import SystemClock
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.journal_sql.store import open_store
from bot.domain.entries import EffectStarted
from bot.domain.errors import CommitRefused, CouldNotLook, OutcomeUnknown
from bot.domain.execution import ProposalState
from bot.domain.file_changes import FileSources, RowsOfFile
from bot.domain.ids import SnapshotId
from bot.domain.proposal import Proposal
from bot.ports import RowChange
from bot.service.incident_store import IncidentStore
from tests.repairs.conftest import Reads
from tests.repairs.rehearsed import PROPOSALS, Repaired
from tests.repairs.test_file_changes import BRANCH, Rehearsal
from tests.rewound import ANA
from tests.tables import ORDERS, OrdersTable
from tests.upserts import upserts


def deleting(catalog: PyIcebergCatalog, *rows: RowsOfFile) -> RowChange:
    """The change, prepared for the branch as it is."""
    table = catalog.load(ORDERS)
    head = table.ref(BRANCH)
    assert head is not None
    return RowChange(
        expected_uuid=table.uuid, ref=BRANCH, expected_head=head, rows=rows, summary={"waterline.effect": "01J/1"}
    )


def file_of(orders: OrdersTable, snapshot: SnapshotId) -> str:
    """The one data file that this commit added."""
    table = orders.catalog.load_table(ORDERS)
    entries = table.inspect.entries(snapshot_id=snapshot).to_pylist()
    (path,) = [e["data_file"]["file_path"] for e in entries if e["snapshot_id"] == snapshot]
    return str(path)


def test_rows_go_from_the_branch_by_their_places_and_main_stays(
    orders: OrdersTable, catalog: PyIcebergCatalog, reads: Reads
) -> None:
    """Spark and PyIceberg pass over exactly these rows; the commit counts them; main is not touched."""
    orders.commits("a", 1, range(10))
    again = orders.commits("a", 2, range(5, 15))
    head = orders.commits("a", 3, range(15, 20))
    Rehearsal(catalog)

    made = catalog.delete_rows(
        ORDERS, deleting(catalog, RowsOfFile(path=file_of(orders, again), spans=((0, 2), (4, 4))))
    )

    table = catalog.load(ORDERS)
    expected = sorted([*range(10), 8, *range(10, 20)])
    scanned = orders.catalog.load_table(ORDERS).scan(snapshot_id=made).to_arrow()
    assert (table.head, table.ref(BRANCH)) == (head, made)
    assert reads(head) == sorted([*range(10), *range(5, 20)])
    assert reads(made) == expected
    assert sorted(scanned["source_position"].to_pylist()) == expected
    assert table.by_id[made].counted("added-position-deletes") == 4


def test_rows_of_a_partitioned_table_go_under_the_spec_of_their_file(
    orders: OrdersTable, catalog: PyIcebergCatalog, reads: Reads
) -> None:
    """Readers look for the deletes of a file in its own partition, of its own spec."""
    old = orders.commits("a", 1, range(10))
    orders.partitions_by_day("event_time")
    new = orders.commits("a", 2, range(10))
    Rehearsal(catalog)

    made = catalog.delete_rows(
        ORDERS,
        deleting(
            catalog,
            RowsOfFile(path=file_of(orders, old), spans=((0, 1),)),
            RowsOfFile(path=file_of(orders, new), spans=((5, 9),)),
        ),
    )

    assert reads(made) == sorted([*range(2, 10), *range(5)])


def test_a_row_that_was_deleted_by_key_does_not_come_back(
    orders: OrdersTable, catalog: PyIcebergCatalog, reads: Reads
) -> None:
    """No file is written anew, so none rises above the deletes of an upsert."""
    first = orders.commits("a", 1, range(10))
    head = upserts(orders, "a", 2, range(10, 12), keys=range(2))
    Rehearsal(catalog)

    made = catalog.delete_rows(ORDERS, deleting(catalog, RowsOfFile(path=file_of(orders, first), spans=((9, 9),))))

    assert reads(head) == list(range(2, 12))
    assert reads(made) == [*range(2, 9), 10, 11]


def test_a_file_that_is_named_twice_is_left_alone(orders: OrdersTable, catalog: PyIcebergCatalog) -> None:
    """A delete by place would take both copies: refused, and no file is left of the attempt."""
    orders.commits_files("a", 1, {"a.parquet": range(10)}, times=2)
    rehearsal = Rehearsal(catalog)
    change = deleting(catalog, RowsOfFile(path=f"file://{orders.data_folder}/a.parquet", spans=((0, 9),)))
    before = sorted(orders.data_folder.iterdir())

    with pytest.raises(CommitRefused, match="references them twice"):
        catalog.delete_rows(ORDERS, change)

    assert catalog.load(ORDERS).ref(BRANCH) == rehearsal.base
    assert sorted(orders.data_folder.iterdir()) == before


@pytest.mark.parametrize(("name", "last"), [("gone.parquet", 3), ("a.parquet", 10)])
def test_a_place_that_is_not_there_is_refused(
    orders: OrdersTable, catalog: PyIcebergCatalog, name: str, last: int
) -> None:
    """A file that is not live, or that has fewer rows: the table is not what was approved."""
    orders.commits_files("a", 1, {"a.parquet": range(10)})
    Rehearsal(catalog)
    change = deleting(catalog, RowsOfFile(path=f"file://{orders.data_folder}/{name}", spans=((0, last),)))

    with pytest.raises(CommitRefused, match="have changed"):
        catalog.delete_rows(ORDERS, change)


def test_a_branch_that_has_the_deletes_already_is_not_written_again(
    orders: OrdersTable, catalog: PyIcebergCatalog
) -> None:
    """The change was prepared for one state of the branch."""
    orders.commits_files("a", 1, {"a.parquet": range(10)})
    Rehearsal(catalog)
    change = deleting(catalog, RowsOfFile(path=f"file://{orders.data_folder}/a.parquet", spans=((0, 1),)))
    made = catalog.delete_rows(ORDERS, change)

    with pytest.raises(CommitRefused, match="has moved"):
        catalog.delete_rows(ORDERS, change)

    assert catalog.load(ORDERS).ref(BRANCH) == made


def test_a_survey_tells_whether_rows_of_a_file_that_goes_are_deleted(
    orders: OrdersTable, catalog: PyIcebergCatalog
) -> None:
    """By the bounds of the delete files: whoever puts an older file back would bring these rows back, too."""
    first, second = orders.commits("a", 1, range(10)), orders.commits("a", 2, range(10, 20))
    rehearsal = Rehearsal(catalog)
    catalog.delete_rows(ORDERS, deleting(catalog, RowsOfFile(path=file_of(orders, first), spans=((3, 3),))))

    told = [rehearsal.survey(remove=FileSources(added_by=(each,))).has_position_deletes for each in (first, second)]

    assert told == [True, False]


def _slow_down(*_asked: object, **_how: object) -> None:
    raise OSError("AWS Error SLOW_DOWN: Please reduce your request rate")


@pytest.mark.parametrize(
    "name",
    ["write_listing", "manifest_writer", "_in_partition_of"],
    ids=["the manifest list", "a manifest", "the deletes"],
)
def test_each_retry_takes_its_files_back(
    orders: OrdersTable, catalog: PyIcebergCatalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A repair may be tried for an hour."""
    again = orders.commits("a", 1, range(10))
    Rehearsal(catalog)
    change = deleting(catalog, RowsOfFile(path=file_of(orders, again), spans=((0, 2),)))
    before = {each for each in tmp_path.rglob("*") if each.is_file()}
    assert before, "the table lies elsewhere"
    monkeypatch.setattr(f"bot.adapters.iceberg.repairs.{name}", _slow_down)

    for _ in range(2):
        with pytest.raises(CouldNotLook, match=r"storage did not accept the files .*SLOW_DOWN"):
            catalog.delete_rows(ORDERS, change)

    assert {each for each in tmp_path.rglob("*") if each.is_file()} == before


Deed = Callable[..., object]


@pytest.mark.parametrize(("name", "deed"), [("rehearse", "change_files"), ("deduplicate", "delete_rows")])
def test_a_commit_that_appears_after_the_look_is_not_made_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, deed: str
) -> None:
    """Twice it is not seen; then it is on the branch, and counts as what it is."""
    repaired = Repaired.made_in(tmp_path, name)
    does: Deed = getattr(repaired.catalog, deed)
    looks = effects.verify
    blind = iter([True, True])

    def loses_the_answer(*asked: object) -> None:
        monkeypatch.setattr(repaired.catalog, deed, does)
        does(*asked)
        raise OutcomeUnknown("The answer was lost.", "", "")

    def looks_too_early(hands: Hands, proposal: Proposal, intent: EffectStarted) -> Looked:
        if intent.index == 2 and next(blind, False):
            return Looked(happened="no", sentence="Branch has no such commit.")
        return looks(hands, proposal, intent)

    monkeypatch.setattr(repaired.catalog, deed, loses_the_answer)
    monkeypatch.setattr(effects, "verify", looks_too_early)
    record = open_store(f"sqlite:///{tmp_path}/journal.db")
    store = IncidentStore(record.journal, SystemClock())
    executions, incident = repaired.executions(store), store.all()[0].id
    executions.begin(incident, PROPOSALS[name], by=ANA)
    for _ in range(3):
        executions.carry_on(incident, PROPOSALS[name])
    view = store.get(incident).proposals[PROPOSALS[name]]
    record.close()

    assert repaired.found() == repaired.expected
    repaired.close()
    assert view.state is ProposalState.APPLIED, view.result
    assert "it happened before the refusal" in view.done[2].detail
