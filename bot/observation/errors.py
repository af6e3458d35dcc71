"""One tree of errors. Each message says what happened, what was expected and found, and what to do; on one line,
whatever the outside world has put into it."""

from collections.abc import Callable

from pydantic import ValidationError

from bot.observation.sentences import visible


def first_problem(error: ValidationError, whole: str = "the body") -> str:
    """Where something stands that does not fit, and why: `jobs.0.name: Field required`; `whole` names all of it."""
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or whole}: {first['msg']}"


class WaterlineError(Exception):
    """Base of every error that a responder may read."""

    def __init__(self, happened: str, found: str, remedy: str) -> None:
        super().__init__(self.told(" ".join(part for part in (happened, found, remedy) if part)))
        self.happened = happened
        """What happened, a sentence."""
        self.found = found
        """What was expected and what was found, a sentence; may be empty."""
        self.remedy = remedy
        """What to do next, a sentence."""

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.happened, self.found, self.remedy))

    def veil(self, veiled: Callable[[str], str]) -> None:
        """Let all three parts pass through `veiled`: an error of the outside world may name what must not be shown."""
        self.happened, self.found, self.remedy = veiled(self.happened), veiled(self.found), veiled(self.remedy)
        self.args = (self.told(" ".join(part for part in (self.happened, self.found, self.remedy) if part)),)

    @staticmethod
    def told(text: str) -> str:
        return visible(text)


class BadConfiguration(WaterlineError):
    """Raised at start when a file that people write (settings, runbook, message) is not well formed. It is read in a
    terminal, and names one problem a line."""

    @staticmethod
    def told(text: str) -> str:
        return "\n".join(visible(line) for line in text.split("\n"))


class UnknownTable(WaterlineError):
    """Raised when a table is neither configured nor in the catalog."""


class CouldNotLook(WaterlineError):
    """Raised by an adapter when a source cannot be asked; becomes `NotSeen`, never 'nothing found'."""


class NotThere(CouldNotLook):
    """Raised by an adapter when a source answered, and what was looked for is not there."""


class EvidenceFailed(WaterlineError):
    """Raised when a task could not run to its end."""


class EngineEnded(EvidenceFailed):
    """Raised when the engine ended under a task: it says nothing of the table, and the task may be run again."""


class FileNotOpened(EvidenceFailed):
    """Raised when a task failed because a file that the table names is not on storage; the responder hears of F9."""

    def __init__(self, path: str, happened: str, found: str, remedy: str) -> None:
        super().__init__(happened, found, remedy)
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.path, self.happened, self.found, self.remedy))


class FileDamaged(FileNotOpened):
    """Raised when a task failed because a file that the table names is there and cannot be read to its end; the
    responder hears of F9."""


class EvidenceCancelled(WaterlineError):
    """Raised in the running task when a responder cancelled it."""


class NotDelivered(WaterlineError):
    """Raised by a carrier of notices when one try did not arrive, or is not known to have."""

    def __init__(self, happened: str, *, is_final: bool = False, may_be_there: bool = False) -> None:
        """`is_final`: trying again cannot help."""
        super().__init__(happened, "", "")
        self.is_final = is_final
        self.may_be_there = may_be_there

    def __reduce__(self) -> tuple[object, ...]:
        return (_not_delivered, (self.happened, self.is_final, self.may_be_there))


def _not_delivered(happened: str, is_final: bool, may_be_there: bool) -> NotDelivered:
    return NotDelivered(happened, is_final=is_final, may_be_there=may_be_there)


class Refused(WaterlineError):
    """Raised when a rule forbids the request (not an approver, wrong state, reason missing)."""


class NotYet(Refused):
    """Raised when only something that is under way stands against the request: it may be asked for again afterwards,
    so no step ends with it."""


class Superseded(WaterlineError):
    """Raised when the world has moved from what was approved; nothing was changed."""


class CommitRefused(WaterlineError):
    """Raised when whoever was to carry out an effect refused it (the catalog a compare-and-swap, Flink a start or a
    stop): surely not applied, and not to be asked again as it is."""


class CouldNotKeep(WaterlineError):
    """Raised when the record cannot be read or written now (disk full, database away); what was asked for is not
    lost where it was stored, and is not answered with success where it was not."""


class OutcomeUnknown(WaterlineError):
    """Raised when an effect may or may not have happened; it must be verified, never repeated."""


class JournalMoved(WaterlineError):
    """Raised when another request appended first; read again and decide anew."""


class UnknownIncident(WaterlineError):
    """Raised when no incident has this id, or none is open in this channel."""
