"""A saved case as one zip file: `case.json`, and the raw sources under `raw/` with `raw/index.json` naming them."""

import json
import lzma
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from bot.domain.diagnosis import SavedCase
from bot.domain.errors import BadConfiguration
from bot.domain.masking import Masking

_CASE = "case.json"
_INDEX = "raw/index.json"
_LARGEST = 512 * 1024 * 1024
"""Bytes of `case.json` when unpacked; a file that claims more is refused."""
_SLOWLY = 1024 * 1024
"""Bytes up to which a source is packed better and more slowly: checkpoint files become a tenth of the size."""
_LARGEST_INDEX = 16 * 1024 * 1024
"""The same of `raw/index.json`."""
_LARGEST_RAW = 1024 * 1024 * 1024
"""The same of all sources together."""
_TROUBLE = (OSError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, KeyError)
"""What `zipfile` raises of a file that is none, or garbled, or packed in a way or with a password that it does not
know."""
_NAMES = TypeAdapter(dict[str, str])


def write_case(path: Path, saved: SavedCase, raw: Mapping[str, bytes], masking: Masking) -> None:
    """`raw` maps where a source was (a path or an address) to its bytes; text among them is masked, and what is no
    text is left out where it holds a secret, because nothing else of its length could stand there.

    Raises BadConfiguration if `path` exists or cannot be written; then nothing is left behind.
    """
    index: dict[str, str] = {}
    masked = {source: _masked(content, masking) for source, content in raw.items()}
    secret = tuple(f"{source}: it holds what looks like a secret" for source in raw if masked[source] is None)
    saved = saved.model_copy(update={"left_out": saved.left_out + secret})
    part = path.with_name(f"{path.name}.part")
    try:
        if path.exists():
            raise FileExistsError(path)
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
            file.writestr(_CASE, json.dumps(masking.of(saved.model_dump(mode="json"))))
            for number, (source, content) in enumerate(sorted(masked.items())):
                if content is None:
                    continue
                shown = masking.text(source)
                name = f"raw/{number:04d}-{shown.rstrip('/').rsplit('/', 1)[-1][-80:]}"
                index[name] = shown
                file.writestr(name, content, zipfile.ZIP_LZMA if len(content) <= _SLOWLY else None)
            file.writestr(_INDEX, json.dumps(index, indent=1))
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise _unwritable(path, type(error).__name__) from error


def check_free(path: Path) -> None:
    """Raises BadConfiguration where a file stands already: told before the sources are read, which takes a while."""
    if path.exists():
        raise _unwritable(path, "one that is there already")


def _unwritable(path: Path, found: str) -> BadConfiguration:
    return BadConfiguration(
        f"The case could not be written to {path}.",
        f"Expected a new file in a folder that can be written; found {found}.",
        "Choose another path.",
    )


def _masked(content: bytes, masking: Masking) -> bytes | None:
    """None for what is no text and holds a secret."""
    try:
        text = None if b"\0" in content else content.decode()
    except UnicodeDecodeError:
        text = None
    if text is not None:
        return masking.text(text).encode()
    told = content.decode("latin-1")
    return content if masking.text(told) == told else None


def read_case(path: Path) -> SavedCase:
    """Raises BadConfiguration when it is not a saved case, or one of another format."""
    try:
        with zipfile.ZipFile(path) as file:
            if file.getinfo(_CASE).file_size > _LARGEST:
                raise zipfile.BadZipFile(f"{_CASE} is larger than {_LARGEST} bytes")
            content = file.read(_CASE)
    except _TROUBLE as error:
        raise BadConfiguration(
            f"{path} is not a saved case.",
            f"Expected a file of `waterline case save`; found {type(error).__name__}: {error}.",
            "Save the case again with `waterline case save TABLE --to FILE`.",
        ) from error
    try:
        return SavedCase.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        raise BadConfiguration(
            f"{path} was saved by another version of Waterline, which this one cannot read.",
            f"Expected format 1; found at {'.'.join(map(str, first['loc']))}: {first['msg']} "
            f"({error.error_count()} differences in all).",
            "Diagnose it with the version that saved it, or save it again.",
        ) from error


def raw_of(path: Path) -> dict[str, bytes]:
    """Where each raw source was -> its bytes; empty for a file without any. Raises BadConfiguration."""
    try:
        with zipfile.ZipFile(path) as file:
            if _INDEX not in file.namelist():
                return {}
            if file.getinfo(_INDEX).file_size > _LARGEST_INDEX:
                raise zipfile.BadZipFile(f"{_INDEX} is larger than {_LARGEST_INDEX} bytes")
            index = _NAMES.validate_json(file.read(_INDEX))
            if sum(file.getinfo(name).file_size for name in index) > _LARGEST_RAW:
                raise zipfile.BadZipFile(f"its sources are larger than {_LARGEST_RAW} bytes")
            return {source: file.read(name) for name, source in index.items()}
    except (*_TROUBLE, ValidationError) as error:
        raise BadConfiguration(
            f"The sources in {path} cannot be read.",
            f"Expected them below raw/, named in {_INDEX}; found {type(error).__name__}.",
            "Copy the file again; it may be incomplete.",
        ) from error
