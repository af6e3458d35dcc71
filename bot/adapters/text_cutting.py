"""Bodies of Flink's REST interface and OpenLineage events, with what may hold values of rows cut out.

What may stay is named, so what a later version adds is cut.
"""

import json
import re
from collections.abc import Callable

from pydantic import JsonValue

from bot.adapters.flink_pages import CODE_VERSION_KEYS, MOST_CAUSES, cause_lines
from bot.domain.failure_words import LONGEST_MESSAGE

_JOB = r"/jobs/[0-9a-f]{32}"
_SCAN = ("snapshotId", "schemaId")
_DATASET = ("symlinks", "version", "datasetVersion")


def flink_body(address: str, body: bytes) -> bytes:
    """What Flink answered there: of stack traces only what the bot keeps of each (its first line and causes), of
    the job's parameters only those that name its code, of the job itself no plan, which quotes its statements."""
    return next((cut(body) for form, cut in _OF_FLINK if form.search(address)), body)


def without_hidden(address: str, body: bytes, veil: Callable[[str], str]) -> bytes:
    """The same answer; what it says of failures shows nothing that `veil` takes away. Byte for byte where it shows
    nothing of that anyway."""
    keys = next((keys for form, keys in _FAILURES_IN if form.search(address)), None)
    if keys is None:
        return body
    told = json.loads(body)
    veiled = _veiled(told, veil, keys, is_of_failure=not keys)
    return body if veiled == told else json.dumps(veiled).encode()


def lineage_events(lines: bytes) -> bytes:
    """One event a line: who ran when, and which snapshot of which dataset it read, what it wrote; no filters, texts
    or settings. A line that is no JSON is left out."""
    kept = []
    for line in lines.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        kept.append(json.dumps(_event(event)).encode())
    return b"\n".join(kept)


def _exceptions(body: bytes) -> bytes:
    entries = _dict(_dict(json.loads(body)).get("exceptionHistory")).get("entries")
    told = [
        {
            **_only(entry, "exceptionName", "timestamp", "taskName"),
            "stacktrace": _traced(str(_dict(entry).get("stacktrace", ""))),
        }
        for entry in (entries if isinstance(entries, list) else [])
    ]
    return json.dumps({"exceptionHistory": {"entries": told}}).encode()


def _traced(trace: str) -> str:
    first = trace.partition("\n")[0].strip()[:LONGEST_MESSAGE]
    return "\n".join([first, *(f"Caused by: {cause}" for cause in cause_lines(trace)[:MOST_CAUSES])])


def _config(body: bytes) -> bytes:
    told = _dict(json.loads(body))
    user = _dict(_dict(told.get("execution-config")).get("user-config"))
    named: JsonValue = {"user-config": _only(user, *CODE_VERSION_KEYS)}
    return json.dumps({**_only(told, "jid", "name"), "execution-config": named}).encode()


def _detail(body: bytes) -> bytes:
    named = ("jid", "name", "state", "start-time", "end-time", "job-type", "vertices", "status-counts")
    return json.dumps(_only(json.loads(body), *named)).encode()


_OF_FLINK: tuple[tuple[re.Pattern[str], Callable[[bytes], bytes]], ...] = (
    (re.compile(rf"{_JOB}/exceptions(\?|$)"), _exceptions),
    (re.compile(rf"{_JOB}/config(\?|$)"), _config),
    (re.compile(rf"{_JOB}(\?|$)"), _detail),
)
_FAILURES_IN: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = (
    (re.compile(rf"{_JOB}/exceptions(\?|$)"), frozenset()),
    (re.compile(rf"{_JOB}/checkpoints(/|\?|$)"), frozenset({"failure_message"})),
)
"""Which answers tell of failures, and under which names; none: everywhere."""


def _veiled(told: JsonValue, veil: Callable[[str], str], keys: frozenset[str], *, is_of_failure: bool) -> JsonValue:
    match told:
        case str():
            return veil(told) if is_of_failure else told
        case dict():
            return {
                name: _veiled(each, veil, keys, is_of_failure=is_of_failure or name in keys)
                for name, each in told.items()
            }
        case list():
            return [_veiled(each, veil, keys, is_of_failure=is_of_failure) for each in told]
        case _:
            return told


def _event(event: JsonValue) -> JsonValue:
    run = _dict(_dict(event).get("run"))
    inputs, outputs = _dict(event).get("inputs"), _dict(event).get("outputs")
    parent = _dict(_dict(run.get("facets")).get("parent"))
    facets: JsonValue = {}
    if parent:
        part_of = {"job": _only(parent.get("job"), "namespace", "name"), "run": _only(parent.get("run"), "runId")}
        facets = {"parent": {name: told for name, told in part_of.items() if told}}
    return {
        **_only(event, "eventTime", "eventType"),
        "run": {**_only(run, "runId"), "facets": facets},
        "job": _only(_dict(event).get("job"), "namespace", "name"),
        "inputs": [_dataset(each) for each in (inputs if isinstance(inputs, list) else [])],
        "outputs": [_dataset(each) for each in (outputs if isinstance(outputs, list) else [])],
    }


def _dataset(told: JsonValue) -> JsonValue:
    named = _only(told, "namespace", "name")
    facets = _only(_dict(told).get("facets"), *_DATASET)
    scan = _only(_dict(_dict(told).get("inputFacets")).get("icebergScanReport"), *_SCAN)
    return {**named, "facets": facets, **({"inputFacets": {"icebergScanReport": scan}} if scan else {})}


def _only(told: JsonValue, *names: str) -> dict[str, JsonValue]:
    return {name: value for name, value in _dict(told).items() if name in names}


def _dict(told: JsonValue) -> dict[str, JsonValue]:
    return told if isinstance(told, dict) else {}
