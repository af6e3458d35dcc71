"""An action of somebody else's: one file outside the package, named in the settings."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bot import actions
from bot.actions._support.completing import scan
from bot.observation.errors import BadConfiguration

pytestmark = [pytest.mark.slow, pytest.mark.rotating]

ROOT = Path(__file__).parents[2]
OWN = '''
"""Tag the head under a name of ours."""

from bot.actions._support.draft import drafted
from bot.incident.action import Action, Plan
from bot.incident.effects import MarkTable
from bot.incident.proposal import Proposal

ACTION = Action(
    name="tag_the_head",
    title="Tag the head",
    promise="The head bears our tag.",
    needs=("ledger",),
    proofs=(),
    on_request=True,
)


def propose(plan: Plan) -> Proposal:
    """Always possible."""
    table = plan.case.observation.table
    assert table.head is not None
    return drafted(
        plan,
        ACTION,
        title=ACTION.title,
        effects=(MarkTable(table=table.name, why="Tag the head", new_tags={"ours": table.head}),),
        sentences=("Set the tag ours on the head.",),
        sure="The head gets our tag.",
        undo="`/waterline undo` removes the tag.",
    )
'''
BRANCHES = '''
"""Drop every branch but main."""

from bot.actions._support.draft import drafted
from bot.incident.action import Action, Plan
from bot.incident.effects import DropBranch
from bot.observation.errors import Refused
from bot.incident.proposal import Proposal

ACTION = Action(
    name="drop_branches",
    title="Drop branches",
    promise="Only main is left.",
    needs=("ledger",),
    is_destructive=True,
    proofs=(),
    on_request=True,
)


def propose(plan: Plan) -> Proposal:
    """Raises Refused where there is none."""
    table = plan.case.observation.table
    them = [ref for ref in table.refs if ref.kind == "branch" and ref.name != "main"]
    if not them:
        raise Refused("There is no branch.", "Expected one beside main; found none.", "Nothing has to be done.")
    return drafted(
        plan,
        ACTION,
        title=ACTION.title,
        effects=[DropBranch(table=table.name, branch=ref.name, head=ref.snapshot_id) for ref in them],
        sentences=("Drop the branches.",),
        sure="The branches go.",
        undo="It cannot be undone.",
    )
'''
BRANCHED = '''
"""A table with a branch of somebody's."""

from contextlib import closing

from bot.incident.action import Plan
from tests.actions.scene import Scene
from tests.little_flink import open_catalog
from tests.tables import ORDERS


def _branched(scene: Scene) -> Plan:
    with closing(open_catalog(scene.folder)) as catalog:
        catalog.load_table(ORDERS).manage_snapshots().create_branch(scene.table.head, "theirs").commit()
    return scene.plan()


WORLDS = {"branched": _branched}
'''
EXAMPLE = re.search(
    r"^```python\n# bot/actions/restore_nothing\.py\n(.*?)^```$",
    (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8"),
    re.DOTALL | re.MULTILINE,
)


@pytest.fixture(autouse=True)
def documented(own: Path) -> None:
    """The documented example is among them."""
    (own / "restore_nothing.py").write_text(EXAMPLE[1], encoding="utf-8")


def test_the_documented_example_is_found_beside_the_actions_of_the_package(own: Path) -> None:
    """Nothing of the package is touched for it."""
    found = scan(actions, ["own_actions.restore_nothing"])

    assert found["restore_nothing"].action.promise == "Nothing is changed."
    assert found["restore_nothing"].action.on_request, "or nobody could ever propose it"
    assert set(scan(actions)) == set(found) - {"restore_nothing"}


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("own_actions.restore_everything", "Install the package that holds it beside Waterline"),
        ("own_actions.half", "Write both"),
        ("own_actions.undo_proposal", "There are two actions undo_proposal"),
        ("own_actions.unasked", "could never be proposed"),
    ],
)
def test_what_cannot_be_used_stops_the_start_with_what_to_write(own: Path, named: str, says: str) -> None:
    """An action that is missing at three in the morning is worse than a start that does not come."""
    (own / "half.py").write_text("ACTION = None\n", encoding="utf-8")
    taken = (own / "restore_nothing.py").read_text(encoding="utf-8").replace("restore_nothing", "undo_proposal")
    (own / "undo_proposal.py").write_text(taken, encoding="utf-8")
    unasked = (own / "restore_nothing.py").read_text(encoding="utf-8").replace("restore_nothing", "unasked")
    (own / "unasked.py").write_text(unasked.replace("    on_request=True,\n", ""), encoding="utf-8")

    with pytest.raises(BadConfiguration) as refused:
        scan(actions, [named])

    assert says in str(refused.value)


def tried(folder: Path, action: str, *, only: str = "", worlds: str = "") -> subprocess.CompletedProcess[str]:
    """What CONTRIBUTING.md tells people to do, for one action of their own."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider"]
    chosen = ["-k", f"{only} and {action}" if only else action]
    return subprocess.run(
        [*command, *chosen, "tests/actions/test_every_action.py", "tests/actions/test_every_proposal.py"],
        cwd=ROOT,
        env=os.environ
        | {"WATERLINE_ACTIONS": f"own_actions.{action}", "WATERLINE_WORLDS": worlds}
        | {"PYTHONPATH": f"{folder.parent}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


@pytest.mark.timeout(300)
def test_a_good_action_of_ones_own_passes_what_holds_for_every_action(own: Path) -> None:
    """Proposed, cut, carried out, verified and undone, on every table that there is to try."""
    (own / "tag_the_head.py").write_text(OWN, encoding="utf-8")

    done = tried(own, "tag_the_head")

    assert done.returncode == 0, done.stdout[-3000:]
    assert "22 passed" in done.stdout, done.stdout[-3000:]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("good", "bad", "found_by"),
    [
        ("title=ACTION.title,", "title=f'{ACTION.title} {__import__(\"uuid\").uuid4()}',", "proposes_the_same_twice"),
        ("removes the tag.", "cannot be undone.", "says_that_it_cannot_be"),
        ("on the head.", "on the head", "leaves_nothing_out"),
    ],
)
def test_a_bad_one_is_found(own: Path, good: str, bad: str, found_by: str) -> None:
    """A title made by dice, an undo that says otherwise than it does, half a sentence."""
    assert good in OWN
    (own / "tag_the_head.py").write_text(OWN.replace(good, bad), encoding="utf-8")

    done = tried(own, "tag_the_head", only=found_by)

    assert done.returncode == 1, done.stdout[-3000:]
    assert found_by in done.stdout


@pytest.mark.timeout(300)
def test_one_that_proposes_nothing_on_any_table_is_not_called_tried(own: Path) -> None:
    """Everything skipped looks like everything passed."""
    done = tried(own, "restore_nothing", only="is_tried")

    assert done.returncode == 1, done.stdout[-3000:]
    assert "WATERLINE_WORLDS names a module" in done.stdout


@pytest.mark.timeout(300)
@pytest.mark.parametrize("is_said", [True, False])
def test_what_it_takes_away_on_a_table_of_its_author_is_tried_there(own: Path, is_said: bool) -> None:
    """An author's world, and an action that drops branches for good and has to say so."""
    written = BRANCHES if is_said else BRANCHES.replace("    is_destructive=True,\n", "")
    (own / "drop_branches.py").write_text(written, encoding="utf-8")
    (own / "worlds.py").write_text(BRANCHED, encoding="utf-8")

    done = tried(own, "drop_branches", only="branched", worlds="own_actions.worlds")

    assert done.returncode == (0 if is_said else 1), done.stdout[-3000:]
    assert ("5 passed" if is_said else "it removes branch theirs, which cannot be created again") in done.stdout
