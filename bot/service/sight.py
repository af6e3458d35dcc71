"""One thing that the watch or somebody else saw, with all that is known of it since."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.domain.incident import Incident
from bot.domain.watch import Ended, Looked, Muted, Sighted

_STILL_TOLD = timedelta(days=1)


@dataclass(frozen=True)
class Sight:
    """One sighting as it stands now."""

    sighted: Sighted
    ended: Ended | None
    mute: Muted | None
    """What silences it now."""
    incident: Incident | None
    """The first one since on its table that looks into it: one that put the table in doubt at that time or later."""
    looked: Looked | None = None
    """What the watch saw then, of what somebody else told."""
    beside: Incident | None = None
    """One that is open on its table and has not looked into it: planned work, or one whose table is proven."""

    def has_long_been_over(self, now: datetime) -> bool:
        """Whether it ended a day ago or earlier: who was not told by then has nothing to do about it."""
        return self.ended is not None and now - self.ended.at >= _STILL_TOLD
