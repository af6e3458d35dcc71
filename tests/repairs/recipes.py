"""Replays of `sales.orders` as the tests declare them: its rows are a function of their position."""

from pyspark.sql import DataFrame, SparkSession

from bot.observation.replay import ReplayRange, ReplayRecipe

_MIDNIGHT_S = 1_793_664_000


def again_sql(positions: str = "range(0, 1000)", order_id: str = "id") -> str:
    """A SELECT of the rows of these positions."""
    at, customer = f"TIMESTAMP_SECONDS({_MIDNIGHT_S} + id)", "CONCAT('customer-', id)"
    columns = {"order_id": order_id, "source_partition": "0", "source_position": "id", "event_time": at}
    told = [f"{value} AS {name}" for name, value in {**columns, "customer": customer}.items()]
    return " ".join(("SELECT", ", ".join(told), "FROM", positions))


def declared(positions: str = "range(0, 1000)", *, order_id: str = "id", most_rows: int = 1000) -> ReplayRecipe:
    """The same as settings have it."""
    return ReplayRecipe(source="topic orders, kept for 7 days", sql=again_sql(positions, order_id), most_rows=most_rows)


def again(spark: SparkSession, bounds: ReplayRange) -> DataFrame:
    """The same as a function; it asks for no more than is meant."""
    last = max(each.last for each in bounds.positions)
    return spark.sql(again_sql(f"range(0, {last + 1})"))
