"""Which schema the record has, and which is the newest: asked at every start, so without Alembic."""

import re
from pathlib import Path

from sqlalchemy import Connection, inspect, text

MIGRATIONS = Path(__file__).parent / "migrations"
_NAMED = re.compile(r'^(revision|down_revision) = "(\w+)"$', re.MULTILINE)


def is_newest(connection: Connection) -> bool:
    """Whether there is nothing to migrate. Cost: two small queries, and the texts of the migrations."""
    if not inspect(connection).has_table("alembic_version"):
        return False
    return set(connection.scalars(text("SELECT version_num FROM alembic_version"))) == newest()


def newest() -> set[str]:
    """The revision that no other one follows; one of them, as Alembic demands."""
    named = [found for file in (MIGRATIONS / "versions").glob("*.py") for found in _NAMED.findall(file.read_text())]
    followed = {name for kind, name in named if kind == "down_revision"}
    return {name for kind, name in named if kind == "revision"} - followed
