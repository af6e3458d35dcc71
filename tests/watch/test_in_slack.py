"""A finding in the channel: said once, opens the incident it speaks of, and says when it is over."""

import pytest

from bot.domain.ids import JobId
from tests.slack.people import ONCALL, Responder
from tests.tables import ORDERS, job
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


@pytest.mark.smoke
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

    assert "sales.orders: unknown since" in status
    assert "The monitor found F2" in status
    assert "Rewind table and job together" in told.plain
    assert told.buttons == ("Open incident", "Mute table for 4 hours")
    assert [m.ts for m in ana.messages(ONCALL) if "was restored" in m.plain and not m.is_ephemeral] == [told.ts]


def test_one_look_is_not_enough(bot: WatchingBot) -> None:
    """What is seen once may be a moment between two states of the world."""
    bot.looks()
    bot.is_restored_from_an_older_savepoint()

    bot.looks()

    assert bot.sightings.memory(ORDERS).sighted == {}


@pytest.mark.smoke
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
    assert "Mute table for 4 hours" in told.buttons
    assert "does not see it any more" in over.plain


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
    assert "Silence does not mean" in told.plain


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


def test_a_rollback_under_the_running_job_is_told_after_two_looks(ana: Responder, bot: WatchingBot) -> None:
    """It waits for no round of evidence: the snapshot log shows it at once."""
    bot.looks()
    bot.rolls_back(commits=2)
    bot.commits(count=2)
    bot.looks(2)

    told = ana.sees("was rolled back")

    assert "F6" in told.plain
