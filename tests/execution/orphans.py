"""Old files that nothing names, and their removal, approved."""

import os
import shutil
from functools import partial
from pathlib import Path
from typing import Any

from bot.actions import remove_orphan_files, undo_proposal
from bot.adapters.table_files import FolderOfTable
from bot.domain.action import Plan
from bot.domain.errors import OutcomeUnknown
from bot.domain.execution import ProposalView
from bot.domain.findings import OrphanFilesFinding
from bot.service.choosing import newest_that_did_anything
from tests.actions.scene import Scene
from tests.tables import ORDERS

_YEARS_AGO = 1_700_000_000
"""Seconds since 1970."""


class Orphans:
    """Three old files that nothing names, and their approved removal."""

    def __init__(self, folder: Path) -> None:
        self.scene = Scene.made_in(folder)
        data = folder / "lake/sales/orders/data"
        whole = next(data.glob("*.parquet"))
        self.files = [data / f"left-{number}.parquet" for number in range(3)]
        for file in self.files:
            shutil.copy(whole, file)
            os.utime(file, (_YEARS_AGO, _YEARS_AGO))
        plan = self._plan(self.scene.plan())
        found = OrphanFilesFinding(
            files_listed=9, orphans=3, bytes=4, young=0, paths=tuple(f"file://{file}" for file in self.files)
        )
        plan = plan.model_copy(update={"case": plan.case.model_copy(update={"orphans": found})})
        self.proposal = self.scene.approved(remove_orphan_files.propose(plan), plan).id
        self.files_port = self.scene.observer.hands.files

    def _plan(self, plan: Plan) -> Plan:
        return plan.model_copy(update={"written_at": partial(FolderOfTable().written_at, ORDERS)})

    @property
    def there(self) -> list[bool]:
        """Which of them are where they were."""
        return [file.exists() for file in self.files]

    @property
    def view(self) -> ProposalView:
        """The removal, as the record tells."""
        return self.scene.view(self.proposal)

    def begins(self) -> None:
        """Who proposed it has it carried out."""
        self.scene.executions.begin(self.scene.incident, self.proposal, by=self.view.proposal.proposed_by)

    def carries_on(self) -> None:
        """As the bot does every few seconds, and at each start."""
        self.scene.executions.carry_on(self.scene.incident, self.proposal)

    def close(self) -> None:
        """Give the connections back."""
        self.scene.record.close()
        self.scene.catalog.close()

    def breaks_off_after_the_first(self) -> None:
        """Storage goes away in the middle, once."""
        move = self.files_port.move

        def one(table: Any, moves: Any, note: str) -> Any:
            self.files_port.move = move  # type: ignore[method-assign]
            move(table, moves[:1], note)
            raise OutcomeUnknown("Storage does not tell where a file is.", "", "")

        self.files_port.move = one  # type: ignore[method-assign]

    def undone(self) -> ProposalView:
        """By a proposal of its own."""
        meant = newest_that_did_anything(self.scene.store.get(self.scene.incident))
        plan = self._plan(self.scene.plan(undoes=meant, number=2))
        return self.scene.carries_out(undo_proposal.propose(plan), plan)
