"""`waterline serve` with a section `web`: bot and pages in one process."""

import os
import re
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import httpx
from ruamel.yaml import YAML

from bot.domain.entries import ProposalMade
from bot.workspace import Workspace
from tests.decisions import PROPOSAL, rewind
from tests.patient_slack import PATIENT
from tests.slack.people import eventually
from tests.tables import ORDERS
from tests.web.scene import Scene


def test_the_bot_serves_pages_that_call_people_by_their_names(scene: Scene, tmp_path: Path) -> None:
    """With the token it answers, and whoever Slack knows is named."""
    with Workspace(rules=PATIENT).serve() as slack:
        known = slack.person("ana").person
        scene.opens(by=known.id)
        rewound = ProposalMade(
            step=None,
            proposal=rewind(datetime.now(UTC)).model_copy(update={"proposed_by": known.id, "requirements": ()}),
        )
        scene.incidents.write(scene.id, by=known.id, decide=lambda _now: [rewound])
        config, log = _config(scene, slack), tmp_path / "bot.log"
        secrets = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token, "WATERLINE_WEB_TOKEN": "t0"}
        command = [sys.executable, "-m", "bot.cli", "serve", "--no-warm", "--config", str(config)]
        with (
            log.open("wb") as output,
            subprocess.Popen(command, env={**os.environ, **secrets}, stdout=output, stderr=output) as process,
        ):
            try:
                eventually(lambda: "Pages, API and MCP server:" in log.read_text(), timeout_s=120)
                address = re.findall(r"http://127\.0\.0\.1:\d+", log.read_text())[0]
                with httpx.Client(base_url=address, auth=("", "t0")) as web:
                    page, trust = web.get("/incidents/wl-1").text, web.get(f"/v1/tables/{ORDERS}/trust").json()
                refused = httpx.get(f"{address}/")
                decided = httpx.post(f"{address}/incidents/wl-1/proposals/{PROPOSAL}", auth=("", "t0"))
            finally:
                process.send_signal(signal.SIGTERM)
                ended = process.wait(timeout=90)

    assert (0, 401, "under-review") == (ended, refused.status_code, trust["state"])
    assert 404 == decided.status_code
    assert 'href="#proposals"' in page
    assert "by Ana Ribeiro" in page
    assert known.id not in page


def _config(scene: Scene, slack: Workspace) -> Path:
    content = {
        "home": str(scene.folder / "home"),
        "journal": {"url": scene.journal_url},
        "catalog": {"name": "lake", "properties": scene.catalog_properties},
        "tables": {
            str(ORDERS): {"contract": {"key": ["order_id"]}, "policies": {"default": {"users": ["U0BEN00002"]}}}
        },
        "slack": {"base_url": slack.api_url, "pace": 0},
        "web": {"port": 0},
    }
    path = scene.folder / "waterline.yaml"
    with path.open("w", encoding="utf-8") as file:
        YAML().dump(content, file)
    return path
