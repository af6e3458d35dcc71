"""Proves exported records by themselves: no database, no configuration, no network."""

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console

from bot.bootstrap import records
from bot.domain.errors import BadConfiguration
from bot.domain.seal import Seal, asked, seal_fault
from bot.service.record import Proof

console = Console(soft_wrap=True, highlight=False)


def verify_files(files: Sequence[Path], anchors: Sequence[str], posted: Sequence[Seal]) -> None:
    """One line a file, and its seal. Exit code 1 if anything does not fit. Raises BadConfiguration."""
    is_whole = True
    for file in files:
        proof = records().prove(_text_of(file))
        faults = [*([proof.fault] if proof.fault else []), *_unlike(proof, anchors, posted)]
        is_whole = is_whole and not faults
        for fault in faults:
            console.print(f"{file.name}, {proof.seal.incident_id}: {fault}", markup=False)
        if not faults:
            console.print(
                f"{file.name}, {proof.seal.incident_id}: {proof.seal.seq} entries, every one fits.", markup=False
            )
            console.print(f"  {_shown(proof)}", markup=False)
            console.print(f"  Ends with the seal {proof.seal}: compare it with the incident's thread.", markup=False)
    if not is_whole:
        raise typer.Exit(code=1)


def _unlike(proof: Proof, anchors: Sequence[str], posted: Sequence[Seal]) -> list[str]:
    """What does not fit between the file and seals that were kept elsewhere."""
    if proof.fault is not None:
        return []
    record = {proof.seal.incident_id: proof.entries}
    seals = [seal for text in anchors for seal in asked(text, record)]
    seals += [seal for seal in posted if seal.incident_id == proof.seal.incident_id and seal.seq <= proof.seal.seq]
    faults = (seal_fault(seal, record.get(seal.incident_id, ())) for seal in seals)
    return [fault.sentence for fault in faults if fault is not None]


def _shown(proof: Proof) -> str:
    if proof.not_compared is not None:
        return f"What the file shows was not held against them: {proof.not_compared}."
    return "What the file shows is what they say."


def _text_of(file: Path) -> str:
    try:
        return file.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfiguration(
            f"{file} cannot be read.", f"Found {type(error).__name__}: {error}.", "Name a record that was exported."
        ) from error
