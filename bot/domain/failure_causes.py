"""What made a job fail, where neither its state nor the table did: a right, a quota, a disk, a lock, memory, a service.

Then a restore fails again for the same reason. A cause that is not known here is quoted as Flink says it.
"""

import re
from typing import NamedTuple

from bot.domain.flink import Failure

_KNOWN = (
    (
        r"access ?denied|accesscontrol|forbidden|unauthorized|not authorized|permission denied|expired ?token|"
        r"invalidaccesskey|signaturedoesnotmatch|status code:? 40[13]\b",
        "the job lacks a right, or its credentials are not valid",
        "grant the right, or renew the credentials",
    ),
    (
        r"quota|throttl|slow ?down|too ?many ?requests|limitexceeded|request rate|status code:? (429|503)\b",
        "a quota is used up, or requests are throttled",
        "raise the quota, or lower the load on that service",
    ),
    (
        r"no space left|enospc|diskerror|disk (is )?full|not enough space|namespace is over",
        "a disk is full",
        "free space on that disk",
    ),
    (
        r"outofmemory|oomkilled|exit ?code:? (is )?137|beyond .{0,40}memory limit|gc overhead",
        "a process ran out of memory",
        "give the TaskManagers or the JobManager more memory",
    ),
    (
        r"commitstateunknown",
        "the catalog did not say whether a commit was made",
        "see that the catalog answers, and whether main has that commit",
    ),
    (
        r"waiting for lock|acquir\w* (the |a )?(\w+ )?lock|lock (is )?held|lockexception|locked by|lock timeout",
        "somebody holds a lock",
        "find who holds the lock, and release it once that one has ended",
    ),
    (
        r"connection refused|unknownhost|no route to host|connect(ion)? timed out|connecttimeout|name or service not|"
        r"nodename nor servname|temporary failure in name",
        "a service does not answer",
        "bring that service up, or correct its address",
    ),
)
"""Pattern of the exception's text -> what it means, and what to do first."""


class Cause(NamedTuple):
    """Why a job failed, by the innermost exception."""

    said: str
    """Flink's words."""
    meaning: str | None
    """A clause; None: it is not one of those that lie outside of job and table."""
    first: str | None
    """What has to be done before the job can be restored, a clause."""

    @property
    def in_words(self) -> str:
        """Sentences."""
        said = f"Root cause: {self.said.rstrip('.')}."
        if self.meaning is None or self.first is None:
            return said
        return f"{said} So {self.meaning}. {self.first[0].upper()}{self.first[1:]} first: a restore does not cure it."


def cause_of(failure: Failure) -> Cause:
    """The innermost of its exceptions that is known, else the innermost."""
    told = failure.message
    if not told.startswith(failure.exception):
        told = f"{failure.exception}: {told}"
    return cause_in(*reversed(failure.causes), told)


def cause_in(*lines: str) -> Cause:
    """The first of these that is known, else the first; innermost first."""
    for line in lines:
        for pattern, meaning, first in _KNOWN:
            if re.search(pattern, line, re.IGNORECASE):
                return Cause(line, meaning, first)
    return Cause(lines[0], None, None)
