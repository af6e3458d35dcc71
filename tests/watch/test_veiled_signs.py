"""What the watch tells quotes Flink, whose exceptions name files by the values of their partitions."""

from datetime import timedelta

import pytest

from bot.diagnosis._examine import diagnose
from bot.domain.approval import People
from bot.domain.contract import HIDDEN, TableContract
from bot.domain.diagnosis import Case
from bot.domain.flink import Failure
from bot.domain.watch import Sign
from bot.service.sightings import Sight
from bot.service.watch_signs import signs_in
from bot.slack.blocks.watch import finding_message
from tests.cases import Tale
from tests.tables import CONTRACT
from tests.watch.signs import sighted, sign

SECRET = "ACME"
PATIENCE = timedelta(minutes=2)


def failing(*, recovers: bool) -> Case:
    """A run that fails every three minutes over a customer's file, and recovers each time or is given up."""
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
    if recovers:
        tale.commits("a", 3)
    ends = {} if recovers else {"state": "FAILED", "ended_at": tale.now}
    tale.runs["a"] = tale.runs["a"].model_copy(update={"failures": thrown[::-1], **ends})
    return tale.looked_at().model_copy(update={"contract": CONTRACT})


def told_of(case: Case) -> tuple[Sign, ...]:
    """All that the watch tells of it where no failure mode names it."""
    return signs_in(case, diagnose(case, {}), patience=PATIENCE).told


@pytest.mark.parametrize(("recovers", "code"), [(True, "restarts"), (False, "no-advance")])
def test_no_finding_shows_the_partition_that_an_exception_names(recovers: bool, code: str) -> None:
    """Neither what is kept of it nor its message; all else of the exception is told."""
    [found] = (each for each in told_of(failing(recovers=recovers)) if "Already closed files" in str(each.reasons))

    _, blocks = finding_message(Sight(sighted=sighted(found), ended=None, mute=None, incident=None), People())

    assert found.code == code
    message = str([block.to_dict() for block in blocks])
    assert SECRET not in found.model_dump_json() + message
    assert f"day=2026-11-03/customer={HIDDEN}" in message


def test_where_nothing_is_hidden_the_partition_is_told() -> None:
    """It leads to the cause."""
    case = failing(recovers=True).model_copy(update={"contract": TableContract(key=("order_id",))})

    assert any(f"customer={SECRET}" in reason for each in told_of(case) for reason in each.reasons)


def test_the_veil_is_on_all_that_is_read_of_a_sign_and_on_nothing_else() -> None:
    """Code and subject tell whether it is the same thing."""
    path = f"s3://lake/customer={SECRET}/1.parquet"
    shown = {"headline": path, "reasons": (path, "Else."), "also": (path,), "advice": path}
    plain = sign().model_copy(update=shown)

    veiled = plain.veiled(CONTRACT.veiled)

    assert SECRET not in veiled.model_dump_json()
    assert veiled.reasons[1] == "Else."
    assert veiled.model_copy(update=shown) == plain
