"""An incident that this version cannot read holds up no other."""

import pytest
from sqlalchemy import text

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql import Store
from bot.domain.errors import CouldNotLook
from bot.domain.ids import TableName
from bot.service.incident_store import IncidentStore
from tests.incidents import Story


def test_every_other_one_goes_on(store: Store) -> None:
    """A newer version writes a kind of entry that this one does not know; who must not pass over it is told."""
    newer = Story(store.journal).opens()
    well = Story(store.journal).opens(table=TableName("sales.refunds"))
    with store.engine.begin() as connection:
        connection.execute(
            text("UPDATE journal SET body = :body WHERE incident_id = :incident"),
            {"body": '{"kind": "of-tomorrow"}', "incident": newer.id},
        )
    incidents = IncidentStore(store.journal, SystemClock())

    assert [each.id for each in incidents.all()] == [well.id]
    assert incidents.open_on(TableName("sales.refunds")) is not None
    with pytest.raises(CouldNotLook):
        incidents.every()
    with pytest.raises(CouldNotLook):
        incidents.get(newer.id)
