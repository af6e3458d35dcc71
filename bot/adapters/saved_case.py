"""A diagnosis with its case as one JSON file, packed with gzip where its name ends in `.gz`."""

import gzip
import json
import zlib
from pathlib import Path

from pydantic import ValidationError

from bot.incident.diagnosis import SavedCase
from bot.observation.errors import BadConfiguration, first_problem
from bot.observation.masking import Masking

_LARGEST = 512 * 1024 * 1024
"""Bytes of the JSON; more is refused."""


def write_case(path: Path, saved: SavedCase, masking: Masking) -> None:
    """Raises BadConfiguration if `path` exists or cannot be written; then nothing is left behind."""
    content = json.dumps(masking.of(saved.model_dump(mode="json"))).encode()
    part = path.with_name(f"{path.name}.part")
    try:
        check_free(path)
        part.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise _unwritable(path, type(error).__name__) from error


def check_free(path: Path) -> None:
    """Raises BadConfiguration if `path` exists or has no folder. Checked before the diagnosis, which takes a while."""
    if path.exists():
        raise _unwritable(path, "one that is there already")
    if not path.parent.is_dir():
        raise _unwritable(path, "no such folder")


def _unwritable(path: Path, found: str) -> BadConfiguration:
    return BadConfiguration(
        f"The case could not be written to {path}.",
        f"Expected a new file in a folder that can be written; found {found}.",
        "Choose another path.",
    )


def read_case(path: Path) -> SavedCase:
    """Raises BadConfiguration if the file is no saved case, or one of another format."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise ValueError(f"more than {_LARGEST} bytes")
        json.loads(content)
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise BadConfiguration(
            f"{path} is not a saved case.",
            f"Expected a file of `waterline case save`; found {type(error).__name__}: {error}.",
            "Save the case again with `waterline case save TABLE --to FILE`.",
        ) from error
    try:
        return SavedCase.model_validate_json(content)
    except ValidationError as error:
        raise BadConfiguration(
            f"{path} was saved by another version of Waterline, which this one cannot read.",
            f"Expected format 1; found at {first_problem(error, 'the file')} "
            f"({error.error_count()} differences in all).",
            "Diagnose it with the version that saved it, or save it again.",
        ) from error
