"""What an evidence task found, in a shape that diagnosis can reason over (not only read)."""

from typing import Annotated

from pydantic import Field

from bot.observation.findings.commits import (
    MOST_COMMIT_RANGES,
    CommitRanges,
    DuplicateCommitsFinding,
    LedgerFinding,
    RepeatedCommit,
)
from bot.observation.findings.files import (
    COMMITS_TOLD,
    DuplicateFile,
    DuplicateFilesFinding,
    LastCommit,
    LeakedManifest,
    LeakedManifestsFinding,
    LeakStanding,
    MissingFilesFinding,
    OrphanFilesFinding,
    TableHealthFinding,
    UnreadableFile,
    UnreadableFilesFinding,
)
from bot.observation.findings.promises import (
    ContractAgreementFinding,
    FreshnessFinding,
    ReadsFinding,
    SchemaDifference,
    SchemaDriftFinding,
    Term,
)
from bot.observation.findings.rows import (
    PAIRS_TOLD,
    CompactedRows,
    CopiesOfCommit,
    CorrectedRowsFinding,
    DuplicatePair,
    DuplicatesFinding,
    ExtraCopiesFinding,
    GapsFinding,
    GapsOnBroker,
    LateCommit,
    LateRowsFinding,
    PositionGap,
    ReplayableFinding,
    ReplayedRowsFinding,
)
from bot.observation.findings.state import (
    CheckpointHealthFinding,
    Limit,
    Pairing,
    PairingFinding,
    PairVerdict,
    RecoveryDeadline,
    RecoveryExtentFinding,
    RestoreReach,
    RunHealth,
)

Finding = Annotated[
    CheckpointHealthFinding
    | ContractAgreementFinding
    | CorrectedRowsFinding
    | DuplicateCommitsFinding
    | DuplicateFilesFinding
    | DuplicatesFinding
    | ExtraCopiesFinding
    | FreshnessFinding
    | GapsFinding
    | LateRowsFinding
    | LeakedManifestsFinding
    | LedgerFinding
    | MissingFilesFinding
    | OrphanFilesFinding
    | PairingFinding
    | ReadsFinding
    | RecoveryExtentFinding
    | ReplayableFinding
    | ReplayedRowsFinding
    | SchemaDriftFinding
    | TableHealthFinding
    | UnreadableFilesFinding,
    Field(discriminator="kind"),
]


__all__ = [
    "COMMITS_TOLD",
    "MOST_COMMIT_RANGES",
    "PAIRS_TOLD",
    "CheckpointHealthFinding",
    "CommitRanges",
    "CompactedRows",
    "ContractAgreementFinding",
    "CopiesOfCommit",
    "CorrectedRowsFinding",
    "DuplicateCommitsFinding",
    "DuplicateFile",
    "DuplicateFilesFinding",
    "DuplicatePair",
    "DuplicatesFinding",
    "ExtraCopiesFinding",
    "Finding",
    "FreshnessFinding",
    "GapsFinding",
    "GapsOnBroker",
    "LastCommit",
    "LateCommit",
    "LateRowsFinding",
    "LeakStanding",
    "LeakedManifest",
    "LeakedManifestsFinding",
    "LedgerFinding",
    "Limit",
    "MissingFilesFinding",
    "OrphanFilesFinding",
    "PairVerdict",
    "Pairing",
    "PairingFinding",
    "PositionGap",
    "ReadsFinding",
    "RecoveryDeadline",
    "RecoveryExtentFinding",
    "RepeatedCommit",
    "ReplayableFinding",
    "ReplayedRowsFinding",
    "RestoreReach",
    "RunHealth",
    "SchemaDifference",
    "SchemaDriftFinding",
    "TableHealthFinding",
    "Term",
    "UnreadableFile",
    "UnreadableFilesFinding",
]
