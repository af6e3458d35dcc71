"""References of a commit that brought files again beside its own: only what is there twice by them goes."""

from bot.adapters.iceberg import PyIcebergCatalog
from bot.domain.file_changes import FileSources
from tests.repairs.conftest import Reads
from tests.repairs.test_file_changes import Rehearsal
from tests.tables import OrdersTable


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

    assert found.remove is not None
    assert (found.remove.files, found.remove.rows, found.not_live.count) == (1, 10, 0)
    assert reads(made) == list(range(20))
    assert rehearsal.survey(remove=sources).remove is None


def test_of_files_that_one_commit_names_twice_beside_others_one_reference_each_stays(
    orders: OrdersTable, catalog: PyIcebergCatalog, reads: Reads
) -> None:
    """As `add_files` does that ran over a list with a file twice."""
    orders.commits_files("a", 1, {"own.parquet": range(10), "two.parquet": range(10, 20)})
    orders.deletes("source_position < 20")
    again = orders.names_again("a", 2, ["own.parquet", "two.parquet", "two.parquet"])
    rehearsal = Rehearsal(catalog)

    made = rehearsal.does(remove=FileSources(added_again_by=(again,)))

    assert reads(made) == list(range(20))


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
