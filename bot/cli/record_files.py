"""Proves exported records by themselves: no database, no configuration, no network."""

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console

from bot.bootstrap import records
from bot.domain.errors import BadConfiguration
from bot.domain.posted_seals import Posted, faults_of
from bot.domain.seal import asked, seal_fault
from bot.service.record import Proof

console = Console(soft_wrap=True, highlight=False)


_DOES_NOT_FIT, _NOT_COMPARED = 1, 3
"""Exit codes; 2 is that of a command that could not be run."""


def verify_files(files: Sequence[Path], anchors: Sequence[str], posted: Posted) -> None:
    """What became of each file, its first words first, and its seal.

    Exit code 1 if anything does not fit; else 3 if the words of a file could not be held against its entries, so that
    they may be anybody's; 0 only where everything was compared and fits. Raises BadConfiguration.
    """
    codes = {_verified(file, anchors, posted) for file in files}
    code = next((each for each in (_DOES_NOT_FIT, _NOT_COMPARED) if each in codes), 0)
    if code:
        raise typer.Exit(code)


def _verified(file: Path, anchors: Sequence[str], posted: Posted) -> int:
    proof = records().prove(_text_of(file))
    name = f"{file.name}, {proof.seal.incident_id}"
    faults = [*([proof.fault] if proof.fault else []), *_unlike(proof, anchors, posted)]
    for fault in faults:
        console.print(f"Does not fit: {name}: {fault}", markup=False)
    if faults:
        return _DOES_NOT_FIT
    if proof.not_compared is None:
        console.print(f"Fits whole: {name}: {proof.seal.seq} entries, and the file shows what they say.", markup=False)
    else:
        console.print(
            f"Fits in part: {name}: the chain of {proof.seal.seq} entries does. What the file shows was not held "
            f"against them and proves nothing: {proof.not_compared}.",
            markup=False,
        )
    console.print(f"  Ends with the seal {proof.seal}: compare it with the incident's thread.", markup=False)
    return 0 if proof.not_compared is None else _NOT_COMPARED


def _unlike(proof: Proof, anchors: Sequence[str], posted: Posted) -> list[str]:
    """What does not fit between the file and seals that were kept elsewhere."""
    if proof.fault is not None:
        return []
    record = {proof.seal.incident_id: proof.entries}
    seals = [seal for text in anchors for seal in asked(text, record)]
    faults = [seal_fault(seal, record.get(seal.incident_id, ())) for seal in seals]
    faults += faults_of(posted.up_to(proof.seal), record)
    return [fault.sentence for fault in faults if fault is not None]


def _text_of(file: Path) -> str:
    try:
        return file.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfiguration(
            f"{file} cannot be read.", f"Found {type(error).__name__}: {error}.", "Name a record that was exported."
        ) from error
