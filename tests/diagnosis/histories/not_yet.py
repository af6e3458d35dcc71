"""What the histories leave out until it is mended: faults of the diagnosis that they have found. Nothing else is left
out anywhere; `python -m tests.diagnosis.histories RULE SEED …` tells of a seed with all its events."""

from collections.abc import Mapping

NOT_YET: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "wrongly_safe": (("the job runs twice", "the sink's uid is changed"),),
    "wrongly_acquitted": (
        ("started from an older point with another uid",),
        ("the sink's uid is changed",),
        ("drained and started", "started without state"),
        ("drained and started", "started without state under its job id"),
        ("a commit is made twice",),
        ("the job runs twice", "a quiet time"),
        ("the job runs twice", "an expiry of snapshots"),
        ("lost commits are picked again", "table and job rewound together"),
        ("started without state", "started from an older point under its job id"),
        ("table and job rewound together", "started without state under its job id"),
        ("an upgrade with a savepoint", "started without state under its job id"),
        ("an expiry of snapshots", "started without state under its job id"),
        ("started without state under its job id", "started from an older point under its job id"),
        ("rolled back while the job runs", "started from an older point under its job id"),
        ("table and job rewound together", "started from an older point under its job id"),
        ("table and job rewound together", "started without state"),
        ("an expiry of snapshots", "started from an older point"),
        ("an expiry of snapshots", "started from an older point under its job id"),
        ("an expiry of snapshots", "started without state"),
        ("an expiry of snapshots", "rolled back while the job runs"),
        ("an upgrade with a savepoint", "started from an older point"),
        ("cancelled and started again", "started from an older point"),
        ("redeployed under its job id", "started from an older point"),
        ("an upgrade with a savepoint", "started from an older point under its job id"),
        ("a failover", "started from an older point under its job id"),
        ("redeployed under its job id", "started from an older point under its job id"),
        ("a standby JobManager takes over", "started from an older point under its job id"),
        ("started from an older point", "started without state under its job id"),
        ("started from an older point", "started from an older point under its job id"),
        ("started from another run's point", "started from an older point"),
        ("started from another run's point", "table and job rewound together"),
    ),
}
"""Rule of `held` -> events that, in one history, lead to a known fault of the diagnosis: until it is mended, the first
of them does not happen where the others do."""
