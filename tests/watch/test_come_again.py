"""Damage that is done once more after its incident was closed is told once more; what an incident left is not."""

from datetime import timedelta

import pytest

from bot.domain.entries import Diagnosed, IncidentClosed, IncidentOpened, WaterlineMoved
from bot.domain.table import Window
from bot.domain.watch import Sighted, open_findings
from bot.service.sightings import post_key
from tests.decisions import ANA, CHANNEL, RUNBOOK
from tests.slack.people import Responder
from tests.tables import ORDERS, job
from tests.watch.watching_bot import WatchingBot


def sighted(bot: WatchingBot) -> tuple[Sighted, ...]:
    """All that was ever seen."""
    return tuple(bot.sightings.memory(ORDERS).sighted.values())


def codes(bot: WatchingBot) -> list[str]:
    """Of all that was ever seen."""
    return [each.sign.code for each in sighted(bot)]


def looks_into_it(bot: WatchingBot, *, proves: bool = True, names: bool = False) -> None:
    """An incident on the table as it is, which trusts what it finds, or proves nothing, and is closed. `names`: it has
    diagnosed the fault."""
    state = bot.services.observer.table(ORDERS)
    opened = IncidentOpened(
        table=ORDERS, job="orders-to-iceberg", runbook=RUNBOOK, severity="sev2", channel=CHANNEL,
        window=Window(since=None, until=state.head), trusted=state.head, metadata_location=state.metadata_location,
        summary="A rollback",
    )  # fmt: skip
    incident = bot.services.store.open(opened, by=ANA).id
    found = Diagnosed(diagnosis=bot.services.examiner.examine(ORDERS, without_rows=True).diagnosis)
    proven = [WaterlineMoved(snapshot=state.head, status="trusted")] if proves else []
    for each in (*([found] if names else []), *proven, IncidentClosed(reason="The loss is accepted.")):
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
    post = bot.store.outbox.find(post_key(second.id))
    assert post is not None
    assert post.thread_of is None
    assert any("rolled back once more" in reason and "lost 3 commits" in reason for reason in second.sign.reasons)
    assert open_findings(bot.sightings.memory(ORDERS), bot.services.store.all()) == (second,)
    assert not set(first[0].sign.rows) & set(second.sign.rows)
    bot.looks(4)
    assert sighted(bot)[-1] == second


@pytest.mark.parametrize("proves", [True, False], ids=["proven", "not proven"])
@pytest.mark.parametrize("before", [0, 1], ids=["before the next commit", "after it"])
def test_one_lost_commit_that_was_left_is_not_told_again(
    before: int, proves: bool, ana: Responder, bot: WatchingBot
) -> None:
    """Neither as the run goes on over the hole, nor when it ends and nobody is to be stopped any more."""
    bot.looks()
    bot.rolls_back(commits=1)
    bot.commits(count=before)
    bot.looks(3)
    looks_into_it(bot, proves=proves)

    for _ in range(3):
        bot.commits(count=2)
        bot.looks(3)
    bot.flink.ends(job("a"), "CANCELED")
    bot.looks(8)

    assert [code for code in codes(bot) if code.startswith("F")] == ["F6"]


def test_a_run_that_ends_changes_nothing_of_what_was_told(ana: Responder, bot: WatchingBot) -> None:
    """Nobody has looked into it yet: it is one hole, and one message."""
    bot.looks()
    bot.rolls_back(commits=2)
    bot.commits(count=2)
    bot.looks(3)

    bot.flink.ends(job("a"), "CANCELED")
    bot.looks(8)

    assert [code for code in codes(bot) if code.startswith("F")] == ["F6"]


@pytest.mark.parametrize("after", [0, 2], ids=["at once", "after further commits"])
@pytest.mark.parametrize("lost", [1, 4], ids=["one commit", "with the hole that was left"])
def test_main_set_back_below_what_was_proven_is_told(lost: int, after: int, ana: Responder, bot: WatchingBot) -> None:
    """The commit that the incident proved is lost itself, whether or not any came after it."""
    bot.looks()
    bot.rolls_back(commits=2)
    bot.commits(count=3)
    bot.looks(3)
    looks_into_it(bot)
    bot.commits(count=after)
    bot.looks(3)

    bot.rolls_back(commits=lost + after)
    bot.commits()
    bot.looks(6)
    told = codes(bot)
    bot.commits(count=3)
    bot.looks(6)

    assert ["F6", "F6"] == told == codes(bot)


def test_main_set_back_to_what_was_proven_is_told(ana: Responder, bot: WatchingBot) -> None:
    """What was lost came after it, though the log names the proven commit once more after that."""
    bot.looks()
    bot.rolls_back(commits=2)
    bot.commits(count=2)
    bot.looks(3)
    looks_into_it(bot)
    bot.commits()
    bot.looks(2)

    bot.rolls_back(commits=1)
    bot.commits()
    bot.looks(4)

    assert codes(bot) == ["F6", "F6"]


def test_what_came_again_is_told_when_two_looks_in_a_row_agree(ana: Responder, bot: WatchingBot) -> None:
    """Damage that was left is seen by every look: that is no first look at what came since."""
    bot.looks()
    bot.rolls_back(commits=2)
    bot.commits(count=2)
    bot.looks(3)
    looks_into_it(bot)
    bot.looks(3)

    bot.rolls_back(commits=1)
    bot.commits()
    bot.looks()
    once = codes(bot)
    bot.looks()

    assert (["F6"], ["F6", "F6"]) == (once, codes(bot))


def test_a_writer_that_changes_rows_once_more_is_told_once_more(ana: Responder, bot: WatchingBot) -> None:
    """However many of its changes the incident had left: only the first three are named."""
    bot.looks()
    bot.others_delete(3, 4, 5, 6)
    bot.looks(3)
    looks_into_it(bot)
    bot.commits(count=2)
    bot.looks(6)
    left_alone = codes(bot)

    bot.others_delete(7)
    bot.looks(4)
    again = codes(bot)
    bot.commits(count=2)
    bot.looks(6)

    assert left_alone == ["F21"]
    assert ["F21", "F21"] == again == codes(bot)


def test_a_hole_that_is_about_to_come_is_told_above_one_that_was_left(ana: Responder, bot: WatchingBot) -> None:
    """The job can still be stopped; when it has committed, that is the same hole."""
    bot.looks()
    bot.rolls_back(commits=2)
    bot.commits(count=3)
    bot.looks(3)
    looks_into_it(bot)

    bot.rolls_back(commits=1)
    bot.looks(2)
    told = codes(bot)
    bot.commits(count=2)
    bot.looks(6)

    assert ["F6", "F6"] == told == codes(bot)


def test_what_an_incident_named_before_the_watch_saw_it_is_not_told(ana: Responder, bot: WatchingBot) -> None:
    """People have looked at it and left it; what comes after that is told."""
    bot.rolls_back(commits=2)
    bot.commits(count=2)
    looks_into_it(bot, names=True)
    bot.commits(count=2)
    bot.looks(4)
    left = codes(bot)

    bot.rolls_back(commits=1)
    bot.commits()
    bot.looks(4)

    assert ([], ["F6"]) == (left, codes(bot))
