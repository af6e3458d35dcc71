"""The pictures and the film of the documentation, from the running product: `make pictures` writes them anew.

`python -m tests.docs.pictures FOLDER` writes them elsewhere, by default into docs/pictures.

The film is what the page shows while somebody goes through the tutorial; long stretches without a change are cut.
"""

import sys
from base64 import b64decode
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page

from tests.chromium import chromium
from tests.docs.tutorial import SIZE, Tutorial, tour

_FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
KEPT = {"card": (1100, 1240), "proven": (1320, 860), "notice": (1100, 1240)}
"""Name -> how large the window is that it shows."""
_FILM = (880, 591)
_SHORTEST_MS, _LONGEST_MS = 300, 2500


def main(folder: Path) -> None:
    """Goes through the tutorial twice: for the pictures, which show a whole card, and for the film."""
    with chromium() as browser:
        folder.mkdir(parents=True, exist_ok=True)
        _pictures(browser.new_page(viewport=SIZE), folder)
        _film(browser.new_page(viewport=SIZE), folder / "film.webp")


def _pictures(page: Page, folder: Path) -> None:
    def shows(name: str) -> None:
        if name in KEPT:
            page.set_viewport_size(dict(zip(("width", "height"), KEPT[name], strict=True)))
            page.wait_for_timeout(1500)
            _save(page.screenshot(), folder / f"{name}.png")

    with tour() as url:
        Tutorial(page, url, shows).goes_through()


def _film(page: Page, path: Path) -> None:
    frames: list[tuple[float, bytes]] = []
    session = page.context.new_cdp_session(page)

    def keep(frame: dict[str, Any]) -> None:
        frames.append((frame["metadata"]["timestamp"], b64decode(frame["data"])))
        session.send("Page.screencastFrameAck", {"sessionId": frame["sessionId"]})

    session.on("Page.screencastFrame", keep)
    with tour() as url:
        tutorial = Tutorial(page, url, lambda _name: page.wait_for_timeout(1500))
        page.wait_for_timeout(1500)  # an empty page is no beginning
        session.send("Page.startScreencast", {"format": "jpeg", "quality": 90, "everyNthFrame": 1})
        tutorial.goes_through()
        page.wait_for_timeout(1500)
        session.send("Page.stopScreencast")
    _write(frames, path)


def _save(png: bytes, path: Path) -> None:
    Image.open(BytesIO(png)).convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE).save(path, optimize=True)


def _write(frames: list[tuple[float, bytes]], path: Path) -> None:
    kept: list[tuple[float, bytes]] = []
    for at, jpeg in frames:
        if not kept or (at - kept[-1][0]) * 1000 >= _SHORTEST_MS:
            kept.append((at, jpeg))
    shown = [min(int((later - at) * 1000), _LONGEST_MS) for (at, _), (later, _) in pairwise(kept)]
    pictures = [Image.open(BytesIO(jpeg)).resize(_FILM, Image.Resampling.LANCZOS) for _, jpeg in kept]
    first, *rest = pictures
    first.save(path, save_all=True, append_images=rest, duration=[*shown, _LONGEST_MS], loop=0, quality=36, method=6)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else _FOLDER)
