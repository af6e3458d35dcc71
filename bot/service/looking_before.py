"""Which evidence is collected before a proposal by the action itself, so that nobody has to ask for it."""

from collections.abc import Iterator, Sequence

from bot.actions._copies_since import may_have_come_since
from bot.domain.findings import ExtraCopiesFinding
from bot.domain.incident import Incident
from bot.service.diagnosing import Diagnostician
from bot.service.observing import Observer


def to_look_at(
    incident: Incident, tasks: Sequence[str], observer: Observer, diagnostician: Diagnostician
) -> Iterator[str]:
    """Those of `tasks` that have no answer, and extra copies where the job may have brought further ones since: that
    costs one more look at the world. Raises CouldNotLook."""
    for task in tasks:
        run = incident.latest.get(task)
        known = run.evidence if run is not None else None
        if known is None:
            yield task
        elif isinstance(known.finding, ExtraCopiesFinding):
            world = observer.observe(incident.opened.table, window=incident.window)
            if may_have_come_since(diagnostician.case(incident, world), known.head):
                yield task
