"""What revenue_daily would be told of a story now, while the table is as it was when the incident opened."""

from bot.domain.contract import TableContract
from bot.domain.looked import Seen
from bot.domain.reads import Consumer, FarRead, ReadRun
from bot.notices import NoticeFacts, facts_for
from tests import orders_table as orders
from tests.incidents import Story

WORDS = "Tonight, because rows of this morning are missing."


def told(story: Story, kind: str, contract: TableContract | None = None) -> NoticeFacts:
    """The facts of this kind of notice; nobody was seen reading. `contract`: another one than the table's."""
    reads: Seen[ReadRun] = Seen(source="lineage events", values=())
    far: Seen[FarRead] = Seen(source="lineage events", values=())
    return facts_for(
        story.incident, Consumer(name="revenue_daily", channel="C0REVENUE1"), orders.table_state(), reads, far,
        kind=kind, contract=contract or orders.contract(), now=orders.NINE, next_update_minutes=30, words=WORDS,
    )  # fmt: skip
