"""What the histories leave out until it is mended: faults of the diagnosis that they have found. Nothing else is left
out anywhere; `python -m tests.diagnosis.histories RULE SEED …` tells of a seed with all its events."""

from collections.abc import Mapping

NOT_YET: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "wrongly_acquitted": (
        ("started from an older point with another uid",),
        ("lost commits are picked again",),
        ("the sink's uid is changed", "started without state under its job id"),
        ("main is set to a commit beside it", "started from an older point under its job id"),
        ("Spark overwrites rows", "started without state under its job id"),
        ("an expiry of snapshots", "started from an older point"),
    )
}
"""Rule of `held` -> events that, in one history, lead to a known fault of the diagnosis: until it is mended, the first
of them does not happen where the others do."""
