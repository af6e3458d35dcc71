"""What a whole test run shares is started once: a second cluster or Spark beside the first slows everything down."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
SHARED = re.compile(r"^from tests\.(?:lab_fixtures|spark_fixtures|postgres) import (?P<names>.*)$", re.MULTILINE)


def test_no_fixture_of_the_whole_run_is_imported_below_its_conftest() -> None:
    """Imported again, it is another fixture to pytest, and starts what it starts once more. Types may be imported."""
    again = {
        str(path.relative_to(TESTS)): found["names"]
        for path in TESTS.rglob("*.py")
        if path != TESTS / "conftest.py"
        for found in SHARED.finditer(path.read_text(encoding="utf-8"))
        if re.search(r"\b(fresh_lab|lab_cluster|embedded|server|runner|postgres)\b", found["names"])
    }

    assert {} == again
