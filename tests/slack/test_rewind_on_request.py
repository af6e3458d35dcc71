"""Refusals name the rewind as the way on: then it can be asked for, whatever the diagnosis asks for itself."""

from bot.domain.diagnosis import Diagnosis, Matches, Mode, ModeResult, Remedy
from bot.domain.effects import MoveTable
from bot.domain.entries import Diagnosed
from bot.domain.ids import IncidentId, SnapshotId
from bot.domain.journal import WATERLINE
from bot.workspace import SeenMessage
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder

WL1 = IncidentId("wl-1")


def named(code: str, last_good: SnapshotId | None) -> ModeResult:
    """A mode that holds and asks for a restart of the job."""
    mode = Mode(code=code, name="told", title="told by the test", needs=(), false_positives=(), neighbours=())
    match = Matches(
        headline="Told.", reasons=(), rows=(), last_good=last_good, wrong_run=None, remedy=Remedy.RESTORE_JOB_ONLY
    )
    return ModeResult(mode=mode, examined=match)


def test_a_rewind_goes_to_below_the_oldest_fault_that_is_named(
    collected: SeenMessage, ana: Responder, bot: LittleBot
) -> None:
    """No match asks for it; two name the last snapshot before their fault."""
    table = bot.services.observer.observe("sales.orders").table
    newest, older = table.chain[0].snapshot_id, table.chain[3].snapshot_id
    results = (named("F0", newest), named("F00", None), named("F000", older))
    told = Diagnosed(diagnosis=Diagnosis(results=results))
    bot.services.store.write(WL1, by=WATERLINE, decide=lambda _incident: [told])

    ana.types("/waterline propose rewind_table_and_job only an older point is left", "orders-oncall")
    ana.sees_on_proposal("Approve")

    [view] = bot.services.store.get(WL1).proposals.values()
    [move] = [effect for effect in view.proposal.effects if isinstance(effect, MoveTable)]
    assert move.to in {s.snapshot_id for s in table.ancestors(older)}
    assert "only an older point is left" in view.proposal.because
