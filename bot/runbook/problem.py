"""What is wrong with one runbook, at lines that an editor can jump to."""

from collections.abc import Iterable

from bot.domain.errors import BadConfiguration
from bot.domain.file_problem import Problem
from bot.domain.sentences import counted


class Problems:
    """Collects the problems of one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Problem] = []

    def add(self, line: int, expected: str, found: str, do: str) -> None:
        """Note one; each part is a clause without its full stop."""
        self.found.append(Problem(file=self.file, line=line, message=f"Expected {expected}; found {found}. {do}."))


def refuse(file: str, found: Iterable[Problem]) -> BadConfiguration:
    """The error for a runbook that cannot be used: every problem on a line of its own."""
    lines = [str(problem) for problem in sorted(found, key=lambda p: (p.line, p.message))]
    return BadConfiguration(
        f"The runbook {file} is not well formed: {counted(len(lines), 'problem')}.",
        "\n" + "\n".join(lines) + "\n",
        "Correct these lines and run `waterline lint`.",
    )
