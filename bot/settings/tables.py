"""What the file says of a watched table."""

from datetime import timedelta
from pathlib import Path

from pydantic import Field

from bot.domain.approval import ApprovalPolicy
from bot.domain.contract import CopyRule, TableContract
from bot.domain.entries import Contract
from bot.domain.ids import TableName, UserId
from bot.domain.reads import Consumer
from bot.domain.record import Record
from bot.domain.replay import ReplayRecipe
from bot.domain.setup import NEXT_UPDATE_MINUTES, Compaction, TableSetup


class TableSettings(Record):
    job: str | None = Field(
        default=None,
        description="The job under `jobs` that writes this table. Without it, Waterline cannot ask Flink.",
        examples=["orders-to-iceberg"],
    )
    other_jobs: tuple[str, ...] = Field(
        default=(),
        description="Other jobs under `jobs` that write this table, as in a blue/green deployment. A run that "
        "began from the state of this job is a fork while both are alive. A run that began "
        "elsewhere is a second writer, and a fault only if rows come twice.",
        examples=[["orders-to-iceberg-green"]],
    )
    channel: str | None = Field(
        default=None, description="Slack channel id where its incidents open by default.", examples=["C0INCIDENT"]
    )
    watch: bool = Field(
        default=True, description="Whether the watch follows this table, if `watch` is set.", examples=[False]
    )
    contract: TableContract = Field(
        default=TableContract(), description="What the table promises. It overrides `contract_file`."
    )
    contract_file: Path | None = Field(
        default=None,
        description="Data contract of the table in the Open Data Contract Standard (YAML); relative to this file.",
        examples=["contracts/orders.odcs.yaml"],
    )
    consumers: tuple[Consumer, ...] = Field(default=(), description="Declared consumers, and where to notify them.")
    policies: dict[str, ApprovalPolicy] = Field(
        description="Who may approve, by action. `destructive` is for destructive actions without a policy, "
        "`default` for all others. `NAME/sev1` is for one severity, and comes before `NAME`."
    )
    warn_after_minutes: int = Field(
        default=2,
        ge=0,
        description="How long the previewed first warning waits for a click before the bot sends it.",
        examples=[2],
        json_schema_extra={"unit": "minutes"},
    )
    orphan_safe_age_days: int = Field(
        default=3,
        ge=1,
        description="Orphan files younger than this are never removed.",
        examples=[3],
        json_schema_extra={"unit": "days"},
    )
    keep_repair_branch: bool = Field(
        default=False,
        description="Keep the branch of a published repair. By default the same commit removes it.",
        examples=[True],
    )
    replay: ReplayRecipe | None = Field(
        default=None, description="How to make rows again from their source. Without it, nothing can be replayed."
    )
    compactions: tuple[Compaction, ...] = Field(
        default=(), description="Jobs that compact the table. They are paused while its maintenance is frozen."
    )
    copies: CopyRule = Field(
        default=CopyRule(), description="Which copy of a row is right when duplicates are removed."
    )
    next_update_minutes: int = Field(
        default=NEXT_UPDATE_MINUTES,
        ge=1,
        description="Within this time, consumers are promised the next update.",
        examples=[30],
        json_schema_extra={"unit": "minutes"},
    )
    review_due_days: int = Field(
        default=14,
        ge=1,
        description="Owners fix the findings of a review within this time, unless somebody sets another day.",
        examples=[14],
        json_schema_extra={"unit": "days"},
    )
    review_owners: dict[Contract, UserId] = Field(
        default={},
        description="Owner of a review's findings, by contract (`state`, `checkpoint`, `table`, `approval`). By "
        "default an owner in the contract's `team` (not for `approval`), else the responder.",
        examples=[{"table": "U0DANA0001"}],
    )

    def beside(self, folder: Path) -> "TableSettings":
        """The same, its contract's file and its consumers' folders in that folder unless their paths are absolute."""
        file = self.contract_file
        consumers = tuple(each.beside(folder) for each in self.consumers)
        contract_file = folder / file.expanduser() if file is not None else None
        return self.model_copy(update={"contract_file": contract_file, "consumers": consumers})

    def setup(self, name: TableName) -> TableSetup:
        return TableSetup(
            name=name,
            job=self.job,
            other_jobs=self.other_jobs,
            contract=self.contract,
            consumers=self.consumers,
            policies=self.policies,
            warn_after_minutes=self.warn_after_minutes,
            orphan_safe_age=timedelta(days=self.orphan_safe_age_days),
            keep_repair_branch=self.keep_repair_branch,
            replay=self.replay,
            copies=self.copies,
            compactions=self.compactions,
            next_update_minutes=self.next_update_minutes,
            review_due=timedelta(days=self.review_due_days),
            review_owners=self.review_owners,
        )
