"""Diagnosis: every failure mode answers for itself, with its rows and reasons.

What a diagnosis asks for: each that changes the world is one action of `bot/actions/`, where there is one yet.

A diagnosis and all that it rests on, as one value that can be put to the modes again anywhere.

What is known of the rows up to the snapshot that a match names as the newest before the fault: only where they were
looked at and found clean may it be called good.
"""

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import Annotated, Literal

from pydantic import Field

from bot.history.case import Case
from bot.observation.ids import JobId, SnapshotId, short
from bot.observation.record import Record, Utc


class LastGoodRows(StrEnum):
    """What evidence says of the rows up to a snapshot."""

    CLEAN = "clean"
    """They were read: no key lives twice up to it, no commit up to it repeats another, and no source position that it
    reached is missing."""
    NOT_LOOKED_AT = "not-looked-at"
    """No evidence that still holds covers them, or what it found may lie above or below: they are not proven."""
    WRONG = "wrong"
    """Evidence found something wrong at or below it, from another fault than the one that names it."""


def called(snapshot: SnapshotId, rows: LastGoodRows | None, *, in_full: bool = False) -> tuple[str, str]:
    """(what to call it, the id and what is known of it), without a full stop. `rows` None: an older version named it
    and did not say."""
    named = str(snapshot) if in_full else short(snapshot)
    match rows:
        case LastGoodRows.NOT_LOOKED_AT:
            return "Newest snapshot before it", f"{named} (not verified)"
        case LastGoodRows.WRONG:
            return "Newest snapshot before it", f"{named} (do not use: its rows are wrong for another reason)"
        case _:
            return "Last good snapshot", named


class Remedy(StrEnum):
    """By name; `words` says it in a sentence that a responder can act on even where no action exists yet."""

    ROLL_BACK_TABLE_AND_RESTORE_JOB = "roll-back-table-and-restore-job"
    RESTORE_JOB_AT_HEAD = "restore-job-at-head"
    RESTORE_JOB_ONLY = "restore-job-only"
    RESTART_WITH_NEW_JOB_ID = "restart-with-new-job-id"
    CHANGE_OPERATOR_UID = "change-operator-uid"
    RESOLVE_FORK = "resolve-fork"
    DROP_DUPLICATED_COMMIT = "drop-duplicated-commit"
    DEDUPLICATE_ROWS = "deduplicate-rows"
    RECOVER_LEAKED_MANIFESTS = "recover-leaked-manifests"
    RESTORE_LOST_COMMITS = "restore-lost-commits"
    REPLAY_SOURCE_RANGE = "replay-source-range"
    FIND_ARCHIVE = "find-archive"
    REPAIR_UNREADABLE_FILES = "repair-unreadable-files"
    RESTORE_METADATA = "restore-metadata"
    RESTART_FROM_STOP_SAVEPOINT = "restart-from-stop-savepoint"
    FREE_CHECKPOINT_FOLDER = "free-checkpoint-folder"
    PROTECT_LAST_COMMIT = "protect-last-commit"
    STOP_CULPRIT = "stop-culprit"
    VERIFY_CURRENT_STATE = "verify-current-state"
    TELL_CONSUMERS = "tell-consumers"
    WAIT = "wait"
    NOTHING = "nothing"

    @property
    def words(self) -> str:
        """What to do, one clause, no full stop."""
        return _WORDS[self]


_WORDS = {
    Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB: (
        "roll the table and the job back together, to a restore point that matches a snapshot"
    ),
    Remedy.RESTORE_JOB_AT_HEAD: (
        "keep the table; stop the job, and restore it from the checkpoint of the newest snapshot"
    ),
    Remedy.RESTORE_JOB_ONLY: "restore the job from its newest restore point; the table is as it should be",
    Remedy.RESTART_WITH_NEW_JOB_ID: "stop the job and start it under a new job id from a point that matches "
    "the newest snapshot; it reads the dropped rows again",
    Remedy.CHANGE_OPERATOR_UID: "prove that the files of the restored checkpoint are live, then start the job with a "
    "new uid for its sink and allowNonRestoredState",
    Remedy.RESOLVE_FORK: "stop the run that should not write, then take its rows back",
    Remedy.DROP_DUPLICATED_COMMIT: "stop the job and take the repeated commit out of the table",
    Remedy.DEDUPLICATE_ROWS: "keep one copy of each key, on a branch that is verified first",
    Remedy.RECOVER_LEAKED_MANIFESTS: "append, once, the files of the Flink manifests that were never committed",
    Remedy.RESTORE_LOST_COMMITS: "restore the commits that were removed from main, or replay them from the source",
    Remedy.FIND_ARCHIVE: "ask the source's owners for an archive to replay from; without one, notify the consumers of "
    "the loss",
    Remedy.REPLAY_SOURCE_RANGE: "replay the missing source range into the table, idempotent by key",
    Remedy.REPAIR_UNREADABLE_FILES: "restore the files from the storage's own versions, or go back to the last "
    "readable snapshot, or drop the references and state the loss",
    Remedy.RESTORE_METADATA: "point the catalog at the newest metadata file that can be read, then treat the rest as a "
    "rollback",
    Remedy.RESTART_FROM_STOP_SAVEPOINT: "stop the job with a savepoint, not drained, and start it again from there",
    Remedy.FREE_CHECKPOINT_FOLDER: "move the old checkpoint folders out of the way, or start under a new job id",
    Remedy.PROTECT_LAST_COMMIT: "tag the newest commit of each run, before maintenance expires it",
    Remedy.STOP_CULPRIT: "stop the other writer, then decide which of its changes stay",
    Remedy.VERIFY_CURRENT_STATE: "take nothing back; have the table verified as it is",
    Remedy.TELL_CONSUMERS: "notify the consumers; leave the table and the job unchanged",
    Remedy.WAIT: "wait; Flink is still at work",
    Remedy.NOTHING: "nothing to do",
}


HEALTHY = "healthy"
"""Code of the mode that says that nothing is wrong."""


class Act(IntEnum):
    """When to act on a match, where several hold at once: what still grows worse comes first."""

    CONTAIN = 1
    """The damage grows while we talk: stop the fork, stop the run that writes above a hole."""
    MAKE_READABLE = 2
    """Nothing else can be judged before the table's metadata and files can be read."""
    RECOVER = 3
    """Bring table and job together again."""
    REPAIR = 4
    """Mend rows and files once job and table agree."""
    WAIT = 5
    """Nothing is to be changed now; look again."""
    TELL = 6
    """Only people are to be told."""
    NOTE = 7
    """Worth knowing, and asks for nothing: never shown before what says whether the rows are right."""


class Mode(Record):
    """What a module of `bot/diagnosis/` declares of itself as `MODE`."""

    code: str
    """`F1` … `F27` of the catalogue, or a word: `healthy`."""
    name: str
    """The module's name."""
    title: str
    """As said in a sentence: `the job was restored from an older savepoint`."""
    needs: tuple[str, ...]
    """Evidence tasks without which it cannot tell."""
    asks_for: tuple[str, ...] = ()
    """Further ones, where the rest leaves a doubt: its answer's `asks` names them then."""
    false_positives: tuple[str, ...]
    """What looks the same and is not; shown to the responder."""
    planned_as: tuple[str, ...] = ()
    """As what people can declare its cause planned, or meant to be; empty: nobody plans it. At most 75 characters each,
    for a choice in Slack."""
    neighbours: Mapping[str, str] = {}
    """Code of a mode that is easily taken for this one -> how to tell them apart: `There … Here …`, where *there* is
    the neighbour and *here* this one. Said in one of the two modules; the other one has it with both turned round."""
    act: Act = Act.RECOVER
    """Its place in the order in which to act."""
    remedies: tuple[Remedy, ...] = ()
    """What it may ask for, as a match says which; shown in the catalogue."""


class Matches(Record):
    """The mode holds. `last_good` is the newest snapshot before its fault: what a rewind goes back to, or below."""

    verdict: Literal["matches"] = "matches"
    headline: str
    reasons: tuple[str, ...]
    """Each a full sentence with the ids that prove it."""
    remedy: Remedy
    rows: tuple[SnapshotId, ...] = ()
    """The ledger rows that show it."""
    last_good: SnapshotId | None = None
    wrong_run: JobId | None = None
    """The job run whose commits are not to be kept; None when nothing is to be undone."""
    last_good_rows: LastGoodRows | None = Field(default=None, exclude_if=lambda told: told is None)
    """What evidence says of the rows up to `last_good`; None where none is named."""
    newest_wrong: SnapshotId | None = Field(default=None, exclude_if=lambda told: told is None)
    """The newest commit that belongs to the fault, on main or lost from it; None where the mode does not say."""
    repeating: tuple[SnapshotId, ...] = Field(default=(), exclude_if=lambda told: not told)
    """Commits on main that brought again what others had, oldest first."""
    how: str | None = Field(default=None, exclude_if=lambda told: told is None)
    """What to do in this case, one clause, where the remedy's own words would promise what is not there."""
    asks: tuple[str, ...] = Field(default=(), exclude_if=lambda told: not told)
    """Evidence tasks that may settle what its reasons leave open: whoever diagnoses collects them, and asks again."""

    @property
    def what_to_do(self) -> str:
        """One clause, no full stop."""
        return self.how if self.how is not None else self.remedy.words

    @property
    def last_good_said(self) -> str:
        """The snapshot in full and what is known of its rows, a clause: called good only where they were looked at."""
        if self.last_good is None:
            return "Last good snapshot none"
        return " ".join(called(self.last_good, self.last_good_rows, in_full=True))


class Excluded(Record):
    """The mode does not hold, and this is why."""

    verdict: Literal["excluded"] = "excluded"
    reason: str


class CannotTell(Record):
    """The mode may hold; this is what is missing to know."""

    verdict: Literal["cannot-tell"] = "cannot-tell"
    missing: tuple[str, ...]
    asks: tuple[str, ...] = ()
    """Evidence tasks that may settle it, or have grown old: whoever diagnoses collects them, and asks again."""


Examined = Annotated[Matches | Excluded | CannotTell, Field(discriminator="verdict")]


class ModeResult(Record):
    mode: Mode
    examined: Examined


class Diagnosis(Record):
    """All modes' answers, in the order of the catalogue."""

    results: tuple[ModeResult, ...]

    @property
    def matches(self) -> tuple[tuple[Mode, Matches], ...]:
        """The modes that hold, in the order in which to act; a living fork first of its kind: it bars the rest."""
        found = [(r.mode, r.examined) for r in self.results if isinstance(r.examined, Matches)]
        return tuple(sorted(found, key=lambda each: (each[0].act, each[1].remedy is not Remedy.RESOLVE_FORK)))

    @property
    def to_act_on(self) -> tuple[tuple[Mode, Matches], ...]:
        """The matches without those that are only worth knowing."""
        return tuple(each for each in self.matches if each[0].act is not Act.NOTE)

    @property
    def decisive(self) -> tuple[Mode, Matches] | None:
        """The match that a decision follows: the first that is to be acted on, else a note that asks for something.
        A note that asks for nothing (a failed checkpoint) says nothing of the rows and never stands for health; right
        rows are no all-clear where a note says that consumers must be told (events older than promised)."""
        asking = [each for each in self.matches if each[0].act is not Act.NOTE or each[1].remedy is not Remedy.NOTHING]
        if asking and asking[0][1].remedy is Remedy.NOTHING:
            return next((each for each in asking if each[1].remedy is Remedy.TELL_CONSUMERS), asking[0])
        return asking[0] if asking else None

    def told_apart(self, mode: Mode) -> tuple[tuple[str, str], ...]:
        """(Code, how to tell `mode` from it) of each neighbour that does not hold beside it."""
        return tuple((code, how) for code, how in mode.neighbours.items() if code not in self.codes)

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of the modes that hold."""
        return tuple(mode.code for mode, _ in self.matches)

    @property
    def nothing_matches(self) -> str:
        """What is said where no mode holds. That acquits nobody: why the table is not healthy comes with it, or that
        nobody knows."""
        why = next((told.reason for mode, told in self.excluded if mode.code == HEALTHY), None)
        left = f"The table is not healthy: {why}" if why else "Whether the table is right is not known yet."
        return f"No failure mode matches. {left}"

    @property
    def undecided(self) -> tuple[tuple[Mode, CannotTell], ...]:
        """The modes that could not tell."""
        return tuple((r.mode, r.examined) for r in self.results if isinstance(r.examined, CannotTell))

    @property
    def asks(self) -> tuple[str, ...]:
        """Evidence tasks that may settle what could not be told, or what a match leaves open, each once."""
        told = (r.examined for r in self.results if not isinstance(r.examined, Excluded))
        return tuple(dict.fromkeys(task for each in told for task in each.asks))

    @property
    def excluded(self) -> tuple[tuple[Mode, Excluded], ...]:
        """The modes that do not hold."""
        return tuple((r.mode, r.examined) for r in self.results if isinstance(r.examined, Excluded))


class SavedCase(Record):
    """What `waterline case save` writes."""

    format: Literal[1] = 1
    saved_at: Utc
    version: str
    """Of Waterline, when it was saved."""
    case: Case
    codes: tuple[str, ...]
    """Of the modes that held then."""
