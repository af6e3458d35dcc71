"""SQL through the team's Spark, as a program of its own: what another team's job does to the table.

Usage: python -m bot.lab.spark_sql HOME TOLD_FILE STATEMENT…
"""

import json
import sys
from pathlib import Path

from bot.lab.home import Home
from bot.lab.process import Telling

MOST_ROWS = 20


def spark_sql(home: Home, *statements: str) -> list[dict[str, object]]:
    """Runs the statements one after the other; the answer is the rows of the last one, at most 20.

    Raises: LabError with the end of the log when one of them failed.
    """
    told = Telling("sql", "bot.lab.spark_sql", home.folder, *statements).told("Spark did not run a statement.")
    rows: list[dict[str, object]] = json.loads(told)
    return rows


def main(arguments: list[str]) -> None:
    """Runs the statements and writes the last answer; what Spark refuses is said in its own first line, not in the
    Java stack below it."""
    from pyspark.errors import PySparkException  # seconds to import, and only this program needs it
    from pyspark.sql.connect.session import SparkSession

    state = Home(Path(arguments[0])).state()
    spark = SparkSession.builder.remote(state.spark_remote).getOrCreate()
    rows: list[dict[str, object]] = []
    for statement in arguments[2:]:
        try:
            rows = [row.asDict() for row in spark.sql(statement).limit(MOST_ROWS).collect()]
        except PySparkException as error:
            raise SystemExit(str(error).strip().partition("\n")[0]) from None
    Path(arguments[1]).write_text(json.dumps(rows, default=str), encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
