"""Which tests `make test` runs while somebody works, and which it leaves to `make test-all`.

A test is left to `make test-all` (it is marked `full`) where it says so itself, where it needs a fixture or lies in a
folder that is named here and is not marked `smoke`, and where it is marked `slow`, `long` or `chaos`.
"""

import pytest

FOLDERS = ("actions", "catalogs", "evidence/standing", "repairs", "slack", "telling", "watch", "web", "workspace")
"""Each test there costs a tenth of a second to two seconds: tables are written, bots and servers are started."""
FIXTURES = frozenset({"embedded", "rest_catalog", "metastore", "slack", "ws"})
"""Spark, other catalogs, a whole bot."""
OTHERS = ("full", "slow", "long", "chaos")
SPARK = ("tests/evidence/", "tests/repairs/", "tests/catalogs/")
"""Where Spark is needed: one worker does all of these, or each would start one."""
