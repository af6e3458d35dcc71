"""`docs/approval.md` tells the policy and the moves as they are."""

from pathlib import Path

from bot.domain.approval import ApprovalPolicy
from bot.domain.execution import MOVES

PAGE = (Path(__file__).parents[2] / "docs" / "approval.md").read_text(encoding="utf-8")


def test_the_page_has_the_table_of_moves() -> None:
    """A move that is added or taken away changes the page."""
    rows = [f"| {state} | {', '.join(sorted(to))} |" for state, to in MOVES.items() if to]

    assert rows == [line for line in PAGE.split("## The table of moves")[1].splitlines() if line.startswith("| ")][1:]


def test_the_page_has_every_setting_of_a_policy() -> None:
    """Whoever writes a policy finds all that it can say."""
    table = PAGE.split("## The policy")[1].split("## Emergency approval")[0]

    assert [] == [name for name in ApprovalPolicy.model_fields if f"`{name}`" not in table]
