"""The record's seal is kept outside of the database: the bot posts it when an incident closes."""

from pathlib import Path

from typer.testing import CliRunner

from bot.cli import app
from bot.domain.ids import IncidentId
from bot.domain.record_file import seal_of, seals_in
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder

CONFIG = """
catalog: {{name: lake, properties: {{type: sql, uri: "sqlite:///nowhere.db"}}}}
journal: {{url: "sqlite:///{journal}"}}
tables: {{sales.orders: {{contract: {{key: [order_id]}}, policies: {{default: {{users: [U0BEN00001]}}}}}}}}
"""


def test_the_seal_is_posted_once_with_the_close_and_fits_the_record(
    ana: Responder, bot: LittleBot, tmp_path: Path
) -> None:
    """One message of the thread has it, a restart posts none again, and `record verify` takes it from there."""
    ana.opens()
    ana.asks("close It was planned.")
    ana.sees("Seal of the record")
    bot.restart()
    ana.sees("is closed")
    close = bot.services.store.get(IncidentId("wl-1")).entries[-1]
    (tmp_path / "waterline.yaml").write_text(CONFIG.format(journal=bot.folder / "journal.db"))

    posted = [seal for reply in ana.card.replies for seal in seals_in(reply.plain)]
    result = CliRunner().invoke(
        app, ["record", "verify", "--anchor", str(posted[0]), "--config", str(tmp_path / "waterline.yaml")]
    )

    assert posted == [seal_of(close)]
    assert result.exit_code == 0, result.output
