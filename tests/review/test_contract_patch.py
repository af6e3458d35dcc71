"""The proposed change of a data contract: in the lines of the file, taken by `git apply`, read again before."""

import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.contract_patch import ContractFiles
from bot.adapters.contracts import contract_of
from bot.domain.contract import TableContract
from bot.domain.errors import BadConfiguration
from bot.domain.review_changes import (
    ContractChange,
    PromiseColumn,
    PromiseKey,
    PromisePart,
    PromiseSpan,
    PromiseType,
)
from bot.domain.review_entries import ContractPatch
from tests.review.conftest import CONTRACT
from tests.tables import ORDERS

MINUTE = timedelta(minutes=1)
CHANGES: tuple[ContractChange, ...] = (
    PromiseType(column="amount", type="decimal(12, 2)", why="The table has it so."),
    PromiseColumn(column="event_time", type="timestamptz", required=True, why="The table has it."),
    PromiseKey(columns=("order_id",), why="Duplicates are counted by it."),
    PromisePart(part="position", column="source_position", why="Gaps are told by it."),
    PromiseSpan(of="commit_every", takes=2 * MINUTE, why="They come so."),
    PromiseSpan(of="checkpoint_every", takes=1.5 * MINUTE, why="It is set so."),
)


def proposed(file: Path, *changes: ContractChange) -> ContractPatch:
    """The patch of a file that there is."""
    patch = ContractFiles({ORDERS: file}).patch(ORDERS, changes)
    assert patch is not None
    return patch


def applied(file: Path, patch: ContractPatch, *tool: str) -> TableContract:
    """What the contract says after a person has applied the patch in its folder."""
    subprocess.run(tool, input=patch.diff.encode(), cwd=file.parent, check=True, capture_output=True)
    return contract_of(file, ORDERS)


@pytest.mark.parametrize("tool", [("git", "apply", "-"), ("patch", "-p1")], ids=["git", "patch"])
def test_the_patch_is_taken_and_says_every_change(file: Path, tool: tuple[str, ...]) -> None:
    """After it the contract promises what was observed, and still what it promised before."""
    patch = proposed(file, *CHANGES)

    after = applied(file, patch, *tool)

    assert patch.left_out == ()
    assert (after.key, after.position) == (("order_id",), "source_position")
    assert (after.commit_every, after.checkpoint_every, after.freshness) == (2 * MINUTE, 1.5 * MINUTE, 15 * MINUTE)
    assert {c.name: c.type for c in after.columns} == {
        "order_id": "long", "amount": "decimal(12, 2)", "source_position": "long", "event_time": "timestamptz",
    }  # fmt: skip


def test_no_other_line_is_touched(file: Path) -> None:
    """Comments, quotes and order stay: the diff takes away only lines that are changed themselves."""
    diff = proposed(file, *CHANGES).diff

    removed = [line for line in diff.splitlines() if line.startswith("-") and not line.startswith("---")]
    assert removed == [
        '-  - {name: amount, physicalType: "decimal(10, 2)"}   # gross',
        "-  - {name: source_position, physicalType: long}",
    ]
    assert '+  - {name: amount, physicalType: "decimal(12, 2)"}   # gross' in diff.splitlines()


def test_a_team_in_the_standards_own_words_stands_in_nobodys_way(file: Path) -> None:
    """Days without quotes are days to YAML and text to the standard; a member that is odd is none of the patch's."""
    team = "team:\n  name: Orders\n  members:\n  - {username: dana, role: Owner, dateIn: 2022-08-02}\n  - ana\n"
    file.write_text(CONTRACT + team, encoding="utf-8")

    after = applied(file, proposed(file, *CHANGES), "git", "apply", "-")

    assert after.commit_every == 2 * MINUTE
    assert team in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("ending", ["\r\n", "\n"], ids=["crlf", "no last line feed"])
def test_line_ends_are_kept(file: Path, ending: str) -> None:
    """A file that was written elsewhere gets a patch that fits it."""
    file.write_bytes(CONTRACT.rstrip("\n").replace("\n", ending).encode())

    after = applied(file, proposed(file, *CHANGES), "git", "apply", "-")

    assert after.commit_every == 2 * MINUTE
    content = file.read_bytes().rstrip(b"\r\n")
    assert content.count(b"\n") == content.count(ending.encode())


def test_what_the_form_does_not_allow_is_left_to_people(file: Path) -> None:
    """A column that is not there, and one whose description is elsewhere in the file, are named and not patched."""
    file.write_text(CONTRACT.replace("physicalType: long\n", "physicalType: &whole long\n", 1), encoding="utf-8")

    patch = proposed(
        file,
        PromiseType(column="order_id", type="string", why="The table has it so."),
        PromiseType(column="refund", type="string", why="Nobody knows."),
        PromiseKey(columns=("amount",), why="As it is."),
    )

    assert [each.split(".")[0] for each in patch.left_out] == ["Promise order_id as string", "Promise refund as string"]
    assert patch.changes == ("Promise the key amount. As it is.",)
    assert applied(file, patch, "git", "apply", "-").key == ("amount",)


def test_a_contract_that_cannot_be_read_is_said_and_nothing_is_proposed(file: Path) -> None:
    """Two tables without a file have no patch; a broken file is an error that names it."""
    file.write_text("kind: [", encoding="utf-8")

    with pytest.raises(BadConfiguration, match=r"orders\.odcs\.yaml"):
        proposed(file, *CHANGES)
    assert ContractFiles({}).patch(ORDERS, CHANGES) is None
    assert ContractFiles({}).filed(ORDERS) is None
