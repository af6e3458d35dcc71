"""`make chaos [KILLS=…] [SEED=…] [RECORD=postgresql]`: kill, kill again, check; ends with 1 if a rule was broken."""

import argparse
import sys
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path

from tests.chaos.experiment import Experiment, Figures
from tests.chaos.world import Bots
from tests.postgres import postgres_server

_KILLS_A_WORLD = 60
"""Then table and record are made anew: a table of thousands of commits would measure PyIceberg, not the bot."""


def main() -> int:
    """Run until there are enough kills."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument(
        "--bots", type=int, default=1, help="so many, of which one works; more than one on postgresql only"
    )
    parser.add_argument("--keep", type=Path, help="leave each world's files here")
    asked = parser.parse_args()
    if asked.bots > 1 and asked.record == "sqlite":
        parser.error("several bots need PostgreSQL: --record postgresql")
    figures = Figures()
    with ExitStack() as stack:
        root = asked.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chaos-")))
        root.mkdir(parents=True, exist_ok=True)
        server = stack.enter_context(postgres_server()) if asked.record == "postgresql" else None
        bots = stack.enter_context(closing(Bots(root / "bots.log")))
        seed = asked.seed
        while figures.kills < asked.kills:
            known = len(figures.violations)
            folder = root / f"seed-{seed}"
            folder.mkdir()
            record = server.new_database() if server else f"sqlite:///{folder}/journal.db"
            wanted = min(_KILLS_A_WORLD, asked.kills - figures.kills)
            Experiment(folder, record, bots, seed=seed, kills=wanted, figures=figures, together=asked.bots).run()
            print(f"seed {seed}: {figures.told()}", flush=True)  # noqa: T201
            for each in figures.violations[known:]:
                print(f"VIOLATION {each}", flush=True)  # noqa: T201
            seed += 1
    return 1 if figures.violations else 0


if __name__ == "__main__":
    sys.exit(main())
