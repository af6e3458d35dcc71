"""A job is started from one point of state, under one id, at most once."""

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack

import pytest

from bot.adapters.flink_operator_resource import resource_of
from bot.adapters.flink_rest import FlinkRest
from bot.adapters.flink_starting import JarStart, SqlGatewayStart, Starter, digest_of
from bot.observation.errors import CommitRefused, CouldNotLook, OutcomeUnknown, WaterlineError
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
    Answers,
    by_gateway,
    by_jar,
    closing,
    failed,
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
    for asked, told in failed("o1", "Caused by: java.net.ConnectException: catalog down").items():
        wire.says(asked, *told)

    with pytest.raises(CouldNotLook, match="catalog down"):
        by_gateway.start(JOB, PATH, RUN_21)

    assert [content["statement"] for path, content in wire.sent("POST") if path.endswith("statements")] == [CREATE]
    assert len(wire.sent("DELETE")) == 1


def test_a_failure_after_which_the_run_lives_is_a_start(wire: Wire, by_gateway: FlinkRest) -> None:
    """The id was chosen before: Flink itself says whether the submission arrived."""
    wire.says(DETAIL, UNKNOWN, body(F21, "job"))
    for asked, told in failed("o2", WAITED_IN_VAIN).items():
        wire.says(asked, *told)

    by_gateway.start(JOB, PATH, RUN_21)

    assert len(wire.sent("DELETE")) == 1


def status(operation: str) -> str:
    """The request that asks after a statement."""
    return f"GET {SESSION}/operations/{operation}/status"


NOT_NOW, NOW = "not now", {"operationHandle": "o1"}
SESSIONS, STATEMENTS, RESULT = (
    "POST /v1/sessions",
    f"POST {SESSION}/statements",
    f"GET {SESSION}/operations/o2/result/0",
)
TROUBLES: Mapping[str, tuple[str, Answers, type[WaterlineError], str]] = {
    **{
        f"no session is opened now, {code}: nothing was submitted, and it may mend": (
            "by_gateway", {SESSIONS: [(code, NOT_NOW)]}, CouldNotLook, f"no session was opened.*HTTP {code}",
        )
        for code in (401, 408, 429, 500, 503)
    },
    "a property that the gateway does not take: it would not in an hour either": (
        "by_gateway", {SESSIONS: [(400, {"errors": ["Cannot parse value 'soon' for key 'execution.…'."]})]},
        CommitRefused, "refused POST sessions.*Cannot parse value 'soon'",
    ),
    **{
        f"a statement before the INSERT is not taken now, {code}": (
            "by_gateway", {STATEMENTS: [(code, NOT_NOW)]}, CouldNotLook, f"HTTP {code}",
        )
        for code in (401, 408, 429, 500, 503)
    },
    "a statement is wrong in itself": (
        "by_gateway", failed("o1", "Caused by: org.apache.flink.table.api.ValidationException: There is no factory"),
        CommitRefused, "There is no factory",
    ),
    "Flink refuses the INSERT: the gateway's own words are handed on": (
        "by_gateway", failed("o2", "Caused by: java.io.FileNotFoundException: Cannot find checkpoint or savepoint"),
        CommitRefused, "Cannot find checkpoint or savepoint",
    ),
    "a catalog timed out: not Flink waited for itself in vain, so nothing of the submission goes on": (
        "by_gateway", failed("o2", "Caused by: java.net.SocketTimeoutException: Read timed out"), CommitRefused,
        "SocketTimeoutException: Read timed out",
    ),
    **{
        f"the INSERT broke the gateway, {code}: only a 4xx of its own says that it was not submitted": (
            "by_gateway", {STATEMENTS: [NOW, (code, "broken")]}, means, f"HTTP {code}",
        )
        for code, means in {400: CommitRefused, 408: OutcomeUnknown, 500: OutcomeUnknown, 503: OutcomeUnknown}.items()
    },
    "the INSERT hangs": ("by_gateway", {status("o2"): [{"status": "RUNNING"}]}, OutcomeUnknown, "."),
    "the INSERT timed out inside Flink": ("by_gateway", failed("o2", WAITED_IN_VAIN), OutcomeUnknown, "."),
    "the gateway broke": ("by_gateway", {status("o2"): [(500, "boom")]}, OutcomeUnknown, "."),
    "a proxy gave up": ("by_gateway", {RESULT: [(504, "gateway timeout")]}, OutcomeUnknown, "."),
    "the gateway was started anew, and has forgotten the INSERT": (
        "by_gateway", {status("o2"): [UNKNOWN], RESULT: [UNKNOWN]}, OutcomeUnknown, ".",
    ),
    **{
        f"a jar is not taken, {code}: Flink says 400 of whatever failed": (
            "by_jar", {RUN_JAR: [(code, {"errors": ["Could not execute application."]})]}, means, f"HTTP {code}",
        )
        for code, means in {
            400: CommitRefused, 401: CouldNotLook, 408: OutcomeUnknown, 429: CouldNotLook, 500: OutcomeUnknown,
        }.items()
    },
    "a jar was taken, and the run never shows": ("by_jar", {}, OutcomeUnknown, "no run under that id"),
}  # fmt: skip


@pytest.mark.parametrize(("way", "answers", "means", "said"), TROUBLES.values(), ids=TROUBLES)
def test_a_start_that_fails_is_a_no_or_may_be_tried_again_or_may_have_arrived(
    wire: Wire, request: pytest.FixtureRequest, way: str, answers: Answers, means: type[WaterlineError], said: str
) -> None:
    """After the INSERT was sent, silence is not a no: a second submission could be a second writer."""
    adapter: FlinkRest = request.getfixturevalue(way)
    wire.says(DETAIL, UNKNOWN)
    for asked, told in answers.items():
        wire.says(asked, *told)

    with pytest.raises(means, match=said):
        adapter.start(JOB, PATH, RUN_21)


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
