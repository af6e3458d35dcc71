"""What a module of `bot/actions/` declares, and what it may know when it proposes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from bot.history.case import Case
from bot.incident.approval import ApprovalPolicy
from bot.incident.diagnosis import Matches, Mode
from bot.incident.effects import SavepointPlanned
from bot.incident.entries import EffectStarted, Verified
from bot.incident.proposal import Proposal
from bot.observation.file_changes import FileSources, FileSurvey
from bot.observation.ids import EvidenceId, IncidentId, JobId, ProposalId, UserId
from bot.observation.record import Record, Utc
from bot.observation.replay import ReplayRange, ReplayRecipe, SourceSurvey
from bot.observation.snapshot import Snapshot
from bot.observation.table import TableState

MovesWaterline = Literal["trusted", "under-review", "no"]


class Action(Record):
    """The declaration `ACTION` of one action module."""

    name: str
    """The module's name, verb and object: `roll_back_table_and_restore_job`."""
    title: str
    """As a button says it: `Roll back table and job`."""
    promise: str
    """What is true after it, one sentence."""
    needs: tuple[str, ...]
    """Evidence tasks that must have answered, fresh, before it can be proposed. What has no answer yet is collected
    when the action is proposed; extra copies also where further ones may have come since."""
    is_destructive: bool = False
    """Whether it takes away what its undo does not bring back: then two different teams approve it. A proposal that
    does is refused without it. Which of the package are, and why each of the others is not, stands in
    `tests/actions/test_every_action.py`."""
    proofs: tuple[tuple[str, str], ...]
    """(evidence task, what its `ruled-out` proves), asked again on the new head; passed only if each rules out.
    Of a repair on a branch they are asked of that, and of main once more when it is published. What else accuses main
    is asked too before the table is trusted."""
    no_more_than_before: tuple[str, ...] = ()
    """Of the tasks in `proofs`, those whose fault it does not mend, or mends for its own part alone. On its branch they
    are passed also where they find no more than main has where the branch began: another fault is mended before or
    after it, or never. Main must rule them out nevertheless before it is trusted."""
    repairs: tuple[str, ...] = ()
    """Evidence tasks that accuse main of the fault which it repairs: what they had found and its proposal cites is held
    against main no longer once it is applied. Any other finding stays, also where no later look covers it."""
    proofs_of_start: tuple[tuple[str, str], ...] = ()
    """Of an action that leaves main as wrong as it is, asked where it starts the job: passed where the task rules out,
    or counts no more than before the execution."""
    on_request: bool = False
    """Whether people may ask for it though no diagnosis does."""
    keeps_a_run: bool = False
    """Whether people may say which run it keeps: `keep=RUN`."""
    takes_bounds: bool = False
    """Whether people say within which bounds it acts: `positions=1200..1500`."""
    drops_others: bool = False
    """Whether people may say that it takes commits of other writers off main: `drop_others=yes`."""
    moves_waterline: MovesWaterline = "no"
    """What a passed proof says of the table, of a repair once it is published: trusted at the new head (then `proofs`
    look at its rows), under review again, or nothing."""


class StoodStill(Record):
    """The run that an earlier proposal had stopped, where nothing of the incident has started the job since."""

    run: JobId
    savepoint: str | None
    """What its stop took; None where it took none."""


class Past(Record):
    """An earlier proposal of the incident and how far it came: what an undo is built from."""

    proposal: Proposal
    started: dict[int, EffectStarted]
    """Effect index -> its newest intent, of the effects that were done."""
    results: dict[int, dict[str, str]]
    """Effect index -> its result, of the effects that were done."""
    verified: Verified | None = None
    """The newest verification of a rehearsal; None while there is none."""
    stood_still: StoodStill | None = None
    """The run whose stop left the job standing still for it; where it published or gave up the branch of a rehearsal,
    for that rehearsal."""


class Plan(Record):
    """Everything an action may use to propose."""

    incident: IncidentId
    proposal: ProposalId
    case: Case
    mode: Mode
    match: Matches
    evidence: tuple[EvidenceId, ...]
    """Ids of the evidence that the proposal will cite."""
    policy: ApprovalPolicy
    by: UserId
    at: Utc
    undoes: Past | None = None
    """Set only for an undo."""
    rehearsed: Past | None = None
    """Set only where a rehearsal was proven, or failed, and its branch is still there."""
    stood_still: StoodStill | None = None
    """Set while the job stands still since an earlier proposal of the incident stopped it."""
    branches: frozenset[str] = frozenset()
    """Names of the branches that earlier rehearsals of the incident have begun, whatever became of them."""
    survey: Callable[[FileSources | None, FileSources | None], FileSurvey]
    """What adding the first and removing the second would meet on main as it is now. Raises CouldNotLook."""
    keeps_branch: bool = False
    """By policy: whether the branch of a repair stays after it was published."""
    planned: SavepointPlanned | None = None
    """The incident's plan of a savepoint."""
    expired: Callable[[TableState], Sequence[Snapshot]]
    """The commits just below those that main still lists, oldest first, as older metadata files tell. Raises
    CouldNotLook."""
    keeps: str = ""
    """The first digits of the run that whoever asks wants to keep; empty where nobody says."""
    drops_others: bool = False
    """Whether whoever asks has said that rows of other writers may go."""
    replay: ReplayRecipe | None = None
    """How the table's rows are made once more from its source; None: nothing is declared."""
    bounds: Mapping[str, str] = {}
    """As whoever asks has typed them, name by name: `positions` -> `1200..1500`."""
    source: Callable[[ReplayRecipe, ReplayRange], SourceSurvey]
    """What a replay within these bounds would meet at the table's head. Raises CouldNotLook."""
    declaration: Callable[[str], str | None]
    """Job -> the digest of what a start of it submits now, as `FlinkJobs` has it. Raises CouldNotLook."""
    siblings: Callable[[], tuple[TableState, ...]]
    """The other configured tables that the same job writes, read when called. Raises CouldNotLook."""
