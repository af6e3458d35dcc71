"""What was seen of a consumer's run after it said that it ran again, as half a sentence."""

from bot.domain.clock_time import clock_time
from bot.domain.ids import short
from bot.domain.notice_entries import RerunChecked

_MOST = 60


def rerun_words(body: RerunChecked, whose: str = "theirs") -> str:
    """`run r-12 read …377421 on 3 Nov 2026, 03:12 UTC, after the repair`: with the day, as it is looked for over days
    and read on any; for the consumer itself, `whose` is `yours`."""
    if body.found == "none":
        return f"no run of {whose} is seen since"
    if body.found == "unknown":
        return f"whether a run of {whose} read it since could not be looked up: {body.reason.rstrip('.')}"
    run = body.run if len(body.run) <= _MOST else f"{body.run[: _MOST - 1]}…"
    when = f"on {clock_time(body.at)}" if body.at else ""
    if body.found == "unnamed":
        return f"run {run} read it {when}, and its event does not name the snapshot"
    read = short(body.snapshot)
    way = f"what {body.through[0]} had made of {read}" if body.through else read
    told = f"run {run} read {way} {when}"
    if body.found == "good":
        return f"{told}, {'after the repair' if body.is_repaired else 'which is trusted'}"
    return f"{told}, which is {'from before the repair' if body.is_repaired else 'under review'}"
