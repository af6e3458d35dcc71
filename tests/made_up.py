"""How many histories are made up, and from which seed on: the same at each run, unless somebody hunts for new ones."""

import os

EXAMPLES = int(os.environ.get("WATERLINE_EXAMPLES", "80"))
"""`make test` takes 80, `make test-all` 400, `make hunt` 20,000."""
BASE = int(os.environ.get("WATERLINE_SEED", "0"))
"""The first seed. `make hunt` draws one and prints it; a run that is given the same does the same."""
IS_HUNTING = "WATERLINE_SEED" in os.environ
