"""Proves exported records by themselves: no database, no configuration, no network."""

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console

from bot.bootstrap import records
from bot.cli.record_database import DOES_NOT_FIT, NOT_COMPARED
from bot.domain.errors import BadConfiguration
from bot.domain.posted_seals import Posted, faults_of, missing_in, not_looked
from bot.domain.record_file import readable
from bot.domain.seal import asked, seal_fault
from bot.service.record import Proof

console = Console(soft_wrap=True, highlight=False)


def verify_files(files: Sequence[Path], anchors: Sequence[str], posted: Posted | None) -> None:
    """What became of each file, its first words first, and its seal.

    `posted` is None where Slack was not asked. Exit code 1 if anything does not fit; else 3 if the words of a file
    could not be held against its entries, so that they may be anybody's, or a channel could not be read in which its
    seals may be; 0 only where everything was compared and fits. Raises BadConfiguration.
    """
    codes = {_verified(file, anchors, posted) for file in files}
    code = next((each for each in (DOES_NOT_FIT, NOT_COMPARED) if each in codes), 0)
    if code:
        raise typer.Exit(code)


def _verified(file: Path, anchors: Sequence[str], posted: Posted | None) -> int:
    proof = records().prove(_text_of(file))
    name = f"{file.name}, {proof.seal.incident_id}"
    in_slack = None if posted is None else posted.up_to(proof.seal)
    faults = [*([proof.fault] if proof.fault else []), *_unlike(proof, anchors, in_slack)]
    for fault in faults:
        console.print(f"Does not fit: {name}: {fault}", markup=False)
    if faults:
        return DOES_NOT_FIT
    if proof.not_compared is None:
        console.print(f"Fits whole: {name}: {proof.seal.seq} entries, and the file shows what they say.", markup=False)
    else:
        console.print(
            f"Fits in part: {name}: the chain of {proof.seal.seq} entries does. What the file shows was not held "
            f"against them and proves nothing: {proof.not_compared}.",
            markup=False,
        )
    console.print(f"  Ends with the seal {proof.seal}: compare it with the incident's thread.", markup=False)
    unseen = [] if in_slack is None else not_looked(in_slack, {proof.seal.incident_id: readable(proof.entries)})
    for sentence in unseen:
        console.print(f"  Could not look: {sentence}", markup=False)
    return 0 if proof.not_compared is None and not unseen else NOT_COMPARED


def _unlike(proof: Proof, anchors: Sequence[str], in_slack: Posted | None) -> list[str]:
    """What does not fit between the file and seals that were kept elsewhere."""
    if proof.fault is not None:
        return []
    record = {proof.seal.incident_id: proof.entries}
    seals = [seal for text in anchors for seal in asked(text, record)]
    faults = [seal_fault(seal, record.get(seal.incident_id, ())) for seal in seals]
    if in_slack is not None:
        faults += faults_of(in_slack, record)
        faults += missing_in(in_slack, {proof.seal.incident_id: readable(proof.entries)})
    return [fault.sentence for fault in faults if fault is not None]


def _text_of(file: Path) -> str:
    try:
        return file.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfiguration(
            f"{file} cannot be read.", f"Found {type(error).__name__}: {error}.", "Name a record that was exported."
        ) from error
