"""What the configuration says of one table, as the rules need it."""

from bot.domain.approval import ApprovalPolicy
from bot.domain.contract import TableContract
from bot.domain.ids import TableName
from bot.domain.reads import Consumer
from bot.domain.record import Record


class TableSetup(Record):
    """One watched table: its writer, its promises, who reads it, and who decides about it."""

    name: TableName
    job: str | None
    """The configured job that writes it; None when nothing of Flink's can be asked."""
    contract: TableContract
    consumers: tuple[Consumer, ...]
    policies: dict[str, ApprovalPolicy]
    """Action name -> policy; `default` for any other action."""
    next_update_minutes: int
    """What consumers are promised: the next word comes within this time."""
    warn_after_minutes: int = 2
    """After this time the first warning goes out by itself, unless a responder has sent it before."""

    def policy_for(self, action: str) -> ApprovalPolicy:
        """The policy of this action, else the table's default."""
        return self.policies.get(action) or self.policies["default"]
