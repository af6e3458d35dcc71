"""What evidence counted when it confirmed the fault, and some of the keys that it found. Pure."""

from collections.abc import Iterator
from typing import TypeVar

from bot.incident.incident import Incident
from bot.notices.extent import KeysChanged
from bot.notices.facts import Damage
from bot.observation.contract import HIDDEN, TableContract
from bot.observation.evidence import Evidence, Verdict
from bot.observation.findings import (
    CorrectedRowsFinding,
    DuplicatesFinding,
    ExtraCopiesFinding,
    Finding,
    GapsFinding,
    ReplayableFinding,
)

F = TypeVar("F", bound=Finding)
MOST_KEYS = 5
MOST_CHARACTERS = 60
"""Of one value of a key."""


def damage_of(incident: Incident, contract: TableContract) -> Damage:
    """By the newest *confirmed* evidence on main: after a repair, later evidence rightly counts nothing. Event times
    that the contract hides are not told."""
    duplicates = _newest(incident, DuplicatesFinding)
    gaps = _newest(incident, GapsFinding)
    again = _newest(incident, ReplayableFinding)
    missing = gaps[1].missing if gaps else again[1].absent if again else None
    timed = again[1] if again and not contract.hides(contract.event_time) else None
    return Damage(
        extra_rows=duplicates[1].extra_rows if duplicates else None,
        missing_positions=missing,
        lost_for_good=(kept.lost_positions or None) if gaps and (kept := gaps[1].on_broker) else None,
        missing_from=timed.event_from if timed else None,
        missing_until=timed.event_until if timed else None,
        keys=_keys(incident, contract),
    )


def _keys(incident: Incident, contract: TableContract) -> KeysChanged | None:
    duplicates = _newest(incident, DuplicatesFinding)
    copies = _newest(incident, ExtraCopiesFinding)
    corrected = _newest(incident, CorrectedRowsFinding)
    if not (duplicates or copies or corrected):
        return None
    counted = {**(copies[1].columns if copies else {}), **(corrected[1].columns if corrected else {})}
    told = [found[0] for found in (corrected, duplicates, copies) if found]
    samples = [sample for evidence in told for sample in (_sample(evidence, contract),) if sample]
    return KeysChanged(
        columns=contract.key,
        repeated=duplicates[1].keys if duplicates else copies[1].keys if copies else None,
        changed=corrected[1].keys if corrected else None,
        gone=corrected[1].gone if corrected else None,
        differing=tuple(sorted(counted, key=lambda column: (-counted[column], column))),
        sample=samples[0] if samples else (),
        is_hidden=bool(contract.key) and all(contract.hides(column) for column in contract.key),
    )


def _sample(evidence: Evidence, contract: TableContract) -> tuple[str, ...]:
    """`4711`; `region EU, order_id 4711` of several columns. What is hidden by now is hidden, whenever it was seen."""
    places = [evidence.columns.index(column) for column in contract.key if column in evidence.columns]
    if not places or len(places) < len(contract.key) or all(contract.hides(column) for column in contract.key):
        return ()
    told = []
    for row in evidence.rows[:MOST_KEYS]:
        values = [HIDDEN if contract.hides(evidence.columns[place]) else row[place] for place in places]
        names = [f"{evidence.columns[place]} " if len(places) > 1 else "" for place in places]
        told.append(", ".join(name + _cut(value) for name, value in zip(names, values, strict=True)))
    return tuple(told)


def _cut(value: str) -> str:
    return value if len(value) <= MOST_CHARACTERS else f"{value[: MOST_CHARACTERS - 1]}…"


def _newest(incident: Incident, kind: type[F]) -> tuple[Evidence, F] | None:
    return next(
        ((each, each.finding) for each in reversed([*_confirmed(incident)]) if isinstance(each.finding, kind)), None
    )


def _confirmed(incident: Incident) -> Iterator[Evidence]:
    for run in incident.runs.values():
        if run.evidence is not None and run.branch is None and run.evidence.verdict is Verdict.CONFIRMED:
            yield run.evidence
