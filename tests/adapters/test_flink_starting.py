"""A job is started from one point of state, under one id, at most once."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from bot.adapters.flink_operator_resource import resource_of
from bot.adapters.flink_rest import FlinkRest
from bot.adapters.flink_starting import JarStart, SqlGatewayStart, Starter, digest_of
from bot.observation.errors import CommitRefused, CouldNotLook, OutcomeUnknown
from tests.adapters.flink_wire import F21, RUN_21, WAITED_IN_VAIN, Wire, body
from tests.adapters.serving import unused_address
from tests.adapters.started_runs import (
    CREATE,
    DETAIL,
    INSERT,
    JOB,
    ORDERS_JAR,
    PATH,
    RUN_JAR,
    SESSION,
    UNKNOWN,
    by_gateway,
    by_jar,
    closing,
    fails,
    starting,
    statements_at,
)

__all__ = ["by_gateway", "by_jar", "closing"]


def test_the_gateway_gets_the_path_and_the_id(wire: Wire, by_gateway: FlinkRest) -> None:
    """One session with the restore point and the pinned id, its statements in order, closed again."""
    by_gateway.start(JOB, PATH, RUN_21)

    assert wire.sent("POST") == [
        (
            "/v1/sessions",
            {
                "properties": {
                    "pipeline.name": JOB,
                    "execution.state-recovery.path": PATH,
                    "execution.state-recovery.claim-mode": "NO_CLAIM",
                    "$internal.pipeline.job-id": RUN_21,
                    "execution.state-recovery.ignore-unclaimed-state": "false",
                    "table.dml-sync": "false",
                }
            },
        ),
        (f"{SESSION}/statements", {"statement": CREATE}),
        (f"{SESSION}/statements", {"statement": INSERT}),
    ]
    assert len(wire.sent("DELETE")) == 1


def test_the_jar_gets_the_path_and_the_id(wire: Wire, by_jar: FlinkRest) -> None:
    """State that no operator takes is not dropped silently (`allowNonRestoredState: false`)."""
    by_jar.start(JOB, PATH, RUN_21)

    assert wire.sent("POST") == [
        (
            "/jars/orders.jar/run",
            {
                "entryClass": "com.acme.Orders",
                "programArgsList": ["--table", "t"],
                "flinkConfiguration": {},
                "jobId": RUN_21,
                "savepointPath": PATH,
                "allowNonRestoredState": False,
                "claimMode": "NO_CLAIM",
            },
        )
    ]


@pytest.mark.parametrize("way", ["by_gateway", "by_jar"])
def test_a_second_start_sends_nothing(wire: Wire, way: str, request: pytest.FixtureRequest) -> None:
    """A run that Flink knows under this id is the one that was wanted."""
    adapter: FlinkRest = request.getfixturevalue(way)
    adapter.start(JOB, PATH, RUN_21)
    before = len(wire.sent("POST"))

    adapter.start(JOB, PATH, RUN_21)

    assert len(wire.sent("POST")) == before


def test_an_id_that_was_submitted_already_is_started(wire: Wire, by_jar: FlinkRest) -> None:
    """An earlier try arrived after all: Flink refuses the second, and the run is there."""
    refusal = "org.apache.flink.runtime.client.DuplicateJobSubmissionException: Job has already been submitted."
    wire.says(RUN_JAR, (400, {"errors": [refusal]}))

    by_jar.start(JOB, PATH, RUN_21)

    assert len(wire.sent("POST")) == 1


def test_a_failure_before_the_insert_started_nothing(wire: Wire, by_gateway: FlinkRest) -> None:
    """The INSERT is not sent after a statement that failed."""
    wire.says(DETAIL, UNKNOWN)
    fails(wire, "o1", "Caused by: java.net.ConnectException: catalog down")

    with pytest.raises(CouldNotLook, match="catalog down"):
        by_gateway.start(JOB, PATH, RUN_21)

    assert [content["statement"] for path, content in wire.sent("POST") if path.endswith("statements")] == [CREATE]
    assert len(wire.sent("DELETE")) == 1


def test_a_session_that_the_gateway_refuses_started_nothing(wire: Wire, by_gateway: FlinkRest) -> None:
    """A property that it does not take: it would not take it in an hour either."""
    wire.says(DETAIL, UNKNOWN)
    wire.says(
        "POST /v1/sessions", (400, {"errors": ["Cannot parse value 'soon' for key 'execution.checkpointing.…'."]})
    )

    with pytest.raises(CommitRefused, match=r"refused POST sessions.*Cannot parse value 'soon'"):
        by_gateway.start(JOB, PATH, RUN_21)


def test_an_insert_that_flink_refuses_started_nothing(wire: Wire, by_gateway: FlinkRest) -> None:
    """The gateway's own words are handed on."""
    wire.says(DETAIL, UNKNOWN)
    fails(wire, "o2", "Caused by: java.io.FileNotFoundException: Cannot find checkpoint or savepoint")

    with pytest.raises(CommitRefused, match="Cannot find checkpoint or savepoint"):
        by_gateway.start(JOB, PATH, RUN_21)


def test_an_insert_that_failed_because_a_catalog_timed_out_started_nothing(wire: Wire, by_gateway: FlinkRest) -> None:
    """Not Flink waited for itself in vain, so nothing of the submission goes on."""
    wire.says(DETAIL, UNKNOWN)
    fails(wire, "o2", "Caused by: java.net.SocketTimeoutException: Read timed out")

    with pytest.raises(CommitRefused, match="SocketTimeoutException: Read timed out"):
        by_gateway.start(JOB, PATH, RUN_21)


def test_a_failure_after_which_the_run_lives_is_a_start(wire: Wire, by_gateway: FlinkRest) -> None:
    """The id was chosen before: Flink itself says whether the submission arrived."""
    wire.says(DETAIL, UNKNOWN, body(F21, "job"))
    fails(wire, "o2", WAITED_IN_VAIN)

    by_gateway.start(JOB, PATH, RUN_21)

    assert len(wire.sent("DELETE")) == 1


@pytest.mark.parametrize(
    "trouble",
    [
        {f"GET {SESSION}/operations/o2/status": ({"status": "RUNNING"},)},
        {
            f"GET {SESSION}/operations/o2/status": ({"status": "ERROR"},),
            f"GET {SESSION}/operations/o2/result/0": ((500, {"errors": [WAITED_IN_VAIN]}),),
        },
        {f"GET {SESSION}/operations/o2/status": ((500, "boom"),)},
        {f"GET {SESSION}/operations/o2/result/0": ((504, "gateway timeout"),)},
    ],
    ids=["the statement hangs", "it timed out inside Flink", "the gateway broke", "a proxy gave up"],
)
def test_a_submission_that_may_have_arrived_is_unknown(
    wire: Wire, by_gateway: FlinkRest, trouble: dict[str, tuple[Any, ...]]
) -> None:
    """After the INSERT was sent, silence is not a no: a second submission could be a second writer."""
    wire.says(DETAIL, UNKNOWN)
    for request, answers in trouble.items():
        wire.says(request, *answers)

    with pytest.raises(OutcomeUnknown):
        by_gateway.start(JOB, PATH, RUN_21)


def test_a_run_that_never_shows_is_unknown(wire: Wire, by_jar: FlinkRest) -> None:
    """Accepted, and not on Flink's list: somebody has to look."""
    wire.says(DETAIL, UNKNOWN)

    with pytest.raises(OutcomeUnknown, match="no run under that id"):
        by_jar.start(JOB, PATH, RUN_21)


def test_a_gateway_that_is_down_started_nothing(wire: Wire, closing: ExitStack) -> None:
    """Surely not submitted, so it may be executed again."""
    adapter = starting(wire, closing, SqlGatewayStart(statements_at(unused_address())))

    with pytest.raises(CouldNotLook, match="SQL gateway"):
        adapter.start(JOB, PATH, RUN_21)


def test_without_a_way_to_start_a_person_is_told_how(flink: FlinkRest) -> None:
    """The path and the id to use are in the message."""
    with pytest.raises(CommitRefused, match=f"{PATH} with the job id {RUN_21}"):
        flink.start(JOB, PATH, RUN_21)


def test_a_jar_that_the_cluster_has_lost_is_told_before_anything_is_stopped(wire: Wire, by_jar: FlinkRest) -> None:
    """A JobManager that was started anew has no uploaded jars."""
    wire.says("GET /jars", {"files": [{"id": "other.jar"}]}, {"files": [{"id": "other.jar"}, {"id": "orders.jar"}]})

    lost, there = by_jar.obstacle(JOB), by_jar.obstacle(JOB)

    assert (lost, there) == ("the cluster has no jar orders.jar", None)


def test_a_gateway_is_asked_for_no_more_than_its_name(wire: Wire, by_gateway: FlinkRest) -> None:
    """None of its statements is run before a proposal is approved; a gateway that is down is not `nothing found`."""
    wire.says("GET /v1/info", {"productName": "Apache Flink", "version": "2.1.1"}, (500, {"errors": ["down"]}))

    there = by_gateway.obstacle(JOB)

    assert there is None
    with pytest.raises(CouldNotLook):
        by_gateway.obstacle(JOB)


def test_a_job_that_only_people_can_start_is_told_so(wire: Wire, closing: ExitStack) -> None:
    """Nothing that stops it is proposed then."""
    adapter = FlinkRest(wire.url)
    closing.callback(adapter.close)

    assert "no way to start it is configured" in (adapter.obstacle(JOB) or "")


URL = "http://127.0.0.1:9"


def jar(**otherwise: object) -> Starter:
    """An uploaded jar as it may be declared."""
    return JarStart(URL, ORDERS_JAR.model_copy(update=otherwise))


def sql(**otherwise: object) -> Starter:
    """Statements as they may be declared."""
    return SqlGatewayStart(statements_at(URL).model_copy(update=otherwise))


@pytest.mark.parametrize(
    ("make", "others"),
    [
        (jar, ({"jar_id": "b.jar"}, {"entry_class": "com.acme.Other"}, {"args": ("--table", "u")}, {"parallelism": 2},
               {"properties": {"a": "b"}})),
        (sql, ({"statements": ("CREATE", "INSERT 2")}, {"statements": ("INSERT", "CREATE")}, {"properties": {}})),
    ],
)  # fmt: skip
def test_each_part_of_a_declaration_counts(make: Callable[..., Starter], others: tuple[dict[str, object], ...]) -> None:
    """Jar, class, arguments, parallelism, settings; statements in their order. Made twice, it is the same."""
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
        before.to_restore("s3://s/1", 9),
    )
    ours = {**stopped["spec"]["job"], **started["spec"]["job"]}  # type: ignore[index]
    after = resource_of(resource(args=["--t"], **ours), "flinkdeployment orders")
    other = resource_of(resource(args=["--u"]), "flinkdeployment orders")
    image = resource_of(resource(args=["--t"]).replace(b"orders:1", b"orders:2"), "flinkdeployment orders")

    told = [digest_of(each.declared) for each in (before, after, other, image)]

    assert told[0] == told[1]
    assert len(set(told)) == 3
