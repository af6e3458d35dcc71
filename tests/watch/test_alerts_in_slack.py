"""An alert in the channel: muted and told again, beside what the watch sees, and in an incident's thread."""

from datetime import timedelta

from bot.incident.watch import WatchFinding
from tests.slack.people import ONCALL, PATIENCE_S, Responder
from tests.tables import ORDERS
from tests.watch.signs import finding
from tests.watch.watching_bot import WatchingBot


def alert(name: str) -> WatchFinding:
    """As another system tells it."""
    return finding("alert", f"Alertmanager/{name}", urgent=False).model_copy(
        update={"source": "Alertmanager", "headline": f"{name} fires."}
    )


def test_a_mute_holds_for_its_time_and_no_longer(ana: Responder, bot: WatchingBot) -> None:
    """What happens meanwhile is seen all the same, and told when the mute ends."""
    bot.finding_store.see(ORDERS, alert("TableStale"), occasion="09:00")
    bot.finding_store.post_due(ORDERS)
    answer = ana.answer_to(lambda: ana.clicks("Mute table for 4 hours", ana.sees("TableStale fires.")))
    bot.is_restored_from_an_older_savepoint()
    bot.looks(3)
    muted = [m for m in ana.messages(ONCALL) if "was restored" in m.plain]
    bot.clock.advances(timedelta(hours=4))
    bot.looks()

    told = ana.sees("was restored from checkpoint 5")

    assert "is muted until" in answer
    assert muted == []
    assert "Open incident" in told.buttons


def test_a_button_mutes_the_table_and_another_ends_it(ana: Responder, bot: WatchingBot) -> None:
    """Nothing is posted meanwhile, and all that lasts afterwards; also where what was muted is over by then."""
    bot.finding_store.see(ORDERS, alert("TableStale"), occasion="09:00")
    bot.finding_store.post_due(ORDERS)
    told = ana.sees("TableStale fires.")
    muted = ana.answer_to(lambda: ana.clicks("Mute table for 4 hours", told))
    bot.finding_store.see(ORDERS, alert("DiskFull"), occasion="09:10")
    bot.finding_store.post_due(ORDERS)
    while_muted = [m for m in ana.messages(ONCALL) if "DiskFull fires." in m.plain]
    listed = ana.asks(f"status {ORDERS}")
    bot.finding_store.end(bot.finding_store.memory(ORDERS).lasting[0], "Alertmanager reports it as resolved.")

    over = ana.waits_for(lambda m: "Over since" in m.plain and "Unmute table" in m.buttons, timeout=PATIENCE_S)
    answers = [ana.answer_to(lambda: ana.clicks("Unmute table", over)) for _ in range(2)]
    bot.finding_store.post_due(ORDERS)
    ana.sees("DiskFull fires.")

    assert "Unmute table" in muted
    assert while_muted == []
    assert "muted until" in listed
    assert answers == [f"Findings about {ORDERS} are posted again.", f"{ORDERS} was not muted."]
    assert bot.finding_store.memory(ORDERS).mute_at(bot.clock.now()) is None


def test_an_alert_during_an_incident_goes_into_its_thread(ana: Responder, bot: WatchingBot) -> None:
    """The people who work on it see it there, and that it is over; nobody opens a second incident from it."""
    ana.opens()
    alert = finding("alert", "Alertmanager/1a30").model_copy(
        update={"source": "Alertmanager", "headline": "Disk is full."}
    )

    bot.finding_store.see(ORDERS, alert, occasion="09:00")
    bot.finding_store.post_due(ORDERS)
    told = ana.sees("Disk is full.")
    bot.finding_store.end(bot.finding_store.memory(ORDERS).lasting[0], "Alertmanager reports it as resolved.")

    over = ana.sees("Over since")
    card = ana.sees_on_card("under review")

    assert told.buttons == ()
    assert (told.thread_ts, over.thread_ts) == (card.ts, card.ts)
