"""What a survey says of files that stand on other branches and tags."""

from bot.adapters.iceberg import PyIcebergCatalog
from bot.domain.file_changes import FileSources
from tests.repairs.test_file_changes import Rehearsal
from tests.tables import OrdersTable


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
