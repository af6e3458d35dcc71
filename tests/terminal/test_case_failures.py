"""Flink's exceptions name files by the values of their partitions: in a saved case hidden ones are veiled."""

import json

import pytest

from bot.adapters.case_file import raw_of, read_case
from bot.adapters.case_redaction import without_hidden
from bot.adapters.case_rereading import read_again
from bot.adapters.case_sources import sources_of
from bot.bootstrap import failure_modes
from bot.diagnosis._examine import diagnose
from bot.domain.contract import HIDDEN, TableContract
from bot.domain.diagnosis import Case
from bot.domain.flink import Failure, JobRun
from bot.domain.hidden_values import outgoing_case
from bot.domain.looked import Seen
from tests.cases import Tale
from tests.tables import CONTRACT
from tests.terminal.real_cases import REAL, with_world

SECRET = "ACME"
PATH = f"s3://lake/orders/data/day=2026-11-03/customer={SECRET}/1.parquet"
JOB = "http://flink:8081/jobs/" + "a" * 32
TRACE = f"java.io.IOException: {PATH}\n\tat a.b(C.java)\nCaused by: java.io.FileNotFoundException: {PATH}\n\tat a.b"


def failed() -> Case:
    """A run that failed over a customer's file, with a checkpoint that did."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).completes("a", 3)
    missing = "java.io.FileNotFoundException"
    thrown = Failure(
        at=tale.now, exception=missing, message=PATH, task=None, attempt=None, causes=(f"{missing}: {PATH}",)
    )
    told = tale.runs["a"]
    declined = told.checkpoints[0].model_copy(update={"status": "FAILED", "failure": f"Task failed: {PATH}"})
    tale.runs["a"] = told.model_copy(
        update={"failures": (thrown,) * 3, "checkpoints": (declined, *told.checkpoints[1:])}
    )
    return tale.looked_at().model_copy(update={"contract": CONTRACT})


def test_the_case_shows_no_value_and_is_diagnosed_the_same() -> None:
    """Of the table's job and of the others that write it; the day and the file's name stay."""
    case = failed()
    case = with_world(case, others=Seen[JobRun](source="Flink", values=case.observation.jobs.values))

    sent = outgoing_case(case.without_samples(), CONTRACT)

    assert SECRET in case.model_dump_json(), "so the test can fail"
    assert SECRET not in sent.model_dump_json()
    assert f"data/day=2026-11-03/customer={HIDDEN}/1.parquet" in sent.observation.jobs.values[0].failures[0].message
    assert diagnose(case, failure_modes()) == diagnose(sent, failure_modes())


def test_where_nothing_is_hidden_the_words_are_as_flink_said_them() -> None:
    """They lead to the cause."""
    case = failed()

    assert case == outgoing_case(case, TableContract(key=("order_id",)))


@pytest.mark.parametrize("with_values", [False, True])
@pytest.mark.parametrize("customer", [SECRET, "Q"])
def test_what_flink_answered_is_veiled_and_read_again_as_recorded(with_values: bool, customer: str) -> None:
    """Where the veil is longer than the value, what is kept of a long line ends earlier in both."""
    saved, raw = read_case(REAL).case, raw_of(REAL)
    of_flink = {address: body for address, body in raw.items() if address.startswith("http")}
    page = next(address for address in of_flink if "/exceptions" in address)
    line = f"java.io.IOException: {PATH} ".replace(SECRET, customer)
    trace = f"{line}{'x' * (300 - len(line))}\n\tat a.b(C.java)\nCaused by: {line}{'x' * 600}\n\tat a.b"
    entry = {"exceptionName": "java.io.IOException", "timestamp": 1_790_000_000_000, "stacktrace": trace}
    of_flink[page] = json.dumps({"exceptionHistory": {"entries": [entry]}}).encode()
    seen = with_world(saved, jobs=read_again(saved, of_flink).observation.jobs)
    hides = seen.model_copy(update={"contract": seen.contract.model_copy(update={"redacted": ("customer",)})})

    kept = sources_of(hides, of_flink, with_values=with_values).raw
    again = read_again(outgoing_case(hides, hides.contract), kept)

    assert f"customer={customer}".encode() not in b"".join(kept.values())
    assert [] == again.differences
    assert any(f"customer={HIDDEN}" in f.message for run in again.observation.jobs.values for f in run.failures)


@pytest.mark.parametrize("page", ["checkpoints", "checkpoints/details/7", "checkpoints?x=1"])
def test_why_a_checkpoint_failed_is_veiled_and_where_it_lies_is_not(page: str) -> None:
    """Its place is looked up again."""
    entry = {"id": 7, "failure_message": PATH, "external_path": "s3://flink/customer=7/chk-7"}

    told = json.loads(without_hidden(f"{JOB}/{page}", json.dumps({"history": [entry]}).encode(), CONTRACT.veiled))

    assert PATH.replace(SECRET, HIDDEN) == told["history"][0]["failure_message"]
    assert entry["external_path"] == told["history"][0]["external_path"]


def test_answers_that_show_nothing_hidden_are_kept_byte_for_byte() -> None:
    """The bytes are the proof."""
    spaced = b'{"exceptionHistory":  {"entries": [ ]}}'

    assert spaced == without_hidden(f"{JOB}/exceptions?maxExceptions=20", spaced, CONTRACT.veiled)
    assert b" {} " == without_hidden(f"{JOB}/checkpoints", b" {} ", CONTRACT.veiled)
    assert b"no json" == without_hidden(f"{JOB}/config", b"no json", CONTRACT.veiled)


def test_a_trace_that_is_kept_whole_is_veiled_in_every_line() -> None:
    """Flink escapes letters beyond ASCII in no way of ours, so the text is read and not the bytes."""
    hides = TableContract(redacted=("größe",))
    body = json.dumps({"root-exception": TRACE.replace("customer", "größe"), "all-exceptions": [{"exception": TRACE}]})

    told = json.loads(without_hidden(f"{JOB}/exceptions", body.encode(), hides.veiled))

    assert 2 == told["root-exception"].count(f"größe={HIDDEN}")
    assert TRACE == told["all-exceptions"][0]["exception"]
