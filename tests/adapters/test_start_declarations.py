"""The digest of a declared start changes with whatever would be submitted, and with nothing else."""

import json
from collections.abc import Callable

import pytest

from bot.adapters.flink_operator_resource import resource_of
from bot.adapters.flink_starting import JarStart, SqlGatewayStart, Starter, digest_of

URL = "http://127.0.0.1:9"


def jar(jar_id: str = "orders.jar", **otherwise: object) -> Starter:
    """An uploaded jar as it may be declared."""
    return JarStart(URL, jar_id, **{"entry_class": "com.acme.Orders", "args": ("--table", "t"), **otherwise})  # type: ignore[arg-type]


def sql(statements: tuple[str, ...] = ("CREATE", "INSERT"), **otherwise: object) -> Starter:
    """Statements as they may be declared."""
    return SqlGatewayStart(URL, statements, otherwise.pop("properties", {"pipeline.name": "orders"}), **otherwise)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "others"),
    [
        (jar, ({"jar_id": "b.jar"}, {"entry_class": "com.acme.Other"}, {"args": ("--table", "u")}, {"parallelism": 2},
               {"properties": {"a": "b"}}, {"uid_suffix": "v2"})),
        (sql, ({"statements": ("CREATE", "INSERT 2")}, {"statements": ("INSERT", "CREATE")}, {"properties": {}},
               {"uid_suffix": "v2"})),
    ],
)  # fmt: skip
def test_each_part_of_a_declaration_counts(make: Callable[..., Starter], others: tuple[dict[str, object], ...]) -> None:
    """Jar, class, arguments, parallelism, settings, suffix; statements in their order. Made twice, it is the same."""
    starters = [make(), make(), *(make(**other) for other in others)]

    told = [starter.declaration() for starter in starters]

    for starter in starters:
        starter.close()
    assert told[0] == told[1]
    assert len(set(told)) == 1 + len(others)


def resource(**job: object) -> bytes:
    """A FlinkDeployment as Kubernetes tells it."""
    spec = {"image": "orders:1", "flinkConfiguration": {"a": "b"}, "job": {"jarURI": "local:///orders.jar", **job}}
    return json.dumps({"metadata": {"uid": "u", "generation": 3, "resourceVersion": "7"}, "spec": spec}).encode()


def test_what_our_own_stops_and_starts_change_of_a_resource_does_not_count() -> None:
    """Else the stop of a proposal would supersede its start; another image or argument does count."""
    before = resource_of(resource(state="running", upgradeMode="last-state", args=["--t"]), "flinkdeployment orders")
    stopped, started = (
        before.to_suspend(keeps_checkpoints=False),
        before.to_restore("s3://s/1", 9, allow_non_restored=True),
    )
    ours = {**stopped["spec"]["job"], **started["spec"]["job"]}  # type: ignore[index]
    after = resource_of(resource(args=["--t"], **ours), "flinkdeployment orders")
    other = resource_of(resource(args=["--u"]), "flinkdeployment orders")
    image = resource_of(resource(args=["--t"]).replace(b"orders:1", b"orders:2"), "flinkdeployment orders")

    told = [digest_of(each.declared) for each in (before, after, other, image)]

    assert told[0] == told[1]
    assert len(set(told)) == 3
