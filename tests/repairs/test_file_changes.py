"""One commit that changes references to files or deletes rows by place, on a branch."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from bot.actions import _effects as effects
from bot.actions._effects.handler import Clients, Verification
from bot.adapters.clock import SystemClock
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.journal_sql.store import open_store
from bot.incident.entries import EffectStarted
from bot.incident.execution import ProposalState
from bot.incident.proposal import Proposal
from bot.observation.errors import CommitRefused, CouldNotLook, OutcomeUnknown
from bot.observation.file_changes import FileList, FileSources, FileSurvey, RowsOfFile
from bot.observation.ids import SnapshotId
from bot.ports import FileChange, RowChange, TableChange
from bot.service.incident_store import IncidentStore
from tests.repairs.conftest import Reads
from tests.repairs.rehearsed import PROPOSALS, Repaired
from tests.rewound import ANA
from tests.tables import ORDERS, OrdersTable, lake_in
from tests.upserts import upserts

BRANCH = "recovery-wl-1"


class Rehearsal:
    """A branch at the head of main, and changes of files on it."""

    def __init__(self, catalog: PyIcebergCatalog) -> None:
        self.catalog = catalog
        table = catalog.load(ORDERS)
        assert table.head is not None
        self.base = table.head
        change = TableChange(expected_uuid=table.uuid, expected_head=table.head, new_branches={BRANCH: table.head})
        catalog.commit(ORDERS, change)

    def survey(self, *, add: FileSources | None = None, remove: FileSources | None = None) -> FileSurvey:
        return self.catalog.survey_files(ORDERS, BRANCH, add=add, remove=remove, columns=("source_position",))

    def change(self, *, add: FileSources | None = None, remove: FileSources | None = None) -> FileChange:
        table, found = self.catalog.load(ORDERS), self.survey(add=add, remove=remove)
        head = table.ref(BRANCH)
        assert head is not None
        return FileChange(
            expected_uuid=table.uuid, ref=BRANCH, expected_head=head, add=found.add, remove=found.remove,
            summary={"waterline.effect": "01J/1"},
        )  # fmt: skip

    def does(self, *, add: FileSources | None = None, remove: FileSources | None = None) -> SnapshotId:
        return self.catalog.change_files(ORDERS, self.change(add=add, remove=remove))


def test_a_repeated_commit_goes_from_the_branch_and_main_stays(
    orders: OrdersTable, catalog: PyIcebergCatalog, reads: Reads
) -> None:
    """Its own files go and no others; what was written later stays; consumers of main see nothing of it."""
    orders.commits("a", 1, range(10))
    again = orders.commits("a", 1, range(10))
    head = orders.commits("a", 2, range(10, 20))
    rehearsal = Rehearsal(catalog)

    made = rehearsal.does(remove=FileSources(added_by=(again,)))

    table = catalog.load(ORDERS)
    assert (table.head, table.ref(BRANCH)) == (head, made)
    assert reads(head) == sorted([*range(10), *range(20)])
    assert reads(made) == list(range(20))
    summary = table.by_id[made].summary
    assert table.by_id[made].parent_id == head
    assert (summary["operation"], summary["deleted-records"], summary["total-records"]) == ("delete", "10", "20")
    assert summary["waterline.effect"] == "01J/1"


ONE = "00000-0-f-00001.parquet"


def by_two(orders: OrdersTable) -> FileSources:
    """Deleting by path would take both copies, and the rows would be gone."""
    orders.commits_files("a", 1, {ONE: range(10)})
    return FileSources(added_by=(orders.names_again("a", 1, [ONE]),))


def twice_by_one(orders: OrdersTable) -> FileSources:
    """Both references are the commit's; taking all of them would lose the rows."""
    return FileSources(added_by=(orders.commits_files("a", 1, {ONE: range(10)}, times=2),))


def twice_beside_others(orders: OrdersTable) -> FileSources:
    """As `add_files` does that ran over a list with a file twice."""
    orders.commits_files("a", 1, {"own.parquet": range(5), "two.parquet": range(5, 10)})
    orders.deletes("source_position < 10")
    return FileSources(added_again_by=(orders.names_again("a", 2, ["own.parquet", "two.parquet", "two.parquet"]),))


@pytest.mark.parametrize("named", [by_two, twice_by_one, twice_beside_others])
def test_of_a_file_that_is_named_twice_one_reference_stays(
    orders: OrdersTable, catalog: PyIcebergCatalog, reads: Reads, named: Callable[[OrdersTable], FileSources]
) -> None:
    """Whichever commits name it."""
    sources = named(orders)

    made = Rehearsal(catalog).does(remove=sources)

    assert reads(made) == list(range(10))


def test_files_of_flinks_manifest_are_appended_once(
    orders: OrdersTable, catalog: PyIcebergCatalog, reads: Reads
) -> None:
    """The entries are taken whole; once they are live there is nothing left to add."""
    orders.commits("a", 1, range(10))
    leaked = str(orders.leaves_manifest("a", 2, {"00000-0-leak-00001.parquet": range(10, 15)}))
    orders.commits("a", 3, range(15, 20))
    rehearsal = Rehearsal(catalog)
    told = rehearsal.survey(add=FileSources(manifests=(leaked,)))

    made = rehearsal.does(add=FileSources(manifests=(leaked,)))

    assert reads(made) == list(range(20))
    assert (told.add.files, told.add.rows, told.span) == (1, 5, {"source_position": ("10", "14")})
    after = rehearsal.survey(add=FileSources(manifests=(leaked,)))
    assert after.add is None
    assert after.live_already.count == 1


def test_files_under_an_older_partition_spec_keep_their_partition(
    orders: OrdersTable, catalog: PyIcebergCatalog, reads: Reads
) -> None:
    """Each spec gets a manifest of its own, whatever the table's spec is now."""
    orders.commits("a", 1, range(10))
    orders.partitions_by_day("event_time")
    lost = orders.commits("a", 2, range(90_000, 90_010))
    orders.rolls_back_to(orders.state().chain[1].snapshot_id)
    again = orders.commits("a", 3, range(10))
    rehearsal = Rehearsal(catalog)

    told = rehearsal.survey(add=FileSources(added_by=(lost,)), remove=FileSources(added_by=(again,)))
    made = rehearsal.does(add=FileSources(added_by=(lost,)), remove=FileSources(added_by=(again,)))

    assert reads(made) == [*range(10), *range(90_000, 90_010)]
    assert told.partitions == ("event_time_day=2026-11-03", "event_time_day=2026-11-04")
    assert catalog.load(ORDERS).by_id[made].summary["operation"] == "overwrite"


def test_a_commit_on_main_after_the_branch_began_is_not_overtaken(
    orders: OrdersTable, catalog: PyIcebergCatalog
) -> None:
    """The sequence number that was prepared belongs to somebody else's commit then: refused, and nothing is left."""
    orders.commits("a", 1, range(10))
    again = orders.commits("a", 1, range(10))
    rehearsal = Rehearsal(catalog)
    change = rehearsal.change(remove=FileSources(added_by=(again,)))
    before = _metadata_files(orders)

    class Raced(PyIcebergCatalog):
        """Somebody commits between the look and the commit."""

        def _catalog(self, purpose: str) -> object:  # type: ignore[override]
            made = super()._catalog(purpose)  # type: ignore[arg-type]
            if purpose == "commit":
                self.asked = getattr(self, "asked", 0) + 1
                if self.asked == 2:
                    orders.commits("a", 2, range(10, 20))
            return made

    raced = Raced("lake", catalog._properties, catalog._clock)
    with pytest.raises(CommitRefused, match="The catalog refused"):
        raced.change_files(ORDERS, change)
    raced.close()

    table = catalog.load(ORDERS)
    assert table.ref(BRANCH) == rehearsal.base
    assert table.chain[0].checkpoint_id == 2
    assert {name for name in _metadata_files(orders) - before if "-m" in name or "snap-" in name} == {
        Path(table.chain[0].manifest_list).name,
        *(path.name for path in orders.manifests_of(table.chain[0].snapshot_id)),
    }


def test_a_branch_that_was_moved_is_not_written(orders: OrdersTable, catalog: PyIcebergCatalog) -> None:
    """The change was prepared for one state of the branch."""
    orders.commits("a", 1, range(10))
    again = orders.commits("a", 1, range(10))
    rehearsal = Rehearsal(catalog)
    change = rehearsal.change(remove=FileSources(added_by=(again,)))
    rehearsal.catalog.change_files(ORDERS, change)

    with pytest.raises(CommitRefused, match="has moved"):
        rehearsal.catalog.change_files(ORDERS, change)


def test_other_files_than_the_approved_ones_are_refused(orders: OrdersTable, catalog: PyIcebergCatalog) -> None:
    """The digest of the exact list was approved, not a word that leads to some list."""
    orders.commits("a", 1, range(10))
    leaked = orders.leaves_manifest("a", 2, {"00000-0-leak-00001.parquet": range(10, 15)})
    rehearsal = Rehearsal(catalog)
    change = rehearsal.change(add=FileSources(manifests=(str(leaked),)))
    orders.leaves_manifest("a", 2, {"00000-0-other-00001.parquet": range(10, 15)})

    with pytest.raises(CommitRefused, match="not the approved ones"):
        rehearsal.catalog.change_files(ORDERS, change)

    assert catalog.load(ORDERS).ref(BRANCH) == rehearsal.base


def test_what_would_go_wrong_is_told_beforehand(orders: OrdersTable, catalog: PyIcebergCatalog) -> None:
    """Files that are gone, files that are live, deletes by key: counted, with the first of them named."""
    orders.commits_files("a", 1, {"00000-0-live-00001.parquet": range(10)})
    files = {"00000-0-live-00001.parquet": range(10), "00000-0-gone-00001.parquet": range(10, 12)}
    leaked = str(orders.leaves_manifest("a", 2, files))
    (orders.data_folder / "00000-0-gone-00001.parquet").unlink()
    upserts(orders, "a", 3, range(20, 22), keys=range(20, 22))
    rehearsal = Rehearsal(catalog)

    told = rehearsal.survey(add=FileSources(manifests=(leaked,)))

    assert told.live_already.first[0].endswith("00000-0-live-00001.parquet")
    assert told.gone.first[0].endswith("00000-0-gone-00001.parquet")
    assert told.has_equality_deletes


def test_a_change_of_nothing_is_no_commit(orders: OrdersTable, catalog: PyIcebergCatalog) -> None:
    """An empty snapshot would look like a repair."""
    orders.commits("a", 1, range(10))
    rehearsal = Rehearsal(catalog)

    with pytest.raises(CommitRefused, match="nothing to add and nothing to remove"):
        rehearsal.does()

    assert catalog.load(ORDERS).ref(BRANCH) == rehearsal.base


def test_format_1_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    """PyIceberg reads its manifest lists so that it could not write them again."""
    orders = OrdersTable(tmp_path, {"format-version": "1"})
    with closing(orders), closing(PyIcebergCatalog("lake", lake_in(tmp_path), SystemClock())) as catalog:
        orders.commits("a", 1, range(10))
        rehearsal = Rehearsal(catalog)
        all_of_it = FileList(sources=FileSources(added_by=(rehearsal.base,)), files=1, rows=10, bytes=1, digest="")
        change = rehearsal.change().model_copy(update={"remove": all_of_it})
        before = _metadata_files(orders)

        with pytest.raises(CommitRefused, match="format 1"):
            rehearsal.catalog.change_files(ORDERS, change)

        assert _metadata_files(orders) == before


def _metadata_files(orders: OrdersTable) -> set[str]:
    return {path.name for path in (orders.data_folder.parent / "metadata").iterdir()}


def test_what_a_commit_brought_beside_repeated_files_stays(
    orders: OrdersTable, catalog: PyIcebergCatalog, reads: Reads
) -> None:
    """Of what it added only the references to files go that another commit named."""
    orders.commits_files("a", 1, {"one.parquet": range(10)})
    again = orders.commits_files("a", 2, {"one.parquet": range(10), "own.parquet": range(10, 20)})
    rehearsal = Rehearsal(catalog)
    sources = FileSources(added_again_by=(again,))

    found = rehearsal.survey(remove=sources)
    made = rehearsal.does(remove=sources)

    assert (found.remove.files, found.remove.rows, found.not_live.count) == (1, 10, 0)
    assert reads(made) == list(range(20))
    assert rehearsal.survey(remove=sources).remove is None


def test_a_file_that_is_live_once_goes_where_the_first_commit_is_named(
    orders: OrdersTable, catalog: PyIcebergCatalog, reads: Reads
) -> None:
    """Its rows are elsewhere in the table by then, which whoever asks must know; once it is gone, that is told."""
    first = orders.commits_files("a", 1, {"one.parquet": range(10)})
    orders.deletes("source_position < 10")
    again = orders.commits_files("a", 2, {"one.parquet": range(10), "own.parquet": range(10, 20)})
    rehearsal = Rehearsal(catalog)
    alone = FileSources(added_again_by=(again,))
    sources = alone.model_copy(update={"added_first_by": (first,)})

    found = rehearsal.survey(remove=alone)
    made = rehearsal.does(remove=sources)

    assert found.remove is None
    assert reads(made) == list(range(10, 20))
    assert rehearsal.survey(remove=sources).not_live.count == 1


def test_what_another_branch_or_tag_names_is_told_and_what_main_lost_is_not(
    orders: OrdersTable, catalog: PyIcebergCatalog
) -> None:
    """Files of a Flink manifest may be those of a job that writes a branch; a rollback is another story."""
    good = orders.commits("a", 1, range(10))
    orders.branches_off("audit", good)
    files = {f"00000-0-{name}-00001.parquet": range(10, 12) for name in ("audited", "lost", "nowhere")}
    leaked = str(orders.leaves_manifest("a", 2, files))
    orders.names_again("b", 3, ["00000-0-audited-00001.parquet"], branch="audit")
    orders.tags("left", orders.names_again("a", 2, ["00000-0-lost-00001.parquet"]))
    orders.rolls_back_to(good)

    told = Rehearsal(catalog).survey(add=FileSources(manifests=(leaked,)))

    assert {ref: (each.count, each.first[0].rsplit("/")[-1]) for ref, each in told.beside.items()} == {
        "audit": (1, "00000-0-audited-00001.parquet")
    }


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

    def looks_too_early(clients: Clients, proposal: Proposal, intent: EffectStarted) -> Verification:
        if intent.index == 2 and next(blind, False):
            return Verification(happened="no", sentence="Branch has no such commit.")
        return looks(clients, proposal, intent)

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
