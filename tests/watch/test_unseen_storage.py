"""Where storage cannot be read the watch gives no all-clear, says what it does not see, and goes on with the rest."""

import re
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from bot.incident.approval import ApprovalPolicy
from bot.incident.setup import TableSetup
from bot.observation.evidence import Observation
from bot.observation.findings import Limit, RecoveryDeadline
from bot.observation.flink import JobRun
from bot.observation.looked import NotSeen, Seen
from bot.service.watching import check
from bot.service.watching.check import TableCheck, hidden_aside
from bot.slack.commands import watched
from tests.tables import CONTRACT, ORDERS
from tests.watch.conftest import OverRecorded
from tests.watch.recorded import Recorded

MISSED = NotSeen(source="some storage", reason="Access denied.", remedy="Give the key.")
SOURCES = {"checkpoints": "the checkpoint storage", "flink_manifests": "the Flink manifests on storage"}


def hidden(world: Recorded, *sources: str) -> Recorded:
    """The same where these parts cannot be looked at; what reads them was not asked then."""
    seen = world.case.observation.model_copy(update=dict.fromkeys(sources, MISSED))
    evidence = tuple(each for each in world.case.evidence if each.task != "leaked_manifests")
    world.case = world.case.model_copy(update={"observation": seen, "evidence": evidence})
    return world


def test_the_answer_says_until_when_a_table_can_be_recovered(
    over_recorded: OverRecorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`/waterline status TABLE`, as the newest closer look told it."""
    until = datetime(2030, 1, 1, tzinfo=UTC)
    limit = Limit(what="Kafka may delete orders/2", at=until, how="retention", after="Replay.")
    fixed = RecoveryDeadline(
        looked_at=until, recoverable_until=until, because=limit.what, restore_point=None, limits=(limit,)
    )
    monkeypatch.setattr(check, "deadline_of", lambda _case, _diagnosis: fixed)
    world = over_recorded(Recorded("planned-restart-v2"))

    world.looks(16, apart=timedelta(seconds=10))

    services: Any = SimpleNamespace(finding_store=world.finding_store, clock=world.clock, watch=world.watch)
    assert world.watch.deadline(ORDERS) == fixed
    assert limit.what in "\n".join(watched(services, ORDERS, world.clock.now()))


@pytest.mark.parametrize("part", SOURCES)
def test_what_cannot_be_read_is_no_all_clear_and_is_told(over_recorded: OverRecorded, part: str) -> None:
    """After the grace_period that Flink has, by name, with why and what to do; and it is over when it can be read."""
    world = hidden(Recorded("planned-restart-v2"), part)
    watched = over_recorded(world)
    watched.looks(20, apart=timedelta(seconds=10))
    [blind] = [each for each in watched.told if each.code == "blind"]

    world.case = Recorded(world.name).case
    watched.looks(40, apart=timedelta(seconds=10))

    assert blind.subject == SOURCES[part]
    assert "Access denied." in blind.text
    assert "blind" not in {each.finding.code for each in watched.finding_store.memory(ORDERS).lasting}


def test_what_flink_tells_ends_though_storage_cannot_be_read() -> None:
    """Else a table whose storage nobody can read would stay in doubt for a silence that is long over."""
    assert TableCheck(findings=(), unseen=frozenset({"the checkpoint storage"})).would_show("no-commit")
    assert not TableCheck(findings=(), unseen=frozenset({"the checkpoint storage"})).would_show("F11")
    assert not TableCheck(findings=(), unseen=frozenset({"Flink"})).would_show("no-commit")
    assert TableCheck(findings=()).would_show("F11")


def test_other_jobs_count_and_a_table_without_a_job_has_no_checkpoints(over_recorded: OverRecorded) -> None:
    """Nobody could see a fork with a job that cannot be asked; of no job there is nothing to be seen."""
    watched = over_recorded(Recorded("planned-restart-v2"))
    everywhere = watched.observer.observe(ORDERS).model_copy(update=dict.fromkeys((*SOURCES, "others"), MISSED))

    def of(job: str | None, seen: Observation) -> set[str]:
        policies = {"default": ApprovalPolicy(users=("U0BEN00001",))}
        setup = TableSetup(
            name=ORDERS, job=job, contract=CONTRACT, consumers=(), policies=policies, next_update_minutes=30
        )
        return set(hidden_aside(setup, seen))

    assert of("orders-to-iceberg", everywhere) == {*SOURCES.values(), "the table's other jobs"}
    assert of(None, everywhere) == {"the table's other jobs"}
    asked = Seen[JobRun](source="Flink, job blue", values=())
    assert of(None, everywhere.model_copy(update={"others": asked})) == set()


def test_the_list_says_what_the_newest_look_could_not_see_and_of_what_day_it_is(over_recorded: OverRecorded) -> None:
    """“Looked at” alone is an all-clear, and yesterday's time passes for today's."""
    world = over_recorded(hidden(Recorded("planned-restart-v2"), "checkpoints"))
    services: Any = SimpleNamespace(finding_store=world.finding_store, clock=world.clock, watch=world.watch)
    world.looks(2)

    now = "\n".join(watched(services, ORDERS, world.clock.now()))
    world.clock.at += timedelta(days=1)
    then = "\n".join(watched(services, ORDERS, world.clock.now()))

    assert "without the checkpoint storage, which could not be seen" in now
    assert "no look has come to its end" not in now
    assert "no look has come to its end since" in then
    assert re.search(r"looked at \d{1,2} [A-Z][a-z]{2}, \d\d:\d\d:\d\d UTC", then)
