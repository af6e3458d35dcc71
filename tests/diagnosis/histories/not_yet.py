"""What the histories leave out until it is mended: faults of the diagnosis that they have found. Nothing else is left
out anywhere; `python -m tests.diagnosis.histories RULE SEED …` tells of a seed with all its events."""

from collections.abc import Mapping

NOT_YET: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "wrongly_acquitted": (
        ("started from an older point with another uid",),
        ("the sink's uid is changed",),
        ("drained and started", "started without state"),
        ("drained and started", "started without state under its job id"),
        ("a commit is made twice",),
        ("the job runs twice", "a quiet time"),
        ("the job runs twice", "an expiry of snapshots"),
        ("lost commits are picked again", "table and job rewound together"),
        ("main is set to a commit beside it", "started from an older point under its job id"),
        ("Spark overwrites rows", "started without state under its job id"),
        ("an expiry of snapshots", "started from an older point"),
        ("an expiry of snapshots", "started from an older point under its job id"),
    ),
}
"""Rule of `held` -> events that, in one history, lead to a known fault of the diagnosis: until it is mended, the first
of them does not happen where the others do."""
