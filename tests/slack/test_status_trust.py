"""What `/waterline status` says of a table: its state, since when, and the snapshot to trust, or why there is none."""

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.incident.trust import Basis, Trust, TrustState
from bot.incident.trust_claims import judge
from bot.observation.ids import IncidentId, SnapshotId
from bot.slack.commands import trust_line
from tests import orders_table as orders
from tests.incidents import Story
from tests.slack.orders import Orders
from tests.slack.people import Responder

NOW = datetime(2026, 11, 3, 10, 0, tzinfo=UTC)


def trust(
    state: TrustState, snapshot: SnapshotId | None, basis: Basis, why: str, doubts: tuple[str, ...] = ()
) -> Trust:
    """Since nine; the snapshot is of the day before."""
    return Trust(
        table=orders.TABLE, state=state, snapshot=snapshot, basis=basis, head=orders.HEAD, above=3, why=why,
        committed_at=None if snapshot is None else datetime(2026, 11, 2, 23, 50, tzinfo=UTC), advice="", doubts=doubts,
        since=orders.NINE if basis is not Basis.NEVER_QUESTIONED else None, incident=IncidentId("wl-1"), pins=(),
        checked_at=NOW,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (
            trust(TrustState.UNDER_REVIEW, orders.GOOD, Basis.BEFORE_THE_FAULT, "Incident wl-1 is open on it."),
            "sales.orders: under review since 09:00 UTC. Incident wl-1 is open on it. "
            f"No known problem: snapshot {orders.GOOD}, up to 2 Nov, 23:50 UTC; not verified.",
        ),
        (
            trust(TrustState.TRUSTED, orders.GOOD, Basis.VERIFIED, "The table was verified after incident wl-1."),
            "sales.orders: trusted since 09:00 UTC. The table was verified after incident wl-1. "
            f"Trusted: snapshot {orders.GOOD}, up to 2 Nov, 23:50 UTC; verified.",
        ),
        (
            trust(TrustState.UNDER_REVIEW, None, Basis.NONE, "Incident wl-1 is open on it."),
            "sales.orders: under review since 09:00 UTC. Incident wl-1 is open on it. "
            "No trusted snapshot: none is known to be good.",
        ),
        (
            trust(TrustState.UNDER_REVIEW, None, Basis.NONE, "Incident wl-1 is open on it.", ("The tag is gone.",)),
            "sales.orders: under review since 09:00 UTC. Incident wl-1 is open on it. "
            "Could not determine the trusted snapshot. The tag is gone.",
        ),
        (
            trust(TrustState.TRUSTED, orders.HEAD, Basis.NEVER_QUESTIONED, "No incident was ever opened on it."),
            "sales.orders: trusted. No incident was ever opened on it.",
        ),
    ],
)
def test_a_table_s_trust_in_a_line(seen: Trust, words: str) -> None:
    """The whole id: it is there to be copied."""
    assert trust_line(seen, NOW) == words


def test_the_table_of_an_open_incident_is_among_them(ana: Responder, orders: Orders) -> None:
    """The incident's own line does not say what every consumer may read."""
    good = orders.commit_of("a", 5)
    ana.opens()

    incident, table = ana.asks("status").splitlines()

    assert incident.startswith("wl-1 sales.orders (sev2), opened")
    assert "Trusted" not in incident
    assert table.startswith("sales.orders: under review since")
    assert f"No known problem: snapshot {good}, up to" in table


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
