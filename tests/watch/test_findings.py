"""A finding in its channel: said once, veiled, in doubt, and how long it lasts."""

from datetime import timedelta
from pathlib import Path

import pytest

from bot.diagnosis._support.examine import diagnose
from bot.history.case import Case
from bot.incident.approval import People
from bot.incident.watch import WatchFinding
from bot.observation.contract import HIDDEN, TableContract
from bot.observation.flink import Failure
from bot.observation.ids import JobId
from bot.service.watching.finding_store import FindingStatus
from bot.service.watching.findings import findings_in, suspicion
from bot.service.watching.unnamed import silent_for, unnamed_signs
from bot.slack.blocks.watch import finding_message
from bot.workspace import SeenMessage, Workspace
from tests.adapters.flink_wire import Wire
from tests.cases import Tale
from tests.diagnosis.test_worth_knowing import failing
from tests.slack.little_bot import as_time_goes_on, nothing_waits
from tests.slack.people import ONCALL, Responder, eventually
from tests.slack.test_bad_input import opened_again, shut
from tests.tables import CONTRACT, ORDERS, job
from tests.watch.conftest import OverRecorded
from tests.watch.recorded import Recorded
from tests.watch.signs import finding, reported
from tests.watch.watched import TERMS, Watched
from tests.watch.watching_bot import WatchingBot

PATIENCE = timedelta(minutes=10)


def test_nobody_is_said_to_write_while_somebody_does_whom_flink_does_not_list() -> None:
    """The job's run has failed, and a commit came after that: what is not known is said instead."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "FAILED")
    [silent] = [s for s in unnamed_signs(tale.looked_at(), PATIENCE) if s.code == "no-advance"]
    [written] = [s for s in unnamed_signs(tale.commits("c", 3).looked_at(), PATIENCE) if s.code == "no-advance"]

    assert silent.headline.startswith("Nobody writes the table.")
    assert written.headline.startswith("Run aaaaaa is FAILED")
    assert any(reason.startswith("Not known is whether run cccccc still writes") for reason in written.reasons)


def test_a_checkpoint_that_hangs_is_worth_a_closer_look_once_it_has_lasted() -> None:
    """One failed, and none completes: nothing changes but the clock."""
    tale = failing(3)
    tale.shows("a", checkpoint_interval_ms=300_000)
    soon = tale.looked_at()
    tale.now += timedelta(minutes=25)
    later = tale.looked_at()

    assert silent_for(soon) is None
    assert silent_for(later) is None
    assert suspicion(soon) != suspicion(later)


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

    assert bot.finding_store.memory(ORDERS).reported == {}
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
    ana.asks(f"status {ORDERS}")
    status = ana.asks("status")

    assert "sales.orders: unknown since" in status
    assert "The monitor found F2" in status
    assert "What to do: " in told.plain
    assert told.buttons == ("Open incident", "Mute table for 4 hours")
    assert [m.ts for m in ana.messages(ONCALL) if "was restored" in m.plain and not m.is_ephemeral] == [told.ts]


def test_one_look_is_not_enough(bot: WatchingBot) -> None:
    """What is seen once may be a moment between two states of the world."""
    bot.looks()
    bot.is_restored_from_an_older_savepoint()

    bot.looks()

    assert bot.finding_store.memory(ORDERS).reported == {}


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

    assert bot.finding_store.memory(ORDERS).reported == {}


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
    early = dict(bot.finding_store.memory(ORDERS).reported)
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
    before = bot.finding_store.memory(ORDERS).lasting
    bot.runner.fails(1000)

    bot.looks(8)

    memory = bot.finding_store.memory(ORDERS)
    assert before[0] in memory.lasting
    assert [each.finding.code for each in memory.lasting][-1] == "blind"


_SHUT = {"is_archived", "not_in_channel", "restricted_action_read_only_channel"}


def waits(bot: WatchingBot) -> bool:
    """Whether the newest finding was refused for its channel, and is to be sent again."""
    newest = list(bot.finding_store.memory(ORDERS).reported.values())[-1]
    post = bot.store.outbox.find(f"watch/{newest.id}")
    return post is not None and post.state == "queued" and post.problem in _SHUT


def told(ana: Responder) -> list[SeenMessage]:
    """What everybody in the channel reads of the restore."""
    return [m for m in ana.messages(ONCALL) if "was restored" in m.plain and not m.is_ephemeral]


def refused(slack: Workspace) -> int:
    """How often Slack has said that the channel is shut."""
    return sum(entry.error in _SHUT for entry in slack.wire("api", "chat.postMessage"))


@pytest.mark.parametrize("how", ["archived", "read_only"])
def test_what_was_found_meanwhile_is_told(ana: Responder, bot: WatchingBot, slack: Workspace, how: str) -> None:
    """Archived by mistake, nobody had invited the bot yet, or an admin lets only some people post."""
    bot.looks()
    shut(slack, how)
    bot.is_restored_from_an_older_savepoint()
    bot.looks(2)
    eventually(lambda: waits(bot))

    opened_again(slack, how)
    eventually(as_time_goes_on(bot, lambda: told(ana) != []))

    [message] = told(ana)
    assert message.buttons == ("Open incident", "Mute table for 4 hours")


def test_what_is_over_by_then_is_told_as_over(ana: Responder, bot: WatchingBot, slack: Workspace) -> None:
    """Nobody is sent to mend it."""
    bot.finding_store.see(ORDERS, finding())
    shut(slack, "archived")
    bot.finding_store.post_due(ORDERS)
    eventually(lambda: waits(bot))
    bot.finding_store.end(bot.finding_store.memory(ORDERS).lasting[0], "run bbbbbb has ended.")

    opened_again(slack, "archived")
    eventually(as_time_goes_on(bot, lambda: nothing_waits(bot)))

    [message] = told(ana)
    assert "Over since" in message.plain
    assert message.buttons == ()


def test_a_finding_that_cannot_be_edited_is_told_anew(ana: Responder, bot: WatchingBot, slack: Workspace) -> None:
    """That it is over is read by all; the old one's buttons answer as before."""
    bot.finding_store.see(ORDERS, finding())
    bot.finding_store.post_due(ORDERS)
    eventually(lambda: len(told(ana)) == 1)
    bot.clock.advances(timedelta(minutes=10))
    slack.faults.fails("chat.update", "edit_window_closed")

    bot.finding_store.end(bot.finding_store.memory(ORDERS).lasting[0], "run bbbbbb has ended.")
    eventually(as_time_goes_on(bot, lambda: len(told(ana)) == 2))

    old, new = told(ana)
    assert ("Over since" in new.plain, new.buttons) == (True, ())
    ana.clicks("Open incident", old)
    assert "sales.orders" in ana.reads_form()


def test_what_has_long_been_over_by_then_is_not_told(ana: Responder, bot: WatchingBot, slack: Workspace) -> None:
    """A channel that comes back after a month is not filled with what nobody can act on; one that never does is not
    asked for ever."""
    bot.finding_store.see(ORDERS, finding())
    shut(slack, "archived")
    bot.finding_store.post_due(ORDERS)
    eventually(lambda: waits(bot))
    bot.finding_store.end(bot.finding_store.memory(ORDERS).lasting[0], "run bbbbbb has ended.")

    bot.clock.advances(timedelta(days=1))
    eventually(as_time_goes_on(bot, lambda: nothing_waits(bot)))
    opened_again(slack, "archived")
    bot.finding_store.post_due(ORDERS)

    assert nothing_waits(bot)
    assert ana.messages(ONCALL) == []


@pytest.mark.parametrize("how", ["archived", "removed"])
def test_what_came_of_an_alert_waits_for_no_channel_of_a_closed_incident(
    ana: Responder, bot: WatchingBot, slack: Workspace, how: str
) -> None:
    """People archive it then: its thread is not tried for ever."""
    ana.opens()
    bot.finding_store.see(ORDERS, finding("alert", "Alertmanager/1a30"), occasion="09:00")
    bot.finding_store.post_due(ORDERS)
    ana.sees("was restored")
    ana.asks("close anyway, it was a test")
    ana.sees("Closed by")
    eventually(lambda: nothing_waits(bot))
    shut(slack, how)

    bot.finding_store.end(bot.finding_store.memory(ORDERS).lasting[0], "Alertmanager reports it as resolved.")
    eventually(lambda: refused(slack) > 0)

    eventually(as_time_goes_on(bot, lambda: nothing_waits(bot)))


SECRET = "ACME"
VEILED_PATIENCE = timedelta(minutes=2)


def veiled_failing() -> Case:
    """A run that fails every three minutes over a customer's file, and is given up."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    thrown = tuple(
        Failure(
            at=tale.now + timedelta(minutes=3 * number),
            exception="java.io.IOException",
            message=f"Already closed files for partition: day=2026-11-03/customer={SECRET}",
            task=None,
            attempt=number,
        )
        for number in range(6)
    )
    tale.now += timedelta(minutes=16)
    tale.shows("a", failures=thrown[::-1], state="FAILED", ended_at=tale.now)
    return tale.looked_at().model_copy(update={"contract": CONTRACT})


def told_of(case: Case) -> tuple[WatchFinding, ...]:
    """All that the watch tells of it where no failure mode names it."""
    return findings_in(case, diagnose(case, {}), grace_period=VEILED_PATIENCE).told


def test_no_finding_shows_the_partition_that_an_exception_names() -> None:
    """Neither what is kept of it nor its message; all else of the exception is told."""
    [found] = (each for each in told_of(veiled_failing()) if "Already closed files" in str(each))

    _, blocks = finding_message(FindingStatus(reported=reported(found), ended=None, mute=None, incident=None), People())

    assert found.code == "no-advance"
    message = str([block.to_dict() for block in blocks])
    assert SECRET not in found.model_dump_json() + message
    assert f"day=2026-11-03/customer={HIDDEN}" in message


def test_where_nothing_is_hidden_the_partition_is_told() -> None:
    """It leads to the cause."""
    case = veiled_failing().model_copy(update={"contract": TableContract(key=("order_id",))})

    assert any(f"customer={SECRET}" in str(each) for each in told_of(case))


def test_the_veil_is_on_all_that_is_read_of_a_sign_and_on_nothing_else() -> None:
    """Code and subject tell whether it is the same thing."""
    path = f"s3://lake/customer={SECRET}/1.parquet"
    shown = {"headline": path, "reasons": (path, "Else."), "also": (path,), "advice": path}
    plain = finding().model_copy(update=shown)

    veiled = plain.veiled(CONTRACT.veiled)

    assert SECRET not in veiled.model_dump_json()
    assert veiled.reasons[1] == "Else."
    assert veiled.model_copy(update=shown) == plain


SECOND = timedelta(seconds=1)


def over(watched: Watched) -> tuple[str, ...]:
    """Codes of what was told and is said to be over."""
    memory = watched.finding_store.memory(watched.table)
    return tuple(memory.reported[each].finding.code for each in memory.ended)


@pytest.mark.parametrize(
    ("name", "graver"), [("restored-from-older-savepoint-v2", "F2"), ("forked-from-a-savepoint-v2", "F13")]
)
def test_a_table_that_is_too_old_is_not_over_because_its_job_was_restored_wrongly(
    name: str, graver: str, over_recorded: OverRecorded, wire: Wire, tmp_path: Path
) -> None:
    """Events are as old as before; who reads “it is seen no more” would stop to look at the source."""
    world = Recorded(name).promises(freshness=SECOND / 10)
    world.until(world.runs[0].started_at - SECOND)
    watched = over_recorded(world)
    watched.looks(4, apart=SECOND)
    before = watched.seen
    world.goes_on().told_by(wire)
    world.catalog_in(tmp_path / name)
    watched.clock.at = max(world.now, watched.clock.at + SECOND)

    watched.looks(9, apart=TERMS.grace_period / 4)

    assert before == ("stale",)
    assert watched.seen == ("stale", graver)
    assert over(watched) == ()


def test_what_holds_no_more_is_over_though_something_graver_lasts(
    over_recorded: OverRecorded, wire: Wire, tmp_path: Path
) -> None:
    """Flink answers again: that it did not is over, whatever it now tells of its job."""
    world = Recorded("restored-from-older-savepoint-v2")
    world.until(world.runs[0].started_at - SECOND)
    watched = over_recorded(world)
    wire.answers.clear()
    watched.looks(6, apart=TERMS.grace_period / 4)
    before = watched.seen
    world.goes_on().told_by(wire)
    world.catalog_in(tmp_path / world.name)

    watched.looks(9, apart=TERMS.grace_period / 4)

    assert before == ("blind",)
    assert watched.seen == ("blind", "F2")
    assert over(watched) == ("blind",)
