"""What the configuration says of one table, as the rules need it."""

from collections.abc import Sequence
from datetime import timedelta

from bot.domain.approval import ApprovalPolicy
from bot.domain.compaction import Compaction
from bot.domain.contract import TableContract
from bot.domain.copies import CopyRule
from bot.domain.ids import Severity, TableName, UserId
from bot.domain.reads import Consumer, Untold
from bot.domain.record import Record
from bot.domain.replay import ReplayRecipe
from bot.domain.review_entries import Contract
from bot.domain.team import Team

NEXT_UPDATE_MINUTES = 30
"""What consumers are promised where nothing else is said: the next word comes within this time."""


class TableSetup(Record):
    """One watched table: its writer, its promises, who reads it, and who decides about it."""

    name: TableName
    job: str | None
    """The configured job that writes it; None when nothing of Flink's can be asked."""
    other_jobs: tuple[str, ...] = ()
    """Further configured jobs that write it, or did."""
    contract: TableContract
    consumers: tuple[Consumer, ...]
    untold: tuple[Untold, ...] = ()
    """Channels of its data contract that no notice reaches."""
    policies: dict[str, ApprovalPolicy]
    """Action, `destructive` or `default`, each also as `NAME/sev1` for one severity -> policy."""
    next_update_minutes: int
    """What consumers are promised: the next word comes within this time."""
    warn_after_minutes: int = 2
    """After this time the first warning goes out by itself, unless a responder has sent it before."""
    orphan_safe_age: timedelta = timedelta(days=3)
    """Younger files are never taken for orphans."""
    keep_repair_branch: bool = False
    """Whether the branch of a repair stays after it was published."""
    replay: ReplayRecipe | None = None
    """How its rows are made once more from the source; None: nothing is declared."""
    copies: CopyRule = CopyRule()
    """Which copy of a row is the right one."""
    compactions: tuple[Compaction, ...] = ()
    """Jobs that compact it, and can be asked to pause."""
    review_due: timedelta = timedelta(days=14)
    """What a review finds is to be mended within this time."""
    review_owners: dict[Contract, UserId] = {}
    """Contract -> who mends what is found in it; else who answers for the table, else the incident's responder."""
    team: Team | None = None
    """Whose table it is, as its data contract says; None: it does not."""

    def policy_for_notice(self, kind: str, severity: Severity) -> ApprovalPolicy | None:
        """Who must approve such a notice before it is sent; None: nobody. The most specific one, never the default."""
        keys = [key for name in (f"notice:{kind}", "notice") for key in (f"{name}/{severity}", name)]
        return next((self.policies[key] for key in keys if key in self.policies), None)

    def policy_for(
        self, action: str, severity: Severity, *, is_destructive: bool, proposer: UserId, follows: Sequence[str] = ()
    ) -> ApprovalPolicy:
        """The most specific policy: of the action, else of those that it `follows` (which it publishes or undoes, and
        what that did; nearest first), else of destructive actions, else the default; each first for the severity. A
        destructive action is approved by two teams unless its policy says a number itself."""
        names = (action, *follows, *(("destructive",) if is_destructive else ()), "default")
        keys = [key for name in names for key in (f"{name}/{severity}", name)]
        policy = next(self.policies[key] for key in keys if key in self.policies)
        return policy.when_destructive(proposer) if is_destructive else policy
