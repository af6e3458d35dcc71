"""What a kind of catalog promises of a commit, and what nobody can promise for it; `waterline doctor` says both."""

from collections.abc import Mapping

from bot.adapters.iceberg.clients import extra_for, how_to_install, missing_extra
from bot.adapters.iceberg.kinds import kind_of

_PROMISES = {
    "sql": (
        "a commit is one update of one row that still names the metadata we read",
        "Whoever else writes the catalog's database is not kept out by it.",
    ),
    "rest": (
        "the catalog itself compares head, tags and uuid, and applies all or nothing",
        "Credentials that it vends are used for the table's files, not by Spark: give Spark its own.",
    ),
    "glue": (
        "a commit carries the version of the Glue table that we read, and is sent once",
        "That AWS refuses another version is AWS's word: it was tried here only against a stand-in.",
    ),
    "hive": (
        "a commit is compared under the metastore's lock",
        "An engine that commits without the lock could be overwritten: tables that say so "
        "(engine.hive.lock-enabled: false) are not changed.",
    ),
}


def promise_of(properties: Mapping[str, str]) -> tuple[str, str]:
    """What holds for this catalog, and what does not; two sentences without a person's action needed."""
    kind = kind_of(properties)
    unknown = "PyIceberg's own check of requirements"
    return _PROMISES.get(kind, (unknown, f"A catalog of type {kind or 'unknown'} was not tried: try a tag first."))


def client_of(properties: Mapping[str, str]) -> tuple[bool, str, str] | None:
    """(is it there, what was found, what to do) of the library that only this kind of catalog needs; None: none."""
    extra = extra_for(properties)
    if extra is None:
        return None
    if missing_extra(properties) is not None:
        return False, f"PyIceberg is installed without its extra “{extra}”", how_to_install(extra)
    return True, f"PyIceberg is installed with its extra “{extra}”", ""
