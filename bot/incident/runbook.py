"""A runbook as data: steps and branches. `bot.runbook` parses it, and says where an incident is in it.

What lint finds in a file that people write.
"""

import re
from typing import Annotated, Literal

from pydantic import Field

from bot.observation.ids import StepId
from bot.observation.record import Record, Utc

END = StepId("end")
"""The branch target that ends the runbook."""


ASKED_FOR = "diagnosis.remedy"
"""As the `action` of a step: whatever action the diagnosis asks for. The one name of the scope so far."""


NOT_POSSIBLE = "not-possible"
"""Outcome key of an action step: there is no such action, or it refuses to propose anything."""


FIXED_ELSEWHERE = "fixed-elsewhere"
"""Outcome key of a decision by the remedy: nothing is asked for, but rows were counted wrong before, and others fixed
them. Only where consumers would be told by `no_action` else, and the runbook says where to go."""


RUNBOOKS_OF: dict[str, tuple[str, ...]] = {
    "F1": ("duplicate-rows",),
    "F2": ("wrong-savepoint", "duplicate-rows", "job-restarted"),
    "F3": ("nothing-commits", "no-new-data"),
    "F4": ("data-loss-after-restart", "missing-rows", "job-restarted"),
    "F5": ("nothing-commits", "no-new-data"),
    "F6": ("missing-rows",),
    "F7": ("job-will-not-restore",),
    "F8": ("job-will-not-restore",),
    "F9": ("job-will-not-restore",),
    "F11": ("nothing-commits", "no-new-data"),
    "F12": ("data-loss-after-restart", "missing-rows", "job-restarted"),
    "F13": ("two-writers", "duplicate-rows"),
    "F15": ("duplicate-rows", "job-restarted"),
    "F16": ("duplicate-rows",),
    "F17": ("duplicate-rows",),
    "F18": ("missing-rows",),
    "F20": ("failed-checkpoints",),
    "F21": ("missing-rows",),
    "F23": ("schema-change",),
    "F24": ("table-behind", "no-new-data"),
    "F25": ("failed-checkpoints",),
    "F26": ("missing-rows",),
    "F27": ("missing-rows", "failed-checkpoints"),
}
"""Code of a failure mode -> ids of the runbooks whose symptom it shows, the most telling first."""


class _Step(Record):
    id: StepId
    title: str
    prose: str
    """What the responder reads, Markdown."""
    next: StepId | None = None
    """Where to go when no branch fits the outcome; None means that every outcome has a branch."""
    branches: dict[str, StepId] = Field(default_factory=dict)
    """Outcome key -> step id or `end`."""


class EvidenceStep(_Step):
    """Runs one evidence task; its outcome key is the verdict."""

    kind: Literal["evidence"] = "evidence"
    task: str

    def meaning(self, label: str) -> str:
        """What the runbook says of this outcome, `Problem`; empty where it says nothing."""
        return self._parts[1].get(label, "")

    @property
    def before(self) -> str:
        """What to know before there is an outcome."""
        return self._parts[0]

    @property
    def hint(self) -> str:
        """What to look at in the answer."""
        return self._parts[2]

    @property
    def _parts(self) -> tuple[str, dict[str, str], str]:
        """What the prose says before the outcomes, of each, and after them."""
        before, *said = re.split(r"^\*(OK|Problem|Note|Could not check)\*: (.*)$", self.prose, flags=re.MULTILINE)
        return before.strip(), dict(zip(said[::3], said[1::3], strict=True)), "".join(said[2::3]).strip()


class Choice(Record):
    """One answer of a decision, as a button."""

    key: str
    label: str


class DecisionStep(_Step):
    """Branches: `on: diagnosis` by the code of the match to act on first, `on: remedy` by what it asks for (or
    `fixed-elsewhere`), else `no-match`; `on: choice` by a person."""

    kind: Literal["decision"] = "decision"
    on: Literal["diagnosis", "remedy", "choice"]
    choices: tuple[Choice, ...] = ()


class ActionStep(_Step):
    """Proposes an action. Outcome keys: applied, refused, unknown, rejected, expired, superseded; not-possible where
    nothing right can be proposed."""

    kind: Literal["action"] = "action"
    action: str
    """An action's name, or `diagnosis.remedy`."""


class ManualStep(_Step):
    """A person does something outside and says so; outcome key: done."""

    kind: Literal["manual"] = "manual"


class NoticeStep(_Step):
    """Previews and sends a notice to each consumer; outcome key: sent."""

    kind: Literal["notice"] = "notice"
    notice: str


class ReviewStep(_Step):
    """Opens the contract review and ends the incident; outcome key: done."""

    kind: Literal["review"] = "review"


Step = Annotated[
    EvidenceStep | DecisionStep | ActionStep | ManualStep | NoticeStep | ReviewStep, Field(discriminator="kind")
]


class Runbook(Record):
    """One symptom's runbook. An incident keeps its own copy: editing the file changes only new incidents."""

    id: str
    title: str
    """The symptom, as a responder would pick it from a list."""
    applies_to: tuple[str, ...]
    owners: tuple[str, ...]
    steps: tuple[Step, ...]
    """In order; the incident begins with the first."""
    digest: str
    """sha256 of `text`."""
    text: str
    """The whole runbook as a file that includes nothing: with the shared steps, and with each task's readings."""
    is_planned: bool = False
    """Whether it is of planned work: then nothing is in doubt until something is found."""

    def step(self, step_id: StepId) -> Step:
        """The step with this id; KeyError if there is none (lint excludes it)."""
        found = next((step for step in self.steps if step.id == step_id), None)
        if found is None:
            raise KeyError(step_id)
        return found


class StepOutcome(Record):
    """How a step ended: `key` chooses the branch, `why` is shown beside it."""

    key: str
    why: str
    by: str
    at: Utc
    skipped: bool = False


class Problem(Record):
    """Printed as `file:line: message`."""

    file: str
    line: int
    """1-based."""
    message: str
    """What was expected, what was found, what to do."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"
