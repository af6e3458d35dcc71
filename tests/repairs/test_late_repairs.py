"""A repair whose answer was lost and whose commit appears late, between the look at it and its next intent."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bot.actions import _effects as effects
from bot.actions._effects.kind import Hands, Looked
from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql.store import open_store
from bot.domain.entries import EffectStarted
from bot.domain.errors import OutcomeUnknown
from bot.domain.execution import ProposalState
from bot.domain.proposal import Proposal
from bot.service.incident_store import IncidentStore
from tests.repairs.rehearsed import PROPOSALS, Repaired
from tests.rewound import ANA

Deed = Callable[..., object]


@pytest.mark.parametrize(("name", "deed"), [("rehearse", "change_files"), ("deduplicate", "delete_rows")])
def test_a_commit_that_appears_after_the_look_is_not_made_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, deed: str
) -> None:
    """Twice it is not seen; then it is on the branch, and counts as what it is."""
    repaired = Repaired.made_in(tmp_path, name)
    does: Deed = getattr(repaired.catalog, deed)
    looks = effects.verify
    blind = iter([True, True])

    def loses_the_answer(*asked: object) -> None:
        monkeypatch.setattr(repaired.catalog, deed, does)
        does(*asked)
        raise OutcomeUnknown("The answer was lost.", "", "")

    def looks_too_early(hands: Hands, proposal: Proposal, intent: EffectStarted) -> Looked:
        if intent.index == 2 and next(blind, False):
            return Looked(happened="no", sentence="Branch has no such commit.")
        return looks(hands, proposal, intent)

    monkeypatch.setattr(repaired.catalog, deed, loses_the_answer)
    monkeypatch.setattr(effects, "verify", looks_too_early)
    record = open_store(f"sqlite:///{tmp_path}/journal.db")
    store = IncidentStore(record.journal, SystemClock())
    executions, incident = repaired.executions(store), store.all()[0].id
    executions.begin(incident, PROPOSALS[name], by=ANA)
    for _ in range(3):
        executions.carry_on(incident, PROPOSALS[name])
    view = store.get(incident).proposals[PROPOSALS[name]]
    record.close()

    assert repaired.found() == repaired.expected
    repaired.close()
    assert view.state is ProposalState.APPLIED, view.result
    assert "it happened before the refusal" in view.done[2].detail
