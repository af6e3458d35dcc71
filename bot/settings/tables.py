"""What the file says of a watched table.

What no field can see alone: names that lead nowhere, and policies that nobody can fulfil or that would not be what
their author meant.
"""

from collections.abc import Collection, Mapping
from datetime import timedelta
from pathlib import Path
from typing import get_args

from pydantic import Field
from ruamel.yaml.comments import CommentedMap

from bot.incident.approval import ApprovalPolicy
from bot.incident.setup import NEXT_UPDATE_MINUTES, TableSetup
from bot.observation.contract import CopyRule, TableContract
from bot.observation.errors import BadConfiguration
from bot.observation.findings import Contract
from bot.observation.ids import Severity, TableName, UserId
from bot.observation.readers import Consumer
from bot.observation.record import Documented
from bot.observation.replay import ReplaySettings
from bot.settings.jobs import JobSettings
from bot.settings.reading import bad, near


class TableSettings(Documented):
    job: str | None = Field(default=None, examples=["orders-to-iceberg"])
    """The job under `jobs` that writes this table. Without it, Waterline cannot ask Flink."""
    other_jobs: tuple[str, ...] = Field(default=(), examples=[["orders-to-iceberg-green"]])
    """Other jobs under `jobs` that write this table, as in a blue/green deployment. A run that began from the state of
    this job is a fork while both are alive. A run that began elsewhere is a second writer, and a fault only if rows
    come twice."""
    channel: str | None = Field(default=None, examples=["C0INCIDENT"])
    """Slack channel id where its incidents open by default."""
    watch: bool = Field(default=True, examples=[False])
    """Whether the watch follows this table, if `watch` is set."""
    contract: TableContract = TableContract()
    """What the table promises. It overrides `contract_file`."""
    contract_file: Path | None = Field(default=None, examples=["contracts/orders.odcs.yaml"])
    """Data contract of the table in the Open Data Contract Standard (YAML); relative to this file."""
    consumers: tuple[Consumer, ...] = ()
    """Declared consumers, and where to notify them."""
    policies: dict[str, ApprovalPolicy]
    """Who may approve, by action. `destructive` is for destructive actions without a policy, `default` for all others.
    `NAME/sev1` is for one severity, and comes before `NAME`."""
    warn_after_minutes: int = Field(default=2, ge=0, examples=[2], json_schema_extra={"unit": "minutes"})
    """How long the previewed first warning waits for a click before the bot sends it."""
    keep_repair_branch: bool = Field(default=False, examples=[True])
    """Keep the branch of a published repair. By default the same commit removes it."""
    replay: ReplaySettings | None = None
    """How to make rows again from their source. Without it, nothing can be replayed."""
    copies: CopyRule = CopyRule()
    """Which copy of a row is right when duplicates are removed."""
    next_update_minutes: int = Field(
        default=NEXT_UPDATE_MINUTES, ge=1, examples=[30], json_schema_extra={"unit": "minutes"}
    )
    """Within this time, consumers are promised the next update."""
    review_due_days: int = Field(default=14, ge=1, examples=[14], json_schema_extra={"unit": "days"})
    """Owners fix the findings of a review within this time, unless somebody sets another day."""
    review_owners: dict[Contract, UserId] = Field(default={}, examples=[{"table": "U0DANA0001"}])
    """Owner of a review's findings, by contract (`state`, `checkpoint`, `table`, `approval`). By default an owner in
    the contract's `team` (not for `approval`), else the responder."""

    def beside(self, folder: Path) -> "TableSettings":
        """The same, its contract's file and its consumers' folders in that folder unless their paths are absolute."""
        file = self.contract_file
        consumers = tuple(each.beside(folder) for each in self.consumers)
        contract_file = folder / file.expanduser() if file is not None else None
        return self.model_copy(update={"contract_file": contract_file, "consumers": consumers})

    def setup(self, name: TableName, jobs: Mapping[str, JobSettings]) -> TableSetup:
        """The same as the rules need it: most settings of a table go there under their own names."""
        job = jobs.get(self.job or "")
        same = {field: told for field, told in self if field in TableSetup.model_fields}
        replay = self.replay and self.replay.of(job.kafka if job is not None else None)
        return TableSetup(
            **{**same, "name": name, "replay": replay, "review_due": timedelta(days=self.review_due_days)}
        )


Where = tuple[str | int, ...]
DEFAULT, DESTRUCTIVE, NOTICE = "default", "destructive", "notice"
_SEVERITIES = get_args(Severity)


def refuse_contradictions(
    jobs: Mapping[str, JobSettings], tables: Mapping[TableName, TableSettings], content: CommentedMap, path: Path
) -> None:
    """Raises BadConfiguration for the first contradiction, table by table in the file's order."""
    for name, table in tables.items():
        where: Where = ("tables", name)
        if "." not in name.strip("."):
            raise bad(
                content, path, where, "this is not a table's name.",
                f"Expected namespace.table; found {name}.", "Write it as in the catalog, without the catalog's name.",
            )  # fmt: skip
        if table.job is not None and table.job not in jobs:
            raise bad(
                content, path, (*where, "job"), "there is no such job.",
                f"Expected one of {', '.join(jobs) or 'the jobs (there are none)'}; found {table.job}.",
                f"{near(table.job, jobs)}Name the job under `jobs`, by its name in Flink.",
            )  # fmt: skip
        for other in table.other_jobs:
            if other not in jobs or other == table.job or table.job is None:
                raise bad(
                    content, path, (*where, "other_jobs"), "this is no further job of the table.",
                    f"Expected names under `jobs` ({', '.join(jobs) or 'there are none'}) beside the table's `job` "
                    f"({table.job or 'it has none'}); found {other}.",
                    f"{'' if other in jobs else near(other, jobs)}Name it under `jobs`, by its name in Flink, and the "
                    "table's own as `job`.",
                )  # fmt: skip
        if not table.contract.key and table.contract_file is None:
            raise bad(
                content, path, (*where, "contract"), "nothing tells what makes two rows the same.",
                "Expected `key` in `contract`, or a `contract_file`; found neither.",
                "Name the columns of the business key, or the file of the table's data contract.",
            )  # fmt: skip
        if table.replay is not None and table.replay.kafka is not None:
            _refuse_bad_kafka(jobs, table, content, path, (*where, "replay", "kafka"))
        _refuse_bad_policies(table.policies, content, path, (*where, "policies"))


def _refuse_bad_kafka(
    jobs: Mapping[str, JobSettings], table: TableSettings, content: CommentedMap, path: Path, where: Where
) -> None:
    """Raises BadConfiguration for a replay from Kafka that nothing tells how to read, or which offsets are meant."""
    broker = jobs[table.job].kafka if table.job is not None else None
    if broker is None or len(broker.topics) != 1:
        raise bad(
            content, path, where, "it is not known which topic of which broker is read.",
            f"Expected `jobs.{table.job or '<name>'}.kafka` with one topic; found "
            f"{', '.join(broker.topics) if broker is not None else 'no such settings'}.",
            "Set `servers` and `topics` there. For several topics, declare the replay as `function`.",
        )  # fmt: skip
    names = {"position": table.contract.position, "position_partition": table.contract.position_partition}
    lacking = [f"`{name}`" for name, value in names.items() if value is None]
    if lacking and table.contract_file is None:
        raise bad(
            content, path, where, "no column tells where in the topic a row comes from.",
            f"Expected `position` and `position_partition` in the contract; found no {' and no '.join(lacking)}.",
            "Name the columns with the record's offset and partition, or declare the replay as `sql` or `function`.",
        )  # fmt: skip


def _refuse_bad_policies(
    policies: Mapping[str, ApprovalPolicy], content: CommentedMap, path: Path, where: Where
) -> None:
    """Raises BadConfiguration for the first policy of a table that cannot work, in the file's order."""
    if DEFAULT not in policies:
        raise bad(
            content, path, where, "nobody is named for the other actions.",
            f"Expected a policy `{DEFAULT}`; found {', '.join(policies) or 'none'}.",
            f"Add `{DEFAULT}` with `users` or `groups`.",
        )  # fmt: skip
    for key, policy in policies.items():
        here = (*where, key)
        _, slash, severity = key.partition("/")
        if slash and severity not in _SEVERITIES:
            raise bad(
                content, path, here, "there is no such severity.",
                f"Expected one of {', '.join(_SEVERITIES)} after the slash; found {severity or 'nothing'}.",
                f"{near(severity, _SEVERITIES)}Write it as `{key.partition('/')[0]}/sev1`.",
            )  # fmt: skip
        name = key.partition("/")[0]
        more = sorted(policy.model_fields_set - {"users", "groups", "teams"})
        if more and (name == NOTICE or name.startswith(f"{NOTICE}:")):
            raise bad(
                content, path, (*here, more[0]), "this is not known for notices.",
                "Expected `users`, `groups` or `teams`: one of them sends what another person has previewed.",
                "Remove this line.",
            )  # fmt: skip
        _refuse_hopeless(policy, content, path, here)
        _refuse_empty_rules(policy, content, path, here)


def refuse_unknown_actions(
    table: TableName, policies: Mapping[str, ApprovalPolicy], actions: Collection[str], notices: Collection[str]
) -> None:
    """Raises BadConfiguration for a policy whose action, or notice, does not exist: mistyped, it would leave it to the
    default, or to nobody."""
    known = (*actions, DEFAULT, DESTRUCTIVE, NOTICE, *(f"{NOTICE}:{kind}" for kind in notices))
    for key in policies:
        name = key.partition("/")[0]
        if name not in known:
            raise BadConfiguration(
                f"tables.{table}.policies.{key}: there is no such action.",
                f"Expected one of {', '.join(known)}, perhaps with /sev1; found {name}.",
                f"{near(name, known)}Correct the name. An action without its own policy uses `{DEFAULT}`.",
            )


def _refuse_hopeless(policy: ApprovalPolicy, content: CommentedMap, path: Path, where: Where) -> None:
    people = len({user for some in policy.approvers for user in some.users})
    has_group = any(some.groups for some in policy.approvers)
    if people < policy.required and not has_group:
        raise bad(
            content, path, where, "this policy can never be fulfilled.",
            f"Expected at least {policy.required} `users`, or `groups`; found {people} users and no group.",
            "Name more approvers, or require fewer.",
        )  # fmt: skip
    is_for_destructive = str(where[-1]).partition("/")[0] == DESTRUCTIVE and policy.different_teams is None
    asked = 2 if is_for_destructive else policy.teams_asked
    if asked > len(policy.teams):
        raise bad(
            content, path, (*where, "different_teams"), "this policy can never be fulfilled.",
            f"Expected at least {asked} `teams`; found {', '.join(policy.teams) or 'none'}.",
            "Name more teams, or set `different_teams` to fewer.",
        )  # fmt: skip
    if policy.hold >= policy.expires_after:
        raise bad(
            content, path, (*where, "veto", "hold"), "whatever is approved would expire while it is held.",
            f"Expected less than `expires_after` ({policy.expires_after}); found {policy.hold}.",
            "Shorten the hold, or let proposals live longer.",
        )  # fmt: skip


def _refuse_empty_rules(policy: ApprovalPolicy, content: CommentedMap, path: Path, where: Where) -> None:
    named = {"veto": policy.veto, "break_glass": policy.break_glass} | {
        f"teams.{name}": team for name, team in policy.teams.items()
    }
    for name, people in named.items():
        if people is not None and people.is_nobody:
            raise bad(
                content, path, (*where, *name.split(".", 1)), "nobody is named.",
                "Expected `users` or `groups`; found neither.", "Name them, or leave this out.",
            )  # fmt: skip
