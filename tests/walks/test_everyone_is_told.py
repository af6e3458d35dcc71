"""From the fault to the closing message on real parts: Flink damages the table, a Spark job reads it, and its owners
are told in Slack, by mail over SMTP and by a signed webhook over HTTP; then the job runs again.

What each run read, the bot knows from the events that OpenLineage's own listener wrote in it.
"""

import base64
import hashlib
import hmac
import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from bot.adapters.spark_session import SparkConnection
from bot.lab.lab import Lab
from bot.lab.world import World
from tests.lab_fixtures import FreshLab
from tests.telling.receivers import Hook, Mailbox, hook, mailbox
from tests.walks.world import Incident, incident

pytestmark = pytest.mark.slow
STORY = "restored-from-older-savepoint"
KEY = b"k" * 32


def is_told_by(config: Path, box: Mailbox, taken: Hook) -> None:
    """revenue_daily has a mailbox and a webhook beside its room."""
    yaml = YAML()
    settings = yaml.load(config.read_text())
    (table,) = settings["tables"].values()
    table["consumers"][0] |= {"email": ["revenue@acme.example"], "webhook": taken.url}
    smtp = {"host": "127.0.0.1", "port": box.port, "security": "none", "sender": "waterline@acme.example"}
    settings["notices"] = {"smtp": smtp}
    with config.open("w", encoding="utf-8") as file:
        yaml.dump(settings, file)


def copies_at(lab: Lab, snapshot: int) -> int:
    """Rows too many of this snapshot, counted by Spark as a consumer reads it."""
    state = lab.state
    spark = SparkConnection(state.spark_remote).session()
    try:
        table = f"{state.catalog_name}.{state.table} VERSION AS OF {snapshot}"
        (row,) = spark.sql(f"SELECT count(*) - count(DISTINCT source_position) FROM {table}").collect()  # noqa: S608
        return int(row[0])
    finally:
        spark.stop()


def hooked(taken: Hook) -> dict[str, dict[str, object]]:
    """Kind of notice -> its payload, of those whose signature is right."""
    found = {}
    for headers, body in taken.requests:
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        expected = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
        assert f"v1,{expected}" == headers["webhook-signature"]
        payload = json.loads(body)
        found[payload["kind"]] = payload
    return found


def mailed(box: Mailbox) -> dict[str, str]:
    """Title of the notice -> the mail's plain text."""
    return {str(mail["Subject"]): mail.get_body(("plain",)).get_content() for mail in box.mails}  # type: ignore[union-attr]


@pytest.mark.long
def test_whoever_read_wrong_rows_is_told_three_ways_runs_again_and_reads_right_ones(
    fresh_lab: FreshLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same words in room, mail and webhook: which run read what, where to read meanwhile, and from where again."""
    monkeypatch.setenv("WATERLINE_WEBHOOK_SECRET", f"whsec_{base64.b64encode(KEY).decode()}")
    lab = fresh_lab("v2", consumers=("revenue_daily", "fraud_features"))
    lab.tell(STORY)
    with World(lab.home, lambda _: None) as people:
        theirs = people.reads()["revenue_daily"]
    wrong, run = theirs.snapshot_id, theirs.run_id
    assert copies_at(lab, wrong) > 0, "the consumer has to read wrong rows"
    with mailbox() as box, hook() as taken, incident(lab, tmp_path) as world:
        is_told_by(world.config, box, taken)
        with world.bot():
            world.walk(STORY)
            world.until(lambda: {"warning", "recovered"} <= hooked(taken).keys() and len(box.mails) >= 2)

            _all_say_the_same(world, box, taken, run)
            told = hooked(taken)
            pinned = told["warning"]["data"]["trusted_snapshot"]  # type: ignore[index]
            assert copies_at(lab, int(pinned)) == 0, "who pins meanwhile reads right rows"
            again = told["recovered"]["data"]["rerun"]  # type: ignore[index]
            assert (again["needed"], again["runs"]) == (True, [run])
            assert again["read_snapshots"] == [str(wrong)]

            (read,) = lab.consume("revenue_daily")
            dana = world.workspace.person("dana")
            dana.clicks("I re-ran", dana.waits_for(lambda m: "I re-ran" in m.buttons, "revenue-analytics"))

            assert read.snapshot_id != wrong
            assert copies_at(lab, read.snapshot_id) == 0
            world.until(lambda: any(each["answer"] == "re-ran" for each in world.journal("notice-answered")))


def _all_say_the_same(world: Incident, box: Mailbox, taken: Hook, run: str) -> None:
    """Each notice came once by each way, and the closing one names the run and asks for it again."""
    messages = [m.plain for m in world.workspace.person("dana").messages("revenue-analytics")]
    mails, hooks = mailed(box), hooked(taken)
    assert len(messages) == len(mails) == len(box.mails) == len(taken.requests) == 2
    closing = [
        next(text for text in texts if "is verified again" in text) for texts in (messages, list(mails.values()))
    ]
    for text in (*closing, str(hooks["recovered"]["markdown"])):
        assert "Please run again later: revenue_daily read rows that were wrong." in text
        assert run in text
    for text in (*messages, *mails.values()):
        assert "sales.orders" in text
