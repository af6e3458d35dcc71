"""A job of the Flink Kubernetes operator on a real API server, our side of it, and others who act meanwhile."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Thread
from time import sleep
from typing import Any

import pytest
from ruamel.yaml import YAML

from bot.adapters.flink_operator import FlinkOperator
from bot.adapters.flink_rest import FlinkRest
from bot.adapters.kubernetes import flink_resource
from bot.observation.ids import JobId
from tests.adapters.flink_wire import F21, FIXTURES, RUN_21, Wire, tell_run
from tests.adapters.kubernetes import Kubernetes
from tests.adapters.operator_hand import NAMESPACE, OperatorHand

JOB = "orders-to-iceberg"
OURS = JobId("5ca1ab1e" * 4)
PATH = "s3://flink-state/savepoints/savepoint-5457e3-1"
SAVEPOINTS = {"execution.checkpointing.savepoint-dir": "s3://flink-state/savepoints"}
NUMBERS = itertools.count(1)


def schema(kind: str) -> Any:
    """The published custom resource definition."""
    file = FIXTURES / "flink_operator" / f"{kind.lower()}s.yaml"
    return YAML(typ="safe").load(file.read_text(encoding="utf-8"))


@pytest.fixture
def hand(cluster: Kubernetes) -> OperatorHand:
    """A FlinkDeployment of people that runs as `RUN_21`, upgraded by last state."""
    made = OperatorHand(cluster, "FlinkDeployment", f"orders-{next(NUMBERS)}")
    made.is_asked({"upgradeMode": "last-state", "state": "running"}, **SAVEPOINTS)
    made.runs(RUN_21)
    return made


@pytest.fixture
def operator(cluster: Kubernetes, hand: OperatorHand, wire: Wire) -> Iterator[FlinkOperator]:
    """Our side."""
    tell_run(wire, F21, RUN_21, exceptions="exceptions", checkpoints="checkpoints")
    with driving(cluster, hand, wire.url) as made:
        yield made


@contextmanager
def driving(cluster: Kubernetes, hand: OperatorHand, flink: str, token: str | None = None) -> Iterator[FlinkOperator]:
    """The adapter on that resource, with short limits."""
    login = cluster.login() if token is None else cluster.login(token)
    made = FlinkOperator(
        FlinkRest(flink, stop_limit=timedelta(seconds=2), poll_every=timedelta(milliseconds=10)),
        flink_resource(login, hand.kind, NAMESPACE, hand.name),
        "FlinkSessionJob" if hand.kind == "FlinkSessionJob" else "FlinkDeployment",
        stop_limit=timedelta(seconds=2),
        start_limit=timedelta(seconds=2),
        poll_every=timedelta(milliseconds=50),
    )
    yield made
    made.close()


@contextmanager
def meanwhile(is_time: Callable[[], bool], act: Callable[[], None]) -> Iterator[None]:
    """Somebody acts as soon as it is time."""

    def wait() -> None:
        for _ in range(200):
            if is_time():
                act()
                return
            sleep(0.02)

    thread = Thread(target=wait)
    thread.start()
    yield
    thread.join(10)


def is_asked_to_be(hand: OperatorHand, state: str) -> Callable[[], bool]:
    """Whether the resource's spec says so."""
    return lambda: hand.resource["spec"]["job"]["state"] == state


def before_the_next_change(operator: FlinkOperator, act: Callable[[], None]) -> None:
    """`act` happens after our look and before our first change arrives, on the wire."""
    waiting = [act]

    def first(request: Any) -> None:
        if request.method == "PATCH" and waiting:
            waiting.pop()()

    operator._resource._kubernetes._http.event_hooks["request"].append(first)
