"""What no field can see alone: names that lead nowhere, and policies that nobody can fulfil."""

from collections.abc import Mapping
from pathlib import Path

from ruamel.yaml.comments import CommentedMap

from bot.domain.ids import TableName
from bot.settings.jobs import JobSettings
from bot.settings.policies import refuse_bad_policies
from bot.settings.reading import bad, near
from bot.settings.tables import TableSettings

Where = tuple[str | int, ...]


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
        refuse_bad_policies(table.policies, content, path, (*where, "policies"))
