"""Up to which snapshot a table is proven by evidence of which each piece was pinned at its own moment."""

from collections.abc import Sequence

from bot.domain.entries import Check
from bot.domain.evidence import Evidence
from bot.domain.ids import SnapshotId, short
from bot.domain.table import TableState


def proven_head(table: TableState, proofs: Sequence[Evidence]) -> SnapshotId | None:
    """The newest snapshot that every proof has read: each pinned the head of its own moment, and others went on
    committing. The head where there are no proofs; None where one of them read what is no ancestor of the head."""
    missing = {proof.head for proof in proofs}
    if not missing:
        return table.head
    for snapshot in table.chain:
        missing.discard(snapshot.snapshot_id)
        if not missing:
            return snapshot.snapshot_id
    return None


def moved_away(table: TableState, proofs: Sequence[Evidence]) -> Check:
    """The check that fails where there is none."""
    gone = next(proof for proof in proofs if proof.head not in table.chain_ids)
    return Check(
        name="The verified snapshot is still in the table",
        passed=False,
        sentence=f"{gone.question} was checked at {short(gone.head)}, which is no ancestor of "
        f"{short(table.head)}. Somebody moved the table meanwhile.",
    )
