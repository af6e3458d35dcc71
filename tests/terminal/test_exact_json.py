"""What programs are given in JSON names the snapshots that are meant."""

from bot.cli.options import exact
from bot.domain.ids import SnapshotId
from bot.domain.table import Window


def test_a_snapshot_id_is_text_as_it_does_not_fit_a_double() -> None:
    """jq 1.6 made 8648112722606858000 of this one."""
    window = Window(since=None, until=SnapshotId(8648112722606858536))

    told = exact(window.model_dump(mode="json"))

    assert isinstance(told, dict)
    assert told["until"] == "8648112722606858536"


def test_what_fits_stays_a_number() -> None:
    """In lists and in dictionaries, at any depth; a yes is no number."""
    assert exact({"rows": [1, (2**53 - 1, 2**53)], "is": True, "not": None}) == {
        "rows": [1, [2**53 - 1, str(2**53)]],
        "is": True,
        "not": None,
    }
