"""A finding in the channel: said once, opens the incident it speaks of, can be muted, and says when it is over."""

from datetime import timedelta

from bot.domain.ids import JobId
from bot.domain.watch import Sign
from tests.slack.people import ONCALL, Responder
from tests.tables import ORDERS, job
from tests.watch.signs import sign
from tests.watch.watching_bot import WatchingBot


def test_healthy_running_is_told_to_nobody(ana: Responder, bot: WatchingBot) -> None:
    """Commits, an orderly restart and its first commits raise no finding."""
    bot.looks()
    for _ in range(3):
        bot.commits()
        bot.looks()
    savepoint = bot.flink.savepoint(job("a"))
    bot.flink.stop("orders-to-iceberg", job("a"))
    bot.looks()
    bot.flink.submit(job("b"), at_checkpoint=8, restored=savepoint)
    bot.looks()
    for _ in range(4):
        bot.commits("b")
        bot.looks()

    assert bot.sightings.memory(ORDERS).sighted == {}
    assert ana.messages(ONCALL) == []


def test_a_restore_from_an_older_savepoint_is_told_once(ana: Responder, bot: WatchingBot) -> None:
    """The failure mode names it; one message, however often it is seen and whoever restarts the bot."""
    bot.looks()
    bot.is_restored_from_an_older_savepoint()
    bot.looks(2)
    told = ana.sees("was restored from checkpoint 5")
    bot.commits("b")
    bot.looks(2)
    bot.watch.close()
    bot.restart()
    bot.looks(3)
    bot.commits("b")
    bot.looks()
    ana.asks("watch")
    status = ana.asks("status")

    assert "sales.orders: unknown. The watch found F2" in status
    assert "Rewind table and job together" in told.plain
    assert told.buttons == ("Open incident", "Mute for 4 hours")
    assert [m.ts for m in ana.messages(ONCALL) if "was restored" in m.plain and not m.is_ephemeral] == [told.ts]


def test_one_look_is_not_enough(bot: WatchingBot) -> None:
    """What is seen once may be a moment between two states of the world."""
    bot.looks()
    bot.is_restored_from_an_older_savepoint()

    bot.looks()

    assert bot.sightings.memory(ORDERS).sighted == {}


def test_the_button_opens_the_form_with_what_was_seen(ana: Responder, bot: WatchingBot) -> None:
    """Symptom, severity and words are filled in; once it is open, the finding says so and offers nothing more."""
    bot.is_restored_from_an_older_savepoint()
    bot.looks(2)
    ana.clicks("Open incident", ana.sees("was restored from checkpoint 5"))
    form = ana.reads_form()
    ana.submits()
    ana.sees_on_card("under review")

    told = ana.sees("Incident wl-1 is open on this table")
    incident = bot.services.store.all()[0]

    assert "sales.orders" in form
    assert incident.opened.runbook.id == "wrong-savepoint"
    assert "was restored from checkpoint 5" in incident.opened.summary
    assert told.buttons == ()


def test_nothing_is_judged_while_people_look_themselves(ana: Responder, bot: WatchingBot) -> None:
    """An open incident on the table silences its watch."""
    bot.looks()
    ana.opens()
    bot.is_restored_from_an_older_savepoint()

    bot.looks(3)

    assert bot.sightings.memory(ORDERS).sighted == {}


def test_a_job_that_stays_down_is_told_and_its_return_too(ana: Responder, bot: WatchingBot) -> None:
    """A planned stop is given time; after that somebody hears of it, and in the thread that it is over."""
    bot.looks()
    savepoint = bot.flink.savepoint(job("a"))
    bot.flink.stop("orders-to-iceberg", job("a"))
    bot.looks(2)
    early = list(ana.messages(ONCALL))
    bot.looks(4)
    told = ana.sees("Nobody writes the table")
    bot.flink.submit(JobId(job("b")), at_checkpoint=5, restored=savepoint)
    bot.commits("b", 2)
    bot.looks(8)

    over = ana.sees("Over since")

    assert early == []
    assert "Mute for 4 hours" in told.buttons
    assert "seen no more" in over.plain


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


def test_a_watch_that_cannot_see_says_so(ana: Responder, bot: WatchingBot) -> None:
    """Silence of a blind watch is no all-clear: told after a while, and over when Flink answers again."""
    bot.looks()
    bot.flink.is_down = True
    bot.looks(3)
    early = dict(bot.sightings.memory(ORDERS).sighted)
    bot.looks(4)
    told = ana.sees("has not been able to look at")
    bot.flink.is_down = False
    bot.commits()
    for _ in range(6):
        bot.commits()
        bot.looks()

    ana.sees("Over since")

    assert early == {}
    assert "no message is no all-clear" in told.plain


def test_what_cannot_be_looked_for_any_more_is_not_over(bot: WatchingBot) -> None:
    """Spark goes away: a condition that only evidence shows lasts until somebody has looked."""
    bot.looks()
    bot.is_restored_from_an_older_savepoint()
    bot.looks(2)
    before = bot.sightings.memory(ORDERS).lasting
    bot.runner.fails(1000)

    bot.looks(8)

    memory = bot.sightings.memory(ORDERS)
    assert before[0] in memory.lasting
    assert [each.sign.code for each in memory.lasting][-1] == "blind"


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


def test_a_rollback_under_the_running_job_is_told_after_two_looks(ana: Responder, bot: WatchingBot) -> None:
    """It waits for no round of evidence: the snapshot log shows it at once."""
    bot.looks()
    bot.rolls_back(commits=2)
    bot.commits(count=2)
    bot.looks(2)

    told = ana.sees("was rolled back")

    assert "F6" in told.plain
