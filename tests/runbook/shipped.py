"""The runbooks that are shipped, with everything that they may name."""

from collections.abc import Mapping
from functools import cache

import bot.actions
import bot.diagnosis
import spark_tasks
from bot.actions._support.completing import scan as scan_actions
from bot.bootstrap.content import CONTENT
from bot.diagnosis._support.examine import scan as scan_modes
from bot.evidence import find_tasks
from bot.incident.runbook import Runbook
from bot.runbook.lint import Vocabulary
from bot.runbook.parse import read_all, shared_of

FOLDER = CONTENT / "runbooks"
KNOWN = Vocabulary(
    tasks={name: found.task for name, found in find_tasks(spark_tasks).items()},
    shared=shared_of(FOLDER),
    actions=frozenset(scan_actions(bot.actions)),
    notices=frozenset(path.name.removesuffix(".md.j2") for path in (CONTENT / "messages").glob("*.md.j2")),
    codes=frozenset(scan_modes(bot.diagnosis)),
)


@cache
def shipped() -> Mapping[str, Runbook]:
    """All of them by id."""
    return read_all(FOLDER, KNOWN.tasks)
