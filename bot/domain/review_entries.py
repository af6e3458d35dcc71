"""What the journal can say of a contract review; `entries` has it with all the others."""

from typing import Literal

from bot.domain.ids import UserId
from bot.domain.record import Record, Utc

Contract = Literal["state", "checkpoint", "table", "approval"]


class Finding(Record):
    """One line of the contract review."""

    contract: Contract
    term: str
    observed: str
    holds: bool | None
    action: str
    owner: UserId | None = None
    """Who was to fix it when the review was opened; None: nobody has to."""
    due: Utc | None = None
    """Until when."""


class ReviewOpened(Record):
    kind: Literal["review-opened"] = "review-opened"
    findings: tuple[Finding, ...]
    snippet: str | None = None
    """YAML to add to the table's data contract; None: it has no file, or nothing is to be added."""


class FindingAssigned(Record):
    """Who fixes a term until when; the newest one counts."""

    kind: Literal["finding-assigned"] = "finding-assigned"
    contract: Contract
    term: str
    owner: UserId
    due: Utc


class FindingSettled(Record):
    """A term is fixed, or is accepted as it is, with what was done or why."""

    kind: Literal["finding-settled"] = "finding-settled"
    contract: Contract
    term: str
    how: Literal["fixed", "accepted"]
    reason: str
