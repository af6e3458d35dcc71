"""The trial with Compose: what its files say of each other holds. `test_image.py` runs it."""

import re
import shlex
from urllib.parse import urlsplit

import yaml

from bot.settings import Settings, SlackSecrets, WebSecrets
from bot.web.serving import not_ready
from tests.deploy.image import PROJECT, USER

COMPOSE = yaml.safe_load((PROJECT / "deploy/compose.yaml").read_text())
BOT, DATABASE = COMPOSE["services"]["waterline"], COMPOSE["services"]["db"]
TARGET = (PROJECT / "deploy/Containerfile").read_text().split(f" AS {BOT['build']['target']}\n")[1].split("\nFROM")[0]
"""The part of the Containerfile that Compose asks for."""
TRIAL = Settings.load(PROJECT / "deploy/trial.yaml")


def test_the_container_has_its_places_and_its_user_from_the_containerfile() -> None:
    """The build finds its files; the configuration lies where the image looks; the user may write its home."""
    build = BOT["build"]
    (mount,) = BOT["volumes"]
    outside, inside, mode = mount.split(":")
    folders = dict(each.split(":") for each in BOT["tmpfs"])

    assert (PROJECT / "deploy" / build["context"]).resolve() == PROJECT
    assert (PROJECT / build["dockerfile"]).is_file()
    assert f"USER {USER}:{USER}\n" in TARGET
    assert f'"--config", "{inside}"' in TARGET
    assert f"HOME={TRIAL.home} " in TARGET
    assert folders[str(TRIAL.home)] == "mode=1777"
    assert "exec" in folders["/tmp"].split(",")
    assert (PROJECT / "deploy" / outside).resolve() == PROJECT / "waterline.yaml"
    assert mode == "ro"


def test_the_addresses_are_those_of_the_configuration() -> None:
    """Pages, probe and database; and every secret that this configuration needs is handed in."""
    probe = urlsplit(re.findall(r"http://[^']+", BOT["healthcheck"]["test"])[0])
    journal = urlsplit(TRIAL.journal_url)
    people = DATABASE["environment"]

    assert not TRIAL.web.is_loopback
    assert BOT["ports"] == [f"127.0.0.1:{TRIAL.web.port}:{TRIAL.web.port}"]
    assert probe.port == TRIAL.web.port
    assert probe.path in {route.path for route in not_ready("").routes}  # type: ignore[attr-defined]
    assert (journal.hostname, journal.username, journal.path) == ("db", people["POSTGRES_USER"], "/waterline")
    assert BOT["environment"]["PGPASSWORD"] == people["POSTGRES_PASSWORD"]
    assert {"db"} == set(BOT["depends_on"])
    needed = {*SlackSecrets.model_fields, *WebSecrets.model_fields} - {"slack_signing_secret"}  # of the mode `http`
    assert {name.upper() for name in needed} <= set(BOT["environment"])


def test_the_page_says_what_the_files_need() -> None:
    """The copy that Compose mounts, the secrets that it hands in, and no other variable."""
    page = (PROJECT / "deploy/README.md").read_text().split("## A trial with Compose")[1].split("\n## ")[0]
    set_by_people = {name for name, value in BOT["environment"].items() if value is None}
    commands = re.findall(r"podman compose (.+)", page)

    assert "cp deploy/trial.yaml waterline.yaml" in page
    assert set(re.findall(r"([A-Z_]{6,})=", page)) == set_by_people
    assert {shlex.split(each)[1] for each in commands} == {"deploy/compose.yaml"}
