"""How many histories are made up, and from which seed on: others each day, unless somebody names the seed."""

import os

from tests.tiers import DAY

EXAMPLES = int(os.environ.get("WATERLINE_EXAMPLES", "80"))
"""`make test` takes 80, `make test-all` 400, `make hunt` 20,000."""
IS_HUNTING = "WATERLINE_SEED" in os.environ
BASE = int(os.environ.get("WATERLINE_SEED") or DAY % 25 * 400)
"""The first seed, which each run prints: seeds 0 to 9,999 in 25 days. `make hunt` draws one from further away."""
