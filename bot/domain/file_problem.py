"""What lint finds in a file that people write."""

from bot.domain.record import Record


class Problem(Record):
    """Printed as `file:line: message`."""

    file: str
    line: int
    """1-based."""
    message: str
    """What was expected, what was found, what to do."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"
