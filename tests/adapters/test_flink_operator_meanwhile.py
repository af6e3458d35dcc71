"""Others change the resource, the operator does not come, an answer is lost: what holds of a stop or a start then."""

from typing import Any

import pytest

from bot.adapters.flink_operator import FlinkOperator
from bot.domain.errors import OutcomeUnknown, Superseded
from tests.adapters.flink_wire import Wire
from tests.adapters.kubernetes import Kubernetes
from tests.adapters.operated_job import (
    JOB,
    PATH,
    before_the_next_change,
    driving,
    hand,
    is_asked_to_be,
    meanwhile,
    operator,
)
from tests.adapters.operator_hand import OperatorHand
from tests.adapters.recorded_runs import RUN_21

__all__ = ["hand", "operator"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
"""The API server is compiled once, which takes minutes."""


def test_an_edit_in_between_refuses_the_change(cluster: Kubernetes, hand: OperatorHand, wire: Wire) -> None:
    """Between our look and our change somebody edits the resource; the API server refuses, and it is said who."""
    with driving(cluster, hand, wire.url) as operator:
        before_the_next_change(operator, lambda: hand.is_edited({"parallelism": 4}))

        with pytest.raises(Superseded, match=r"was changed by .* at \d\d:\d\d:\d\d UTC.*Waterline changed nothing"):
            operator.stop(JOB, RUN_21)

    job = hand.resource["spec"]["job"]
    assert (4, "running", "last-state") == (job["parallelism"], job["state"], job["upgradeMode"])


def test_a_status_that_moves_in_between_does_not_hinder(
    hand: OperatorHand, operator: FlinkOperator, cluster: Kubernetes
) -> None:
    """The operator writes what it sees every few seconds; only the spec is people's."""
    before_the_next_change(operator, lambda: hand.notes("RUNNING"))

    with meanwhile(is_asked_to_be(hand, "suspended"), lambda: hand.suspends(RUN_21, PATH)):
        stopped = operator.stop(JOB, RUN_21)

    assert PATH == stopped.savepoint


def test_an_operator_that_does_not_come_leaves_it_unknown_in_its_own_words(
    hand: OperatorHand, operator: FlinkOperator
) -> None:
    """Neither done nor not done; the responder reads what the operator complains of."""
    with (
        meanwhile(is_asked_to_be(hand, "suspended"), lambda: hand.complains("savepoint dir is not set")),
        pytest.raises(OutcomeUnknown, match="which says: savepoint dir is not set"),
    ):
        operator.stop(JOB, RUN_21)


def test_a_lost_answer_is_verified_by_the_resource(
    hand: OperatorHand, cluster: Kubernetes, wire: Wire, operator: FlinkOperator
) -> None:
    """The change arrived though its answer did not: it is found there, and not sent again."""
    sent = _loses_answers(operator)

    with meanwhile(is_asked_to_be(hand, "suspended"), lambda: hand.suspends(RUN_21, PATH)):
        stopped = operator.stop(JOB, RUN_21)

    assert [200] == sent
    assert PATH == stopped.savepoint


def _loses_answers(operator: FlinkOperator) -> list[int]:
    """The first answer to a change is lost after the API server gave it."""
    sent: list[int] = []

    def lose(response: Any) -> None:
        if response.request.method == "PATCH":
            sent.append(response.status_code)
            response.status_code = 504

    operator._resource._kubernetes._http.event_hooks["response"].append(lose)
    return sent
