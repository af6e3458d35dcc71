"""The card says who reads the table before anybody was told: declared and seen apart, and unknown as such."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.contract import TableContract
from bot.domain.entries import NoticeQueued, ReadersNoted
from bot.domain.notice import Notice
from bot.domain.notice_entries import ObservedReader
from bot.domain.reads import Consumer, ReadRun, Untold
from bot.domain.setup import TableSetup
from bot.slack.blocks.card import card_message
from tests import orders_table as orders
from tests.incidents import Story

pytestmark = pytest.mark.smoke


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """An open incident; nobody was told, and nobody has looked."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        yield Story(store.journal).opens()


def setup(*names: str, untold: tuple[Untold, ...] = ()) -> TableSetup:
    """These are declared."""
    return TableSetup(
        name=orders.TABLE, job=orders.JOB, contract=TableContract(), policies={}, next_update_minutes=30,
        consumers=tuple(Consumer(name=name, channel="C0REVENUE1") for name in names), untold=untold,
    )  # fmt: skip


def card(story: Story, known: TableSetup | None) -> str:
    """Everything on it."""
    return str([block.to_dict() for block in card_message(story.incident, {}, None, known)[1]])


def reads(consumer: str) -> ReadRun:
    """One run of the head."""
    return ReadRun(consumer=consumer, run_id="r1", at=orders.NINE, snapshot_id=orders.HEAD)


def test_declared_consumers_stand_on_the_card_before_the_first_notice(story: Story) -> None:
    """As many as one can take in; who has read is not looked at yet, and that is said."""
    shown = card(story, setup(*(f"report_{n}" for n in range(11))))

    assert "*Readers*" in shown
    assert "Declared, not notified yet: `report_0`, `report_1`" in shown
    assert "`report_7` and 3 more" in shown
    assert "Readers not checked yet" in shown


def test_who_was_seen_is_kept_apart_from_who_declared(story: Story) -> None:
    """As the ledger says before anybody has previewed a notice."""
    story.draws_the_ledger(orders.ledger((reads("revenue_daily"), reads("notebook"))))

    shown = card(story, setup("revenue_daily", "fraud_model"))

    assert "Declared, not notified yet: `revenue_daily`, `fraud_model`" in shown
    assert "Seen reading and declared: `revenue_daily`" in shown
    assert "Seen reading but not declared, so not notified: `notebook`" in shown


def test_a_lineage_that_could_not_be_asked_is_not_taken_for_nobody(story: Story) -> None:
    """Unknown is said as such; nobody only where lineage has answered."""
    story.draws_the_ledger(orders.ledger(readers_known=False))
    unknown = card(story, setup("revenue_daily"))
    story.draws_the_ledger(orders.ledger())
    nobody = card(story, setup("revenue_daily"))

    assert "Readers unknown: the lineage source did not answer" in unknown
    assert "Lineage shows no reader" in nobody


def test_whoever_was_not_among_those_told_stays_on_the_card(story: Story) -> None:
    """A consumer that was declared meanwhile, and a channel that cannot be told."""
    sent = Notice(kind="first_warning", revision=1, consumer="revenue_daily", channel="C0REVENUE1", text="Wait.")
    seen = ObservedReader(consumer="revenue_daily", distance=1, runs=1, is_declared=True)
    story.says(NoticeQueued(notice=sent), ReadersNoted(observed=(seen,), unknown="lineage: it was down"))

    teams = Untold(name="Orders", why="Waterline has no way to teams")
    shown = card(story, setup("revenue_daily", "fraud_model", untold=(teams,)))

    assert "*Notified*" in shown
    assert "Declared, not notified yet: `fraud_model`" in shown
    assert "1 channel of the data contract cannot be notified: `Orders` (Waterline has no way to teams)" in shown
    assert "Others may have read it unobserved. lineage: it was down" in shown


def test_a_table_without_consumers_or_without_configuration_says_so(story: Story) -> None:
    """Nobody declared is another thing than not known."""
    assert "No declared consumers" in card(story, setup())
    assert "declared consumers are unknown" in card(story, None)
