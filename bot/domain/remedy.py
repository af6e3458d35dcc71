"""What a diagnosis asks for: each that changes the world is one action of `bot/actions/`, where there is one yet."""

from enum import StrEnum


class Remedy(StrEnum):
    """By name; `words` says it in a sentence that a responder can act on even where no action exists yet."""

    REWIND_TABLE_AND_JOB = "rewind-table-and-job"
    FORWARD_JOB = "forward-job"
    RESTORE_JOB_ONLY = "restore-job-only"
    RESTART_WITH_NEW_JOB_ID = "restart-with-new-job-id"
    CHANGE_OPERATOR_UID = "change-operator-uid"
    RESOLVE_FORK = "resolve-fork"
    DROP_DUPLICATED_COMMIT = "drop-duplicated-commit"
    DEDUPLICATE_ROWS = "deduplicate-rows"
    RECOVER_LEAKED_MANIFESTS = "recover-leaked-manifests"
    RESTORE_LOST_COMMITS = "restore-lost-commits"
    REPLAY_SOURCE_RANGE = "replay-source-range"
    REPAIR_UNREADABLE_FILES = "repair-unreadable-files"
    RESTORE_METADATA = "restore-metadata"
    REMOVE_ORPHAN_FILES = "remove-orphan-files"
    RESTART_FROM_STOP_SAVEPOINT = "restart-from-stop-savepoint"
    FREE_CHECKPOINT_FOLDER = "free-checkpoint-folder"
    PROTECT_LAST_COMMIT = "protect-last-commit"
    STOP_CULPRIT = "stop-culprit"
    TELL_CONSUMERS = "tell-consumers"
    WAIT = "wait"
    NOTHING = "nothing"

    @property
    def words(self) -> str:
        """What to do, one clause, no full stop."""
        return _WORDS[self]


_WORDS = {
    Remedy.REWIND_TABLE_AND_JOB: "rewind table and job together to a restore point that pairs",
    Remedy.FORWARD_JOB: "keep the table; stop the job and restore it from the checkpoint that pairs with the head",
    Remedy.RESTORE_JOB_ONLY: "restore the job from its newest restore point; the table is as it should be",
    Remedy.RESTART_WITH_NEW_JOB_ID: "stop the job and start it under a new job id from a point that pairs "
    "with the head; it reads again what was dropped since",
    Remedy.CHANGE_OPERATOR_UID: "prove that the files of the restored checkpoint are live, then start the job with a "
    "new uid for its sink and allowNonRestoredState",
    Remedy.RESOLVE_FORK: "stop the run that should not write, then take its rows back",
    Remedy.DROP_DUPLICATED_COMMIT: "stop the job and take the repeated commit out of the table",
    Remedy.DEDUPLICATE_ROWS: "keep one copy of each key, on a branch that is verified first",
    Remedy.RECOVER_LEAKED_MANIFESTS: "append, once, the files of the Flink manifests that were never committed",
    Remedy.RESTORE_LOST_COMMITS: "put the commits that were taken off main back, or replay them from the source",
    Remedy.REPLAY_SOURCE_RANGE: "replay the missing source range into the table, idempotent by key",
    Remedy.REPAIR_UNREADABLE_FILES: "restore the files from the storage's own versions, or go back to the last "
    "readable snapshot, or drop the references and state the loss",
    Remedy.RESTORE_METADATA: "point the catalog at the newest metadata file that can be read, then treat the rest as a "
    "rollback",
    Remedy.REMOVE_ORPHAN_FILES: "list the orphan files and remove them once they are older than the safe age",
    Remedy.RESTART_FROM_STOP_SAVEPOINT: "stop the job with a savepoint, not drained, and start it again from there",
    Remedy.FREE_CHECKPOINT_FOLDER: "move the old checkpoint folders out of the way, or start under a new job id",
    Remedy.PROTECT_LAST_COMMIT: "tag the newest commit of each run, before maintenance expires it",
    Remedy.STOP_CULPRIT: "stop the other writer, then decide which of its changes stay",
    Remedy.TELL_CONSUMERS: "tell the consumers; neither table nor job is to be changed",
    Remedy.WAIT: "wait; Flink is still at work",
    Remedy.NOTHING: "nothing is to be done",
}
