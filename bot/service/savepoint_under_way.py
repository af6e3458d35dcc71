"""While a savepoint is proposed, the plan that it was made from stands."""

from bot.domain.effects import KeepSavepoint
from bot.domain.errors import Refused
from bot.domain.execution import AT_WORK, UNFINISHED
from bot.domain.incident import Incident


def must_not_be_proposed(now: Incident) -> None:
    """Raises Refused: what is approved is the plan as it was shown, another one needs another proposal."""
    of_savepoint = (v for v in now.proposals.values() if any(isinstance(e, KeepSavepoint) for e in v.proposal.effects))
    busy = next((v for v in of_savepoint if v.state in UNFINISHED), None)
    if busy is not None:
        raise Refused(
            "A savepoint is proposed already: its plan is not changed under it.",
            f"“{busy.proposal.title}” in {now.id} is {busy.state.value}, with its terms as they were shown.",
            "Wait for its end." if busy.state in AT_WORK else "Reject it first; then plan anew and propose again.",
        )
