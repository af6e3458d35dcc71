"""`python -m tests.docs [FOLDER]` builds the documentation site into FOLDER/site, by default artifacts/site."""

import sys
from pathlib import Path

from tests.docs.site import ROOT, Broken, build

if __name__ == "__main__":
    try:
        print(build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "artifacts"))  # noqa: T201 - where it is
    except Broken as error:
        sys.exit(str(error))
