"""Findings without the values of hidden columns: what is kept of them, and what leaves the bot.

Words and samples of an answer are made without such values. A finding is read by programs, so it has them where
nothing else would do: exact paths and the bounds of a replay are acted on. These are kept, and never leave.

What the record says to people, without the values of hidden columns. What is carried out stays exact.

Files are named by their paths, and the path of a partitioned table carries values of its columns. The veil is laid on
where text is made or kept, so that every view of the record (card, notice, page, export) is without them.
"""

import json
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from pydantic import TypeAdapter

from bot.history.case import Case
from bot.incident.entries import Body
from bot.incident.journal import Line
from bot.observation.contract import TableContract
from bot.observation.evidence import Evidence, Observation
from bot.observation.findings import Finding, GapsFinding, RecoveryExtentFinding, ReplayableFinding, ReplayedRowsFinding
from bot.observation.looked import NotSeen, Seen
from bot.observation.masking import veiled_run
from bot.observation.record import Record
from bot.observation.replay import ReplayRange

R = TypeVar("R", bound=Record)


def kept(finding: Finding, contract: TableContract) -> Finding:
    """As the record keeps it: without the positions that a contract hides, unless they are acted on."""
    if isinstance(finding, GapsFinding) and contract.hides(contract.position_partition):
        finding = finding.model_copy(update={"tops": {}})
    if not contract.hides(contract.position):
        return finding
    match finding:
        case GapsFinding():
            return finding.model_copy(
                update={
                    "lowest": None,
                    "highest": None,
                    "tops": {},
                    "gaps": (),
                    "on_broker": None,
                    "is_hidden": finding.has_positions,
                }
            )
        case ReplayedRowsFinding():
            return finding.model_copy(update={"first": None, "last": None})
        case RecoveryExtentFinding():
            bare = {"position_until": None, "source_positions": ()}
            return finding.model_copy(update={"points": tuple(p.model_copy(update=bare) for p in finding.points)})
        case _:
            return finding


def outgoing(evidence: Evidence, contract: TableContract) -> Evidence:
    """The same evidence as a stranger may have it."""
    if not contract.redacted:
        return evidence
    finding = None if evidence.finding is None else _outgoing(evidence.finding, contract)
    return _without_paths(evidence.model_copy(update={"finding": finding}), contract.veiled)


def outgoing_case(case: Case, contract: TableContract) -> Case:
    """The same case; it is diagnosed as before, for no mode compares hidden values."""
    if not contract.redacted:
        return case
    findings = {
        name: _without_paths(_outgoing(value, contract), contract.veiled)
        for name in Case.model_fields
        if hasattr(value := getattr(case, name), "kind")
    }
    evidence = tuple(outgoing(each, contract) for each in case.evidence)
    world = _without_failures(_without_offsets(case.observation, contract), contract.veiled)
    return case.model_copy(update={**findings, "evidence": evidence, "observation": world})


def names_hidden(value: object, contract: TableContract) -> bool:
    """Whether what JSON holds names, at any depth, bounds of a replay by values of hidden columns."""
    match value:
        case dict():
            return _is_hidden_range(value, contract) or any(names_hidden(each, contract) for each in value.values())
        case list():
            return any(names_hidden(each, contract) for each in value)
        case _:
            return False


def _is_hidden_range(value: dict[object, object], contract: TableContract) -> bool:
    bounds = value.get("bounds")
    if not isinstance(bounds, dict):
        return False
    times = (*(part.get(end) for part in (value, bounds) for end in ("event_from", "event_until")),)
    return (contract.hides(contract.position) and bool(bounds.get("positions"))) or (
        contract.hides(contract.event_time) and any(times)
    )


def _outgoing(finding: Finding, contract: TableContract) -> Finding:
    told = kept(finding, contract)
    if not isinstance(told, ReplayableFinding):
        return told
    none = ReplayRange()
    bounds, times = told.bounds, {"event_from": None, "event_until": None}
    if contract.hides(contract.position):
        bounds = bounds.model_copy(update={"positions": none.positions})
    if contract.hides(contract.event_time):
        bounds, told = bounds.model_copy(update=times), told.model_copy(update=times)
    return told.model_copy(update={"bounds": bounds})


def _without_paths(record: R, veil: Callable[[str], str]) -> R:
    """The same; no path in it shows a partition that is made of a hidden column."""
    return type(record).model_validate(_each_text(record.model_dump(mode="json"), veil))


def _each_text(value: object, change: Callable[[str], str], but: Collection[str] = ()) -> object:
    """What JSON holds, with every text changed but those of the fields `but`."""
    match value:
        case str():
            return change(value)
        case dict():
            return {key: each if key in but else _each_text(each, change, but) for key, each in value.items()}
        case list():
            return [_each_text(each, change, but) for each in value]
        case _:
            return value


def _without_offsets(world: Observation, contract: TableContract) -> Observation:
    """Positions are Kafka's offsets: where the contract hides them, so is where the source of a restore goes on, and
    what the broker holds."""
    if not contract.hides(contract.position):
        return world
    world = world.model_copy(update={"kafka": None})
    if isinstance(world.checkpoints, NotSeen):
        return world
    bare = tuple(each.model_copy(update={"source_positions": ()}) for each in world.checkpoints.values)
    return world.model_copy(update={"checkpoints": world.checkpoints.model_copy(update={"values": bare})})


def _without_failures(world: Observation, veil: Callable[[str], str]) -> Observation:
    """The failures of every run name no file by a partition that is made of a hidden column."""
    seen = {name: told for name in ("jobs", "others") if isinstance(told := getattr(world, name), Seen)}
    veiled = {
        name: told.model_copy(update={"values": tuple(veiled_run(run, veil) for run in told.values)})
        for name, told in seen.items()
    }
    return world.model_copy(update=veiled)


_BODY: TypeAdapter[Body] = TypeAdapter(Body)


_EXACT = frozenset(
    {"effects", "requirements", "finding", "result", "path", "before", "runbook", "metadata_location"}
)  # fmt: skip
"""Fields that are acted on and not read out: another path in them would be another file."""


def veiled_body(body: Body, contract: TableContract) -> Body:
    """The same entry; nothing that people read in it shows a value of a hidden column."""
    if not contract.redacted or not has_hidden(body.model_dump_json(), contract):
        return body
    plain = body.model_dump(mode="json")
    return _BODY.validate_json(json.dumps(_each_text(plain, contract.veiled, _EXACT)))


def has_hidden(text: str, contract: TableContract) -> bool:
    """Whether a text shows a value of a hidden column in a path."""
    return contract.veiled(text) != text


def withheld_from(lines: Sequence[Line], contract: TableContract) -> frozenset[int]:
    """The numbers of the entries whose stored text names files or source ranges by values of hidden columns."""
    return frozenset(line.seq for line in lines if has_hidden(line.body, contract) or _has_range(line, contract))


def _has_range(line: Line, contract: TableContract) -> bool:
    return bool(contract.redacted) and '"bounds"' in line.body and names_hidden(json.loads(line.body), contract)
