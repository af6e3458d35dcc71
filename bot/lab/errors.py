"""The one error of the lab: what happened, what was expected and found, what to do next."""

from pathlib import Path


class LabError(RuntimeError):
    """Raised when the lab cannot go on; the reader repairs the machine or reports a defect."""

    def __init__(self, happened: str, found: str, next_step: str) -> None:
        self.happened = happened
        self.found = found
        self.next_step = next_step
        super().__init__(f"{happened} {found} {next_step}")


def last_lines(log: Path, count: int = 12) -> str:
    """The end of a log file, or a sentence that says there is none."""
    if not log.exists():
        return f"{log} does not exist."
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-count:]
    return "\n".join(lines) if lines else f"{log} is empty."
