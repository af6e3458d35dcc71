"""`waterline lint` and `check-config`: runbooks, messages, extension points and the configuration, before anybody needs
them at night."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import spark_tasks
from bot import actions, diagnosis
from bot.actions._support.completing import scan as find_actions
from bot.bootstrap import setups_of
from bot.bootstrap.content import CONTENT
from bot.cli.doctor import policies_of
from bot.cli.options import DEFAULT_CONFIG, ConfigOption
from bot.diagnosis._support.examine import scan as find_modes
from bot.evidence import find_tasks
from bot.notices import scan as find_notices
from bot.notices.lint import lint as lint_messages
from bot.observation.errors import BadConfiguration
from bot.observation.sentences import counted
from bot.runbook.lint import Vocabulary
from bot.runbook.lint import lint as lint_runbook
from bot.runbook.parse import files_of, read_text, shared_of
from bot.settings import Settings


def lint(
    content: Annotated[
        Path, typer.Option(help="Folder with runbooks/ and messages/.", show_default="those that are installed")
    ] = CONTENT,
    action: Annotated[list[str] | None, typer.Option(help="Module of your own action. Repeat it for several.")] = None,
) -> None:
    """Check runbooks, messages and extensions. Exit code 1: there are problems."""
    console = Console(soft_wrap=True, highlight=False)
    if missing := [each for each in ("runbooks", "messages") if not (content / each).is_dir()]:
        raise BadConfiguration(
            f"There is nothing to check in {content}.",
            f"Expected the folders runbooks and messages there; not there: {' and '.join(missing)}.",
            "Name another folder with --content, or leave it out to check what is installed.",
        )
    tasks, modes, found_actions = find_tasks(spark_tasks), find_modes(diagnosis), find_actions(actions, action or ())
    problems = [str(problem) for problem in lint_messages(content / "messages")]
    vocabulary = Vocabulary(
        tasks={name: found.task for name, found in tasks.items()},
        shared=shared_of(content / "runbooks"),
        actions=frozenset(found_actions),
        notices=frozenset() if problems else frozenset(find_notices(content / "messages")),
        codes=frozenset(modes),
    )
    books = files_of(content / "runbooks")
    found = (p for book in books for p in lint_runbook(read_text(book), f"runbooks/{book.name}", vocabulary))
    problems += dict.fromkeys(str(problem) for problem in found)
    for problem in problems:
        console.print(problem, markup=False)
    console.print(
        f"{len(books)} runbooks, {len(vocabulary.notices)} messages, {len(tasks)} evidence tasks, {len(modes)} failure "
        f"modes, {len(found_actions)} actions: {len(problems)} problems."
    )
    if problems:
        raise typer.Exit(code=1)


def check_config(
    config: ConfigOption = DEFAULT_CONFIG,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of the file instead.")] = False,
) -> None:
    """Check the configuration, data contracts and own actions; connect to nothing. Exit code 1: a problem.

    With --schema, an editor can complete and check the settings.
    """
    if schema:
        typer.echo(json.dumps(Settings.model_json_schema(), indent=2))
        return
    console = Console(soft_wrap=True, highlight=False)
    settings = Settings.load(config)
    setups = setups_of(settings)
    remarks = list(policies_of(setups.values()))
    for what, _, found, remedy in remarks:
        console.print(f"{what}: {found}. {remedy}", markup=False)
    tables, jobs = counted(len(setups), "table"), counted(len(settings.jobs), "job")
    console.print(f"{config}: {tables}, {jobs}, no error, {counted(len(remarks), 'remark')}.", markup=False)
