"""Whether rows at one place of the source are of one record: partitions, or topics, may number their records alike."""

from collections.abc import Collection

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Ask
from bot.domain.looked import NotSeen
from spark_tasks._reading import column


def key_columns(ask: Ask) -> list[str]:
    """Those of the contract's key that the table has."""
    present = {each.name for each in ask.observation.table.columns}
    return [name for name in ask.contract.key if name in present]


def key_hash(names: Collection[str]) -> Column:
    """Of 64 bits; 0 without names. A hash passes nulls over, so which are null is hashed too."""
    told = [column(name) for name in names]
    return F.xxhash64(F.lit(0), *told, *(name.isNull() for name in told)) if told else F.lit(0).cast("bigint")


def moment_of(ask: Ask) -> list[str]:
    """The column that several rows made of one record share though their keys differ: the time of its event. Empty
    where none is named, and of a mere date, which other records share as well."""
    named = ask.contract.event_time
    kinds = {each.name: each.type for each in ask.observation.table.columns}
    return [named] if named is not None and kinds.get(named, "").startswith("timestamp") else []


def not_told_apart(ask: Ask, what: str, so: str) -> NotSeen:
    """What is said where one place of the source stands for different records: `what` shows it, `so` follows."""
    named = ask.contract.position_partition
    if named is None:
        return NotSeen(
            source="contract.position_partition",
            reason=f"{what}: the source may have several partitions, and the contract names no column that tells them "
            f"apart. {so}",
            remedy="Name the column of the source's partition as position_partition in the contract, then ask again.",
        )
    shared = "" if moment_of(ask) else " Where one record makes several rows, name event_time, which they share."
    return NotSeen(
        source="contract.position_partition",
        reason=f"{what}: the job may read several topics, and {named} does not tell their partitions apart. {so}",
        remedy="Have the job write a column that names topic and partition together, and name it as position_partition "
        f"in the contract.{shared}",
    )
