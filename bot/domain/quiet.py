"""Hours in which nobody is to be disturbed by what can wait."""

from datetime import time
from zoneinfo import ZoneInfo, available_timezones

from pydantic import Field, field_validator

from bot.domain.record import Record, Utc


class QuietHours(Record):
    """Every day from `since` until `until`, over midnight if `until` is the earlier one."""

    since: time = Field(description="When they begin, by the clock of the zone.", examples=["22:00"])
    until: time = Field(description="When they end; what waited is told then.", examples=["07:00"])
    zone: str = Field(default="UTC", description="Time zone, by its name in the tz database.", examples=["UTC"])
    urgent_too: bool = Field(
        default=False,
        description="Whether urgent findings wait as well; by default they are told at any hour.",
        examples=[True],
    )

    @field_validator("zone")
    @classmethod
    def _is_known(cls, zone: str) -> str:
        if zone not in available_timezones():
            raise ValueError("a zone of the tz database, such as Europe/Berlin")
        return zone

    def silence(self, at: Utc, *, is_urgent: bool) -> bool:
        """Whether something of this urgency waits at this moment."""
        if is_urgent and not self.urgent_too:
            return False
        now = at.astimezone(ZoneInfo(self.zone)).time()
        if self.since <= self.until:
            return self.since <= now < self.until
        return now >= self.since or now < self.until
