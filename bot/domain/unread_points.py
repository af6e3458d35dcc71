"""Restore points that storage has and nobody could read: archived, denied, or too large. Each may be a good one, and
nearer than the one that is chosen."""

from bot.domain.flink import StoredCheckpoint
from bot.domain.looked import NotSeen, Seen
from bot.domain.sentences import counted

_NAMED = 3


def unread_points(stored: Seen[StoredCheckpoint] | NotSeen) -> tuple[StoredCheckpoint, ...]:
    """As listed. Those that are broken or unfinished are not among them: nothing could be restored from those."""
    return tuple(each for each in stored.values if each.is_unread)


def beside(stored: Seen[StoredCheckpoint] | NotSeen, chosen: str | None = None) -> str | None:
    """What to know before an older one is taken for the nearest (`chosen`: its path), a sentence or more; None where
    every point could be read."""
    unread = unread_points(stored)
    if not unread:
        return None
    told = " ".join(f"{each.path}: {each.problem}" for each in unread[:_NAMED])
    more = f" And {len(unread) - _NAMED} more." if len(unread) > _NAMED else ""
    than = "" if chosen is None else f" than {chosen}"
    could = "could not be read and may be" if len(unread) == 1 else "could not be read, and one of them may be"
    return f"{counted(len(unread), 'restore point')} {could} a nearer one{than}. {told}{more}"
