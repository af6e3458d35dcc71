"""What the journal can say of a contract review; `entries` has it with all the others."""

from datetime import timedelta
from typing import Literal

from bot.domain.ids import IncidentId, TableName, UserId
from bot.domain.record import Record, Utc

Contract = Literal["state", "checkpoint", "table", "approval"]


class ContractPatch(Record):
    """A proposed change of the table's data contract, in the file's own lines."""

    file: str
    """The file's name; the change applies in its folder."""
    diff: str
    """Unified diff, as `patch -p1` and `git apply` take it."""
    changes: tuple[str, ...]
    """One sentence a change, with its reason."""
    left_out: tuple[str, ...] = ()
    """Changes that this file's form does not let be made by itself, each with what to write."""


class EarlierIncident(Record):
    """An earlier incident of the same failure mode, as it stood when the review was opened."""

    id: IncidentId
    table: TableName
    opened_at: Utc
    took: dict[str, timedelta]
    """Metric -> time, of those that are known."""
    broken: tuple[str, ...]
    """Terms that did not hold then and do not now."""
    unsettled: tuple[str, ...]
    """Those of `broken` that nobody had settled since."""


class Finding(Record):
    """One line of the contract review."""

    contract: Contract
    term: str
    observed: str
    holds: bool | None
    action: str
    owner: UserId | None = None
    """Who was to mend it when the review was opened; None: nobody has to."""
    due: Utc | None = None
    """Until when."""


class ReviewOpened(Record):
    kind: Literal["review-opened"] = "review-opened"
    findings: tuple[Finding, ...]
    patch: ContractPatch | None = None
    """The proposed change of the table's data contract; None where it has no file, or nothing is to be changed."""
    earlier: tuple[EarlierIncident, ...] = ()
    """Of the same failure mode, the newest first."""


class FindingAssigned(Record):
    """Who mends a term until when; the newest one counts."""

    kind: Literal["finding-assigned"] = "finding-assigned"
    contract: Contract
    term: str
    owner: UserId
    due: Utc


class FindingSettled(Record):
    """A term is mended, or is accepted as it is, with what was done or why."""

    kind: Literal["finding-settled"] = "finding-settled"
    contract: Contract
    term: str
    how: Literal["mended", "accepted"]
    reason: str
