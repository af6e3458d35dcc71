"""What the configuration says of one table, as the rules need it."""

from datetime import timedelta

from bot.domain.approval import ApprovalPolicy
from bot.domain.contract import TableContract
from bot.domain.ids import Severity, TableName, UserId
from bot.domain.reads import Consumer
from bot.domain.record import Record
from bot.domain.replay import ReplayRecipe
from bot.domain.review_entries import Contract


class TableSetup(Record):
    """One watched table: its writer, its promises, who reads it, and who decides about it."""

    name: TableName
    job: str | None
    """The configured job that writes it; None when nothing of Flink's can be asked."""
    contract: TableContract
    consumers: tuple[Consumer, ...]
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
    review_due: timedelta = timedelta(days=14)
    """What a review finds is to be mended within this time."""
    review_owners: dict[Contract, UserId] = {}
    """Contract -> who mends what is found in it; otherwise the incident's responder."""

    def policy_for_notice(self, kind: str, severity: Severity) -> ApprovalPolicy | None:
        """Who must approve such a notice before it is sent; None: nobody. The most specific one, never the default."""
        keys = [key for name in (f"notice:{kind}", "notice") for key in (f"{name}/{severity}", name)]
        return next((self.policies[key] for key in keys if key in self.policies), None)

    def policy_for(self, action: str, severity: Severity, *, is_destructive: bool) -> ApprovalPolicy:
        """The most specific policy: of the action, else of destructive actions, else the default; each first for the
        severity. A destructive action is approved by two teams unless its policy says a number itself."""
        names = (action, *(("destructive",) if is_destructive else ()), "default")
        keys = [key for name in names for key in (f"{name}/{severity}", name)]
        policy = next(self.policies[key] for key in keys if key in self.policies)
        return policy.when_destructive() if is_destructive else policy
