"""`waterline doctor`: what is reachable, which versions, what is missing, and what to do about it."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib.metadata import version
from typing import Literal

import typer
from rich.console import Console
from rich.table import Column
from rich.table import Table as Grid
from slack_sdk import WebClient

from bot.adapters.journal_sql.store import NoRecord, existing_record
from bot.adapters.spark_session import bare
from bot.bootstrap import Built, build
from bot.cli.options import COULD_NOT_TELL, DEFAULT_CONFIG, ConfigOption, NobodyThere
from bot.incident.approval import ApprovalPolicy
from bot.incident.incident import fold
from bot.incident.setup import TableSetup
from bot.observation.errors import CouldNotLook, EvidenceFailed, WaterlineError
from bot.observation.kafka import KafkaPartition, in_words
from bot.observation.looked import NotSeen, Seen
from bot.observation.sentences import counted
from bot.service.services import Services
from bot.settings import Settings
from bot.slack.directory import slack_findings

DECIDE_DESTRUCTIVE = ("destructive", "default")
Broker = Seen[KafkaPartition] | NotSeen
"""What a job's Kafka broker told."""
_REMEDY = "Name two `teams` in a policy `destructive` of the table (docs/approval.md)."


def policies_of(setups: Iterable[TableSetup]) -> Iterator[tuple[str, bool, str, str]]:
    """(what, is it good, what was found, what to do) of each policy that two teams cannot fulfil."""
    for setup in setups:
        own = [key for key in setup.policies if key.partition("/")[0] == DECIDE_DESTRUCTIVE[0]]
        general = [] if DECIDE_DESTRUCTIVE[0] in own else ["default"]
        for key in (*own, *general):
            found = _without_two_teams(setup.policies[key])
            if found:
                yield f"policy {key} of {setup.name}", True, found, _REMEDY


def _without_two_teams(policy: ApprovalPolicy) -> str:
    """Empty where two teams approve, or the policy itself says how many."""
    if policy.different_teams is not None or len(policy.teams) > 1:
        return ""
    users = {user for people in policy.approvers for user in people.users}
    if len(users) > 2 or any(people.groups for people in policy.approvers):
        return "two people approve destructive actions, but not of two teams: it names fewer than two"
    return "only two people can approve, so each approves the other: a group or a third person is missing"


_MARKS = {
    "tag": ("the tag `waterline` and table properties", ""),
    "property": ("table properties alone", "Readers pin to the snapshot in the property `waterline.snapshot`."),
    "none": ("none on the table", "Readers ask the trust API which snapshot they can use."),
}
Unchecked = Literal["COULD NOT CHECK"]
UNCHECKED: Unchecked = "COULD NOT CHECK"
PROBLEM = "PROBLEM"
_WORST_FIRST = (PROBLEM, UNCHECKED, "note", "ok")
Line = tuple[str, bool | Unchecked, str, str]
"""(what, is it good, what was found, what to do)."""


def trouble(what: str, error: WaterlineError) -> Line:
    """A look that failed: nobody knows then how the thing is. Any other error says that it is wrong."""
    is_good: bool | Unchecked = UNCHECKED if isinstance(error, CouldNotLook | EvidenceFailed) else False
    return what, is_good, f"{error.happened} {error.found}".strip(), error.remedy


def doctor(config: ConfigOption = DEFAULT_CONFIG) -> None:
    """Check everything that Waterline needs. Changes nothing. Exit code 1: something is missing. 2: could not tell."""
    console = Console(soft_wrap=True, highlight=False)
    settings = Settings.load(config)
    lines: list[Line] = [("configuration", True, str(config), "")]
    lines += [(name, True, version(name), "") for name in ("pyspark", "pyiceberg", "slack-bolt")]
    lines.append(("mark of the trusted snapshot", True, *_MARKS[settings.catalog.mark]))
    record, incident_channels = record_of_incidents(settings)
    lines.append(record)
    with build(settings, NobodyThere(), keep_record=False) as built:
        brokers: dict[str, Broker] = {}
        lines += [*_tables(built.services, brokers), *_jobs(built.services, brokers)]
        lines += _unreached(built.services.observer.tables.values())
        lines += policies_of(built.services.observer.tables.values())
        lines += _spark(built, settings)
    token = os.environ.get("SLACK_BOT_TOKEN")
    if token:
        client = WebClient(token=token, base_url=settings.slack.base_url)
        told = {table.channel for table in settings.tables.values()} | {settings.watch and settings.watch.channel}
        rooms = {*incident_channels, *(channel for channel in told if channel)}
        lines += list(slack_findings(client, list(settings.setups.values()), rooms, settings.slack.team_id))
    else:
        lines.append(("Slack", False, "SLACK_BOT_TOKEN is not set", "Set it; the value is on the app's page in Slack."))
    grid = Grid(*(Column(title, overflow="fold") for title in ("", "what", "found", "what to do")))
    for line in sorted(lines, key=lambda line: _WORST_FIRST.index(_standing(line))):
        grid.add_row(_standing(line), *(line[0], *line[2:]))
    console.print(grid)
    stand = [_standing(line) for line in lines]
    problems, unchecked = stand.count(PROBLEM), stand.count(UNCHECKED)
    console.print(f"{counted(problems, 'problem')}; {unchecked} could not be checked.")
    if code := exit_code_of(lines):
        raise typer.Exit(code)


def _standing(line: Line) -> str:
    """Its first column; a good line with something to do is a note."""
    _what, is_good, _found, remedy = line
    if isinstance(is_good, str):
        return is_good
    return PROBLEM if not is_good else "note" if remedy else "ok"


def exit_code_of(lines: Iterable[Line]) -> int:
    """0: all is there. 1: something is missing. 2: nothing is missing as far as it could be looked at."""
    judged = [is_good for _what, is_good, _found, _remedy in lines]
    return 1 if False in judged else 0 if all(is_good is True for is_good in judged) else COULD_NOT_TELL


def record_of_incidents(settings: Settings) -> tuple[Line, frozenset[str]]:
    """Whether the record can be read, and the channels of open incidents."""
    try:
        with existing_record(settings) as store:
            incidents = [fold(store.journal.entries(each)) for each in store.journal.incidents()]
    except NoRecord as error:
        return ("record", True, error.happened, "`waterline serve` makes it when it starts."), frozenset()
    except WaterlineError as error:
        return trouble("record", error), frozenset()
    is_open = [each for each in incidents if each.is_open]
    found = f"{counted(len(incidents), 'incident')}, {len(is_open)} open"
    return ("record", True, found, ""), frozenset(each.opened.channel for each in is_open)


def _unreached(setups: Iterable[TableSetup]) -> Iterator[Line]:
    """Channels that data contracts name for announcements, and that Waterline has no way to."""
    for setup in setups:
        for channel in setup.untold:
            yield (
                f"contract of {setup.name}",
                True,
                f"Waterline cannot notify {channel.name}: {channel.why}",
                "Name a Slack channel id or an e-mail address in `support`, or a consumer in the settings.",
            )


def _tables(services: Services, brokers: dict[str, Broker]) -> Iterator[Line]:
    """`brokers` is given what the broker of each table's job told: one that is frozen is asked once."""
    for name in services.observer.tables:
        try:
            seen = services.observer.observe(name)
        except WaterlineError as error:
            yield trouble(f"table {name}", error)
            continue
        if (job := services.observer.setup(name).job) is not None and seen.kafka is not None:
            brokers[job] = seen.kafka
        yield f"table {name}", True, f"format {seen.table.format_version}, {len(seen.table.snapshots)} snapshots", ""
        if isinstance(seen.reads, NotSeen):
            yield seen.reads.source, UNCHECKED, seen.reads.reason, seen.reads.remedy
        else:
            yield seen.reads.source, True, f"{len(seen.reads.values)} reading runs", ""
        names = {column.name for column in seen.table.columns}
        contract = services.observer.setup(name).contract
        wanted = {*contract.key, contract.position, contract.position_partition, contract.event_time} - {None}
        unknown = sorted(str(column) for column in wanted if column not in names)
        if unknown:
            yield (
                f"contract of {name}",
                False,
                f"no such columns: {', '.join(unknown)}",
                "Correct the contract's columns.",
            )
        if contract.position is not None and contract.position_partition is None:
            yield (
                f"contract of {name}",
                True,
                f"{contract.position} is compared as if the source had one partition",
                "If the source has several partitions, name their column as `position_partition`. "
                "Otherwise a position of one hides what is missing in another.",
            )


def _jobs(services: Services, brokers: Mapping[str, Broker]) -> Iterator[Line]:
    for name, ports in services.observer.jobs.items():
        looks: tuple[tuple[str, Callable[[], tuple[object, ...]], str], ...] = (
            (f"Flink, job {name}", partial(ports.flink.runs, name), "runs"),
            (f"state of {name}", partial(ports.checkpoints.stored, name, ()), "restore points"),
        )
        for what, look, things in looks:
            try:
                yield what, True, f"{len(look())} {things}", ""
            except WaterlineError as error:
                yield trouble(what, error)
        if (told := brokers.get(name) or services.observer.kafka_of(name)) is not None:
            yield broker_line(f"Kafka, job {name}", told)


def broker_line(what: str, told: Broker) -> Line:
    """What it holds; a good line with a remedy where it does not tell how long records stay."""
    if isinstance(told, NotSeen):
        return what, UNCHECKED, told.reason, told.remedy
    partitions = told.values
    remedy = "Give the user of `kafka` the ACL `DescribeConfigs` for the topics: then Waterline knows the retention."
    return what, True, in_words(partitions), "" if all(each.is_retention_known for each in partitions) else remedy


def _spark(built: Built, settings: Settings) -> Iterator[Line]:
    """Whether it answers, then whether it reads each table's files. What failed to start is not tried again."""
    where = f"Spark ({bare(os.environ.get('SPARK_REMOTE') or settings.spark.remote or 'local')})"
    try:
        built.runner.warm()
    except WaterlineError as error:
        yield trouble(where, error)
        return
    yield where, True, "answers", ""
    for name in built.services.observer.tables:
        try:
            table = built.services.observer.catalog.load(name)
        except WaterlineError:
            continue  # said already
        try:
            yield f"Spark on {name}", True, built.runner.probe(table), ""
        except WaterlineError as error:
            yield trouble(f"Spark on {name}", error)
