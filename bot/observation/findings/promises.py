"""What evidence found against promises: freshness, schema, contracts, and who read what."""

from typing import Literal

from bot.observation.ids import JobId, SnapshotId
from bot.observation.readers import ReadRun
from bot.observation.record import Record, Utc


class FreshnessFinding(Record):
    """How old the newest commit and the newest event are, when the metadata was read."""

    kind: Literal["freshness"] = "freshness"
    newest_commit: SnapshotId | None
    """The newest commit on main that added rows."""
    commit_age_s: float | None
    event_age_s: float | None
    """Age of the highest event time of the newest commits, at least that of the newest commit; None when the contract
    names no such column, or it is not known."""
    promised_s: float | None
    """What the contract allows."""
    promised_cadence_s: float | None
    """Expected time between commits."""
    commits_checked: int
    is_event_time_stuck: bool
    """Whether commits with rows came and the highest event time did not rise in the last three of them (F24)."""
    stuck_at: Utc | None = None


Side = Literal["table", "contract", "files", "earlier-table", "state"]


class SchemaDifference(Record):
    """One column about which two of table, contract and job disagree."""

    column: str
    between: tuple[Side, Side]
    """`state`: what the job would write if it were restored from the newest restore point as it was."""
    expected: str
    found: str


class SchemaDriftFinding(Record):
    """The table's schema against the contract, itself where the window begins, and what is written."""

    kind: Literal["schema-drift"] = "schema-drift"
    differences: tuple[SchemaDifference, ...]
    all_null: tuple[str, ...]
    """Columns that were added after the table was made and that every file of the window by Flink leaves null or does
    not have, of the commits whose own schema has the column."""
    untold: tuple[str, ...] = ()
    """Such columns that no file is known to fill, because a writer kept no counts: not seen, so not excluded."""
    added_at: SnapshotId | None
    """First commit of the window under the present schema; None when the schema did not change within it."""
    state_run: JobId | None = None
    """The run whose columns were compared as those of the job's state; None: not known."""
    not_in_state: tuple[str, ...] = ()
    """Columns of the table that this run does not know, so that it leaves them null."""
    not_in_table: tuple[str, ...] = ()
    """Columns that this run goes on writing and the table no longer has, so that no reader sees them."""


class ReadsFinding(Record):
    """Consumer runs that read a state above the trusted snapshot, or one that was rolled back."""

    kind: Literal["reads"] = "reads"
    trusted: SnapshotId | None
    above: tuple[ReadRun, ...]
    """Oldest first."""
    not_told: tuple[ReadRun, ...]
    """Runs within the window's time whose snapshot no event tells."""
    runs_checked: int


Contract = Literal["state", "checkpoint", "table", "approval"]


class Term(Record):
    contract: Contract
    term: str
    observed: str
    holds: bool | None
    """None when it could not be observed."""
    action: str = ""
    """What to do about it; empty where it holds."""


class ContractAgreementFinding(Record):
    """State, checkpoint and table contract, each term against what was observed."""

    kind: Literal["contract-agreement"] = "contract-agreement"
    terms: tuple[Term, ...]
