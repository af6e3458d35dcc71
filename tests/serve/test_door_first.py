"""What the gateway needs is imported before it opens, and nothing else: who clicks during a start is heard."""

import subprocess
import sys

BEHIND = {
    "pyspark", "pyiceberg", "pyarrow", "pandas", "botocore", "grpc", "alembic", "apscheduler", "jinja2", "markdown_it",
    "PIL", "mcp", "spark_tasks", "bot.bootstrap", "bot.actions", "bot.diagnosis", "bot.evidence", "bot.notices",
    "bot.service", "bot.slack.surface",
}  # fmt: skip
"""Catalogs, Spark, schedulers, pictures, templates, and every use case."""


def test_nothing_that_deliveries_do_not_need_is_imported_before_the_door_opens() -> None:
    """A new connection costs the import of Slack's client, the record and the settings, some 1.3 s of a core."""
    code = f"import sys; import bot.cli.serve; print(sorted({BEHIND} & {{*sys.modules}}))"

    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True)

    assert done.stdout.strip() == "[]"
