"""An alert in the channel: muted and told again, beside what the watch sees, and in an incident's thread."""

from datetime import timedelta

from bot.domain.watch import Sign
from tests.slack.people import ONCALL, Responder
from tests.tables import ORDERS
from tests.watch.signs import sign
from tests.watch.watching_bot import WatchingBot


def test_a_mute_holds_for_its_time_and_no_longer(ana: Responder, bot: WatchingBot) -> None:
    """What happens meanwhile is seen all the same, and told when the mute ends."""
    answer = ana.asks("mute sales.orders 4h")
    bot.is_restored_from_an_older_savepoint()
    bot.looks(3)
    muted = [m for m in ana.messages(ONCALL) if "was restored" in m.plain]
    bot.clock.advances(timedelta(hours=4))
    bot.looks()

    told = ana.sees("was restored from checkpoint 5")

    assert "is muted until" in answer
    assert muted == []
    assert "Open incident" in told.buttons


def alert(name: str) -> Sign:
    """As another system tells it."""
    return sign("alert", f"Alertmanager/{name}", urgent=False).model_copy(
        update={"source": "Alertmanager", "headline": f"{name} fires.", "name": name}
    )


def test_the_button_mutes_one_alert_and_no_other(ana: Responder, bot: WatchingBot) -> None:
    """The next of its name is kept quiet, another one of the same table is told."""
    bot.sightings.see(ORDERS, alert("TableStale"), occasion="09:00")
    bot.sightings.settle(ORDERS)
    told = ana.sees("TableStale fires.")
    answer = ana.answer_to(lambda: ana.clicks("Mute for 4 hours", told))
    again = alert("TableStale").model_copy(update={"subject": "Alertmanager/2", "headline": "TableStale again."})
    bot.sightings.see(ORDERS, again, occasion="09:10")
    bot.sightings.see(ORDERS, alert("DiskFull"), occasion="09:10")

    bot.sightings.settle(ORDERS)

    ana.sees("DiskFull fires.")
    assert "unmute sales.orders TableStale" in answer
    assert "TableStale is muted until" in ana.asks("watch")
    assert [m for m in ana.messages(ONCALL) if "TableStale again." in m.plain and not m.is_ephemeral] == []


def test_unmuting_a_table_ends_every_mute_of_it_and_what_remains_is_named(ana: Responder, bot: WatchingBot) -> None:
    """Nobody is told "told again" of what is still silent."""
    bot.sightings.see(ORDERS, alert("TableStale"), occasion="09:00")
    for each in ("F13", "tablestale"):
        ana.asks(f"mute sales.orders 4h {each}")
    all_at_once = ana.asks("unmute sales.orders")
    left = bot.sightings.muted(ORDERS)
    ana.asks("mute sales.orders 4h")
    ana.asks("mute sales.orders 4h F13")
    one = ana.asks("unmute sales.orders f13")
    nothing = ana.asks("unmute sales.orders F2")
    unknown, unwatched = ana.asks("mute sales.orders 4h f99"), ana.asks("unmute sales.order")

    assert "F13 on sales.orders is told again.\nTableStale on sales.orders is told again." == all_at_once
    assert left == ()
    assert one.startswith("F13 on sales.orders is told again.\nStill muted: everything until ")
    assert one.endswith("unmute sales.orders ends every mute of the table.")
    assert nothing.startswith("Nothing of that was muted on sales.orders.\nStill muted: everything")
    assert "No finding is called “f99”" in unknown
    assert "TableStale" in unknown
    assert "does not watch a table sales.order" in unwatched
    assert [mute.code for mute in bot.sightings.muted(ORDERS)] == [None]


def test_what_the_watch_sees_is_put_beside_an_alert(ana: Responder, bot: WatchingBot) -> None:
    """Once, when it has looked: head and run; and what is wrong, as soon as two looks have shown it."""
    bot.looks()
    bot.sightings.see(ORDERS, alert("TableStale"), occasion="09:00")
    bot.commits()
    bot.looks()
    calm = ana.sees("What Waterline saw at")
    bot.is_restored_from_an_older_savepoint()
    bot.sightings.see(ORDERS, alert("RowsTwice"), occasion="09:10")
    bot.looks(2)
    bot.sightings.settle(ORDERS)

    alarmed = ana.waits_for(lambda m: "RowsTwice" in m.plain and "What Waterline saw" in m.plain)

    assert "Nothing that the watch would tell of." in calm.plain
    assert "The newest commit is" in calm.plain
    assert "Run aaaaaa is RUNNING" in calm.plain
    assert "was restored from checkpoint 5" in alarmed.plain


def test_an_alert_during_an_incident_goes_into_its_thread(ana: Responder, bot: WatchingBot) -> None:
    """The people who work on it see it there, and that it is over; nobody opens a second incident from it."""
    ana.opens()
    alert = sign("alert", "Alertmanager/1a30").model_copy(
        update={"source": "Alertmanager", "headline": "Disk is full."}
    )

    bot.sightings.see(ORDERS, alert, occasion="09:00")
    bot.sightings.settle(ORDERS)
    told = ana.sees("Disk is full.")
    bot.sightings.end(bot.sightings.memory(ORDERS).lasting[0], "Alertmanager says that it is resolved.")

    over = ana.sees("Over since")
    card = ana.sees_on_card("under review")

    assert told.buttons == ()
    assert (told.thread_ts, over.thread_ts) == (card.ts, card.ts)
