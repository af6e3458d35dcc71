"""Changes of a data contract as a diff of its file, each read again after it was applied: what the standard's own
model does not take, or reads as something else, is left to people."""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ruamel.yaml.error import YAMLError

from bot.adapters.contract_edits import edited, holds, in_words
from bot.adapters.contracts import contract_of
from bot.domain.contract import TableContract
from bot.domain.errors import BadConfiguration
from bot.domain.ids import TableName
from bot.domain.review_changes import ContractChange
from bot.domain.review_entries import ContractPatch


class ContractFiles:
    """The port `Contracts` on files in the Open Data Contract Standard."""

    def __init__(self, files: Mapping[TableName, Path]) -> None:
        self._files = files

    def filed(self, table: TableName) -> TableContract | None:
        """What the file says now."""
        file = self._files.get(table)
        return None if file is None else contract_of(file, table)

    def patch(self, table: TableName, changes: Sequence[ContractChange]) -> ContractPatch | None:
        """One change after the other; each is taken only if afterwards the contract says it, and nothing else new."""
        file = self._files.get(table)
        if file is None or not changes:
            return None
        text = before = _text_of(file)
        said = contract_of(file, table)
        made, left_out = [], []
        for change in changes:
            after = _applied(text, change, table, file)
            if after is None or not holds(change, said, after[1]):
                left_out.append(in_words(change))
                continue
            text, said = after
            made.append(in_words(change))
        return ContractPatch(
            file=file.name, diff=_diff(file.name, before, text), changes=tuple(made), left_out=tuple(left_out)
        )


def _applied(text: str, change: ContractChange, table: TableName, file: Path) -> tuple[str, TableContract] | None:
    """(text, what it says) with the change; None where it cannot be made in this file."""
    try:
        after = edited(text, change, table, file)
        with TemporaryDirectory(prefix="waterline-contract-") as folder:
            copy = Path(folder) / file.name
            copy.write_bytes(after.encode())
            return after, contract_of(copy, table)
    except (BadConfiguration, YAMLError, ValueError):
        return None


def _text_of(file: Path) -> str:
    """As it is stored: line ends are not translated, for the diff must fit them."""
    try:
        return file.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfiguration(
            f"{file}: the data contract cannot be read.", f"Found {type(error).__name__}: {error}.", "Correct the file."
        ) from error


def _diff(name: str, before: str, after: str) -> str:
    """Empty where nothing is changed."""
    lines = difflib.unified_diff(_lines(before), _lines(after), f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    return [f"{line}\n" for line in text.split("\n")[:-1]] + [line for line in text.split("\n")[-1:] if line]
