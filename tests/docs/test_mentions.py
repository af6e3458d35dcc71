"""Whatever exists is documented, and no file tells of one machine or registry."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from typer import Context
from typer.main import get_command

import spark_tasks
from bot import actions, diagnosis
from bot.actions._support.completing import scan as find_actions
from bot.adapters.notify import NoticePayload
from bot.cli import app
from bot.cli.catalogue import catalogue_text
from bot.diagnosis._support.examine import scan as find_modes
from bot.evidence import find_tasks
from bot.notices import scan
from bot.notices import scan as find_notices
from bot.notices.lint import facts_named
from bot.notices.reference import BEGIN, reference
from bot.notices.template import environment_of
from bot.runbook.parse import files_of
from bot.settings import secrets
from bot.slack.commands import VERBS
from bot.slack.directory import EVENTS, SCOPES
from bot.slack.ids import COMMAND
from bot.workspace.api import METHODS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = README + "".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").rglob("*.md")))
CATALOGUE = ROOT / "docs" / "catalogue.md"
_HOMES = ("work", "root", "home/[a-z]+")
_REGISTRIES = (r"repo1?\.maven", r"pypi\.or.", r"files\.pythonhoste.", r"registry\.npmj.", r"deb\.debia.")
_FOREIGN = re.compile("|".join([*(f"(?<![a-z0-9.])/{home}/" for home in _HOMES), *_REGISTRIES]))


def _named() -> list[str]:
    return [
        *find_actions(actions),
        *find_notices(ROOT / "messages"),
        *(path.stem for path in files_of(ROOT / "runbooks")),
        *VERBS,
    ]


@pytest.mark.parametrize("name", _named())
def test_each_action_notice_runbook_and_subcommand_is_documented(name: str) -> None:
    """What is added is mentioned in README or on a page of `docs/`."""
    assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", PAGES)


def test_the_readme_mentions_no_runbook_and_no_subcommand_that_is_gone() -> None:
    """What is deleted is not promised any more."""
    typed = {word for cell in re.findall(r"^\| (`/waterline.*?) \|", README, re.MULTILINE)
             for word in re.findall(r"`(?:/waterline )?([a-z]+)", cell)}  # fmt: skip
    (listed,) = re.findall(r"runbooks\*\*, one a symptom: (.*)", README)

    assert typed <= set(VERBS)
    assert set(re.findall(r"`([a-z-]+)`", listed)) == {path.stem for path in files_of(ROOT / "runbooks")}


def test_the_readme_counts_what_there_is() -> None:
    """Modes, tasks and runbooks; and the runs on real clusters, as the page of the matrix counts them."""
    told = {what: int(count) for count, what in re.findall(r"\*\*(\d+) ([a-z ]+)\*\*", README)}
    runs, undecided = re.findall(r"We ran (\d+) faults .*? (\d+) answers, .*? undecided", README)[0]
    agree, of = re.findall(r"^(\d+) of (\d+) answers agree", (ROOT / "docs/matrix.md").read_text(), re.MULTILINE)[0]

    assert told == {
        "failure modes": sum(name.startswith("F") for name in find_modes(diagnosis)),
        "evidence tasks": len(find_tasks(spark_tasks)),
        "runbooks": len([*files_of(ROOT / "runbooks")]),
    }
    assert (runs, int(undecided)) == (of, int(of) - int(agree))


def test_the_readme_is_short() -> None:
    """Whoever opens the repository reads it whole."""
    assert len(README.splitlines()) <= 150


def test_the_catalogue_is_what_the_modules_declare() -> None:
    """`docs/catalogue.md` names every task and failure mode; write it anew (`make reference`) when one changes."""
    written = CATALOGUE.read_text(encoding="utf-8")

    assert catalogue_text() == written
    assert [name for name in [*find_tasks(spark_tasks), *find_modes(diagnosis)] if f"### {name}:" not in written
            and f"### `{name}`" not in written] == []  # fmt: skip


def test_each_command_is_in_the_readme() -> None:
    """The terminal's commands, too."""
    group = get_command(app)
    commands = group.list_commands(Context(group))

    missing = [name for name in commands if f"waterline {name}" not in README]

    assert [] == missing


def test_each_secret_can_be_rotated() -> None:
    """The page of each says how to make a new one."""
    page = (ROOT / "docs" / "how-to" / "rotate-secrets.md").read_text(encoding="utf-8")
    kinds = [each for each in vars(secrets).values() if isinstance(each, type) and issubclass(each, secrets.Secrets)]
    named = {name.upper() for kind in kinds for name in kind.model_fields}

    assert "SLACK_BOT_TOKEN" in named
    assert [name for name in sorted(named) if f"| `{name}` |" not in page] == []


def test_the_manifest_asks_for_what_the_bot_uses() -> None:
    """Scopes, command and event of the Slack app are those of the code."""
    manifest = YAML(typ="safe").load((ROOT / "deploy/slack/manifest.yaml").read_text(encoding="utf-8"))

    assert set(SCOPES) == set(manifest["oauth_config"]["scopes"]["bot"])
    assert [COMMAND] == [c["command"] for c in manifest["features"]["slash_commands"]]
    assert list(EVENTS) == manifest["settings"]["event_subscriptions"]["bot_events"]


def test_every_method_that_the_bot_calls_has_its_scope() -> None:
    """A scope that is missing shows only in a real workspace, at the moment when it is needed."""
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "bot/slack").glob("*.py"))
    called = set(re.findall(r"client\.([a-z]+_[a-zA-Z_0-9]+)\(", source))
    needed = {name.replace(".", "_").lower(): method.scope for name, method in METHODS.items() if method.scope}
    needed["files_upload_v2"] = needed["files_getuploadurlexternal"]

    missing = {name: needed[name] for name in called & {*needed} if needed[name] not in SCOPES}

    assert {} == missing
    assert {"conversations_history", "users_info", "chat_update", "files_upload_v2"} <= called & {*needed}


def test_the_changelog_has_its_form() -> None:
    """Versions of at most 45 lines, then Added, Changed, Fixed in this order, then lines about what a user sees."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    kinds = [re.findall(r"^### (.+)$", version, flags=re.MULTILINE) for version in versions]
    other = [line for line in text.splitlines() if line and not line.startswith(("#", "- ", "  ", "The first release"))]

    assert versions
    assert all(len(version.splitlines()) <= 45 for version in versions)
    assert all(found == [k for k in ("Added", "Changed", "Fixed") if k in found] and found for found in kinds)
    assert [] == other


def test_the_lock_pins_every_package_with_hashes_and_no_address() -> None:
    """What is installed is what was locked, from whatever registry the machine uses."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pinned = re.findall(r"^([a-z0-9][a-z0-9._-]*(?:\[[a-z,-]+\])?)==", lock, flags=re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *(each for extra in project["optional-dependencies"].values() for each in extra)]
    names = {re.split(r"[\[<>=~!; ]", each)[0] for each in asked} - {project["name"]}
    unhashed = [block for block in re.split(r"\n(?=[a-z0-9])", lock) if "--hash=sha256:" not in block]

    assert set() == {name.replace(".", "-") for name in names} - {
        name.split("[")[0].replace(".", "-") for name in pinned
    }
    assert [] == unhashed
    assert "://" not in lock


def test_no_file_tells_of_one_machine_or_registry() -> None:
    """Paths of one machine and addresses of package registries stay out of the repository."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.fail("this test needs the git checkout")
    own = Path(__file__).relative_to(ROOT)
    found = []
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if Path(name) == own or path.suffix in {".png", ".avro", ".parquet"} or not path.is_file():
            continue
        text = path.read_bytes().decode("utf-8", errors="ignore")
        found += [f"{name}: {hit}" for hit in _FOREIGN.findall(text)]

    assert [] == found


def test_the_page_shows_each_notice_as_it_is_rendered() -> None:
    """`python -m bot.notices.reference` writes it anew."""
    page = (ROOT / "docs" / "notices.md").read_text(encoding="utf-8")

    assert BEGIN + page.split(BEGIN)[1] == reference(scan(ROOT / "messages"))


def test_every_fact_is_documented() -> None:
    """A template's author finds each variable with what it means."""
    text = reference(scan(ROOT / "messages"))

    assert [line for line in text.split("## Facts")[1].split("\n") if line.endswith("|  |")] == []


def test_every_variable_of_every_template_is_documented() -> None:
    """Also those that stand in others, in parts of templates, and in branches that nothing enters."""
    listed = set(re.findall(r"^\| `([^`]+)` \|", reference(scan(ROOT / "messages")), re.MULTILINE))
    environment = environment_of(ROOT / "messages")
    assert environment.loader is not None

    named = {
        way.removesuffix("[]")
        for path in (ROOT / "messages").glob("*.md.j2")
        for way, _ in facts_named(environment.parse(environment.loader.get_source(environment, path.name)[0]))
        if way.split(".")[0] != "loop"
    }

    assert {"affected.rows", "reading.runs[].path", "trusted.pins[].engine"} <= named
    assert named - listed == set()


def test_the_published_schema_is_the_payloads() -> None:
    """Receivers rely on it."""
    published = json.loads((ROOT / "docs" / "notice.schema.json").read_text(encoding="utf-8"))

    assert published == NoticePayload.model_json_schema()
