"""What no ledger of an incident has seen yet: commits that came after the newest one, or were taken back since."""

import threading
from collections.abc import Sequence

import structlog
from ulid import ULID

from bot.domain.contract import TableContract
from bot.domain.errors import WaterlineError
from bot.domain.evidence import Ask, Observation
from bot.domain.findings import LedgerFinding
from bot.domain.ids import EvidenceId
from bot.domain.incident import Incident
from bot.domain.ledger import LedgerRow
from bot.domain.table import Snapshot, Window
from bot.evidence import Collector
from bot.notices.affecting import affected_commits
from bot.notices.whereabouts import changes_rows, ledger_rows

log = structlog.get_logger(__name__)
PATIENCE_S = 20.0
"""Somebody waits for a preview. A ledger takes less than a second where Spark is up."""
_LINES = 3
"""Lines of commits that are read: main, and what was rolled back beside it."""


class NewerCommits:
    """Reads the manifests of such commits, no rows, and keeps nothing: a ledger of an incident is asked for there."""

    def __init__(self, collector: Collector, patience_s: float = PATIENCE_S) -> None:
        self._collector = collector
        self._patience_s = patience_s

    def rows(self, incident: Incident, observation: Observation, contract: TableContract) -> tuple[LedgerRow, ...]:
        """One row a commit. Empty where there is none, where no ledger was asked for at all, and where Spark does not
        answer in time: notices then say of how many commits it is not known."""
        table = observation.table
        commits = affected_commits(incident, table)
        seen = ledger_rows(incident, commits)
        found: dict[int, LedgerRow] = {}
        for _ in range(_LINES if "ledger" in incident.latest else 0):
            unseen = [
                each
                for each in commits
                if each.snapshot_id not in seen and each.snapshot_id not in found and changes_rows(each, None)
            ]
            if not unseen:
                break
            told = self._ledger(observation, contract, _line_of(unseen))
            if not any(row.snapshot_id == unseen[-1].snapshot_id for row in told):
                break
            found |= {row.snapshot_id: row for row in told}
        return tuple(found.values())

    def _ledger(self, observation: Observation, contract: TableContract, window: Window) -> tuple[LedgerRow, ...]:
        run = EvidenceId(str(ULID()))
        ask = Ask(observation=observation, window=window, contract=contract)
        answer: list[tuple[LedgerRow, ...]] = []

        def collect() -> None:
            try:
                finding = self._collector.collect("ledger", ask, run=run).finding
            except WaterlineError as error:
                log.info("newer commits not read", problem=str(error))
                return
            answer.append(finding.ledger.rows if isinstance(finding, LedgerFinding) else ())

        reading = threading.Thread(target=collect, name="newer-commits", daemon=True)
        reading.start()
        reading.join(self._patience_s)
        if reading.is_alive():
            self._collector.cancel(run)
        return answer[0] if answer else ()


def _line_of(unseen: Sequence[Snapshot]) -> Window:
    """From below the oldest up to the newest, which may have been rolled back."""
    return Window(since=unseen[0].parent_id, until=unseen[-1].snapshot_id)
