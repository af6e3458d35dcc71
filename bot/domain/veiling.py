"""What the record says to people, without the values of hidden columns. What is carried out stays exact.

Files are named by their paths, and the path of a partitioned table carries values of its columns. The veil is laid on
where text is made or kept, so that every view of the record (card, notice, page, export) is without them.
"""

import json
from collections.abc import Sequence

from pydantic import TypeAdapter

from bot.domain.contract import TableContract
from bot.domain.entries import Body
from bot.domain.hidden_values import names_hidden
from bot.domain.journal import Line

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
    return _BODY.validate_json(json.dumps(_veiled(plain, contract)))


def has_hidden(text: str, contract: TableContract) -> bool:
    """Whether a text shows a value of a hidden column in a path."""
    return contract.veiled(text) != text


def withheld_from(lines: Sequence[Line], contract: TableContract) -> frozenset[int]:
    """The numbers of the entries whose stored text names files or source ranges by values of hidden columns."""
    return frozenset(line.seq for line in lines if has_hidden(line.body, contract) or _has_range(line, contract))


def _has_range(line: Line, contract: TableContract) -> bool:
    return bool(contract.redacted) and '"bounds"' in line.body and names_hidden(json.loads(line.body), contract)


def _veiled(value: object, contract: TableContract) -> object:
    match value:
        case str():
            return contract.veiled(value)
        case dict():
            return {key: inner if key in _EXACT else _veiled(inner, contract) for key, inner in value.items()}
        case list():
            return [_veiled(inner, contract) for inner in value]
        case _:
            return value
