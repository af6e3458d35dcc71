"""Whether damage is new though it looks like what a closed incident was about: the same fault of the same run. Pure."""

from datetime import datetime

from bot.domain.entries import WaterlineMoved
from bot.domain.incident import Incident
from bot.domain.table import TableState
from bot.domain.watch import Sighted, Sign


def came_again(sign: Sign, sighted: Sighted, incident: Incident | None, table: TableState) -> bool:
    """`sighted`: the sighting of the same code and subject. `incident`: what took it over.

    True where that is closed and the sign rests on a commit that it did not look at and that nobody was told of. What
    an incident left as it was rests on older ones, and is not told a second time.
    """
    if incident is None or incident.closed_at is None:
        return False
    resting_on = {*sign.rows, sign.last_good} - {*sighted.sign.rows, sighted.sign.last_good}
    commits = (table.by_id.get(each) for each in resting_on if each is not None)
    looked_until = _looked_until(incident, incident.closed_at, table)
    return any(commit.committed_at > looked_until for commit in commits if commit is not None)


def _looked_until(incident: Incident, closed_at: datetime, table: TableState) -> datetime:
    """When the newest commit was made that it proved, by the clock of who commits; else when it was closed."""
    moved = (entry.body for entry in reversed(incident.entries) if isinstance(entry.body, WaterlineMoved))
    proven = next((body.snapshot for body in moved if body.status == "trusted"), None)
    commit = table.by_id.get(proven) if proven is not None else None
    return closed_at if commit is None else commit.committed_at
