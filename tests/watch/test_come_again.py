"""Damage that is done once more after its incident was closed is told once more; what an incident left is not."""

from datetime import timedelta

from bot.domain.entries import IncidentClosed, IncidentOpened, WaterlineMoved
from bot.domain.open_findings import open_findings
from bot.domain.table import Window
from bot.domain.watch import Sighted
from tests.decisions import ANA, CHANNEL, RUNBOOK
from tests.slack.people import Responder
from tests.tables import ORDERS
from tests.watch.watching_bot import WatchingBot


def sighted(bot: WatchingBot) -> tuple[Sighted, ...]:
    """All that was ever seen."""
    return tuple(bot.sightings.memory(ORDERS).sighted.values())


def looks_into_it(bot: WatchingBot) -> None:
    """An incident on the table as it is, which trusts what it finds and is closed."""
    state = bot.services.observer.table(ORDERS)
    opened = IncidentOpened(
        table=ORDERS, job="orders-to-iceberg", runbook=RUNBOOK, severity="sev2", channel=CHANNEL,
        window=Window(since=None, until=state.head), trusted=state.head, metadata_location=state.metadata_location,
        summary="A rollback",
    )  # fmt: skip
    incident = bot.services.store.open(opened, by=ANA).id
    for each in (WaterlineMoved(snapshot=state.head, status="trusted"), IncidentClosed(reason="The loss is accepted.")):
        bot.services.store.write(incident, by=ANA, decide=lambda _now, entry=each: [entry])
    bot.looks(2)


def test_the_same_run_rolled_back_once_more_is_told_once_more(ana: Responder, bot: WatchingBot) -> None:
    """Same fault, same run: only the commits that were lost tell the second rollback from the first."""
    bot.looks()
    bot.rolls_back(commits=2)
    bot.commits(count=2)
    bot.looks(3)
    first = sighted(bot)
    looks_into_it(bot)
    bot.clock.advances(timedelta(hours=5))
    bot.commits(count=10)
    bot.looks(4)
    left_alone = sighted(bot)

    bot.rolls_back(commits=3)
    bot.commits(count=2)
    bot.looks(6)

    assert left_alone == first
    assert [each.sign.code for each in sighted(bot)] == ["F6", "F6"]
    second = sighted(bot)[-1]
    assert second.follows is None
    assert any("rolled back once more" in reason and "lost 3 commits" in reason for reason in second.sign.reasons)
    assert open_findings(bot.sightings.memory(ORDERS), bot.services.store.all()) == (second,)
    assert not set(first[0].sign.rows) & set(second.sign.rows)
    bot.looks(4)
    assert sighted(bot)[-1] == second
