"""`/waterline status` while the catalog does not answer: what could not be looked at is not said to be missing."""

from contextlib import closing
from pathlib import Path

from bot.adapters.journal_sql import open_store
from bot.domain.trust_claims import judge
from bot.slack.commands import trust_line
from tests import orders_table as orders
from tests.incidents import Story

UNSEEN = orders.not_seen("the catalog")


def test_of_a_table_that_nobody_questioned_no_snapshot_is_named() -> None:
    """It may be as good as it ever was."""
    line = trust_line(judge(orders.TABLE, UNSEEN, (), at=orders.NINE), orders.NINE)

    assert "Could not determine the trusted snapshot." in line
    assert "none is known to be good" not in line


def test_the_trusted_snapshot_of_an_incident_is_not_said_to_be_gone(tmp_path: Path) -> None:
    """The record knows which it is; only the catalog knows whether it is still listed."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        incidents = (Story(store.journal).opens().incident,)
    unseen, seen, gone = (
        trust_line(judge(orders.TABLE, table, incidents, at=orders.NINE), orders.NINE)
        for table in (UNSEEN, orders.table_state(), orders.table_state().model_copy(update={"snapshots": ()}))
    )

    assert f"No known problem: snapshot {orders.GOOD} (unknown whether it still exists); not verified" in unseen
    assert f"No known problem: snapshot {orders.GOOD}, up to" in seen
    assert f"No known problem: snapshot {orders.GOOD}, no longer listed; not verified" in gone
