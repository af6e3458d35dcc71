"""Proves the record where it is kept: every chain, and what Slack has seen of it."""

from collections.abc import Sequence

import typer
from rich.console import Console

from bot.adapters.journal_sql.journal import SqlJournal
from bot.domain.posted_seals import Posted, faults_of, missing_in, not_looked
from bot.domain.seal import asked, seal_fault

console = Console(soft_wrap=True, highlight=False)
DOES_NOT_FIT, NOT_COMPARED = 1, 3
"""Exit codes; 2 is that of a command that could not be run."""


def verify_database(journal: SqlJournal, anchors: Sequence[str], posted: Posted | None) -> None:
    """Names the first entry of each incident that does not fit, and what nobody could look for.

    `posted` is None where Slack was not asked. Exit code 1 if anything does not fit; else 3 if a channel could not be
    read in which a seal may be. Raises BadConfiguration for an anchor that is no seal.
    """
    faults = list(journal.verify())
    incidents = journal.incidents()
    broken = {fault.incident_id for fault in faults}
    unseen: list[str] = []
    seals = 0
    if anchors or posted is not None:
        in_slack = posted or Posted()
        record = {each: journal.entries(each) for each in incidents if each not in broken}
        named = [seal for text in anchors for seal in asked(text, record)]
        held = [*(seal_fault(seal, record.get(seal.incident_id, ())) for seal in named), *faults_of(in_slack, record)]
        faults += [fault for fault in held if fault is not None and fault.incident_id not in broken]
        seals = len(named) + len(in_slack.seals)
        if posted is not None:
            faults += missing_in(posted, record)
            unseen = not_looked(posted, record)
    for fault in faults:
        console.print(f"{fault.incident_id} entry {fault.seq}: {fault.sentence}", markup=False)
    for sentence in unseen:
        console.print(f"Could not look: {sentence}", markup=False)
    if faults:
        raise typer.Exit(DOES_NOT_FIT)
    console.print(f"{len(incidents)} incidents: every entry fits.")
    if unseen:
        console.print(f"{seals} seals were found; none contradicts the record. Others may be where nobody looked.")
        raise typer.Exit(NOT_COMPARED)
    if anchors or posted is not None:
        console.print(f"{seals} seals: every one fits.")
