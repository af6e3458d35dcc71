"""Writes the configuration file that connects the bot to the lab and to the local workspace."""

from pathlib import Path

from ruamel.yaml import YAML

from bot.lab.home import LabState
from bot.lab.orders import again_in_spark
from bot.workspace import Cast

ACTION = "rewind_table_and_job"


def write_config(folder: Path, lab: LabState, api_url: str, cast: Cast, *, watch: bool = False) -> Path:
    """`folder/waterline.yaml`; the same kind of file as a deployment's. `watch`: also follow the table unasked."""
    channels = {channel.name: channel.id for channel in cast.channels}
    ana = next(person.id for person in cast.people if person.name == "ana")
    approvers = next(group.id for group in cast.groups)
    start = {
        "kind": "sql-gateway",
        "url": lab.gateway_url,
        "statements": list(lab.start_statements),
        "properties": dict(lab.session_properties),
    }
    content: dict[str, object] = {
        "home": "bot",
        "catalog": {
            "name": lab.catalog_name,
            "properties": {"type": "sql", "uri": lab.catalog_uri, "warehouse": lab.warehouse},
        },
        "jobs": {
            lab.job_name: {
                "flink": lab.flink_url,
                "checkpoint_dir": str(lab.checkpoint_dir),
                "savepoint_dir": str(lab.savepoint_dir),
                "start": start,
            }
        },
        "tables": {
            lab.table: {
                "job": lab.job_name,
                "channel": channels["orders-oncall"],
                "contract": {
                    "key": ["order_id"],
                    "position": "source_position",
                    "event_time": "event_time",
                    "redacted": ["customer"],
                    "commit_every": 5,
                },
                "consumers": [
                    {"name": "revenue_daily", "channel": channels["revenue-analytics"]},
                    {"name": "fraud_features", "channel": channels["fraud-ml"]},
                ],
                "replay": {
                    "source": "the lab's numbers, of which every row is made",
                    "sql": again_in_spark(lab.start_statements[-1]),
                },
                "policies": {"default": {"groups": [approvers]}, ACTION: {"groups": [approvers], "required": 1}},
            }
        },
        "spark": {"remote": lab.spark_remote},
        "lineage": {"events": str(lab.lineage_path)},
        "slack": {"mode": "socket", "base_url": api_url, "pace": 0.1},
    }
    if watch:
        content["watch"] = {"every": 5, "mention": {"users": [ana]}}
    path = folder / "waterline.yaml"
    with path.open("w", encoding="utf-8") as file:
        YAML().dump(content, file)
    return path
