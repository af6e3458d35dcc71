"""How an exported record carries its chain: as JSON, or packed into a comment of HTML and Markdown."""

import base64
import json
import re
import zlib
from typing import Literal

from pydantic import Field, ValidationError

from bot.domain.errors import BadConfiguration
from bot.domain.record_account import Account
from bot.domain.record_file import Carried

Form = Literal["html", "markdown", "json"]
_PACKED = re.compile(r"<!-- waterline-record:\s*([A-Za-z0-9+/=\s]+?)\s*-->")
_WIDTH = 120
_MOST = 256 * 1024 * 1024
"""Bytes that a packed record may unpack to: a file from elsewhere must not fill the memory."""


class RecordDocument(Carried):
    """An incident's record as JSON: the account, and the chain that proves it."""

    incident: Account = Field(description="The incident; everything in it follows from the chain's entries.")


def packed(carried: Carried) -> str:
    """What a comment of HTML or Markdown holds: JSON, deflated, as base64 in lines."""
    text = base64.b64encode(zlib.compress(carried.model_dump_json().encode(), 9)).decode()
    return "\n".join(text[at : at + _WIDTH] for at in range(0, len(text), _WIDTH))


def form_of(text: str) -> Form:
    """Which form a file has, by its beginning."""
    begin = text.lstrip()[:20].lower()
    if begin.startswith("{"):
        return "json"
    return "html" if begin.startswith("<!doctype html") else "markdown"


def carried_by(text: str) -> Carried:
    """What a file carries. Raises BadConfiguration when that is no record, or none that this version reads."""
    if form_of(text) == "json":
        return _read(RecordDocument, text)
    found = _PACKED.findall(text)
    if len(found) != 1:
        raise BadConfiguration(
            "This file cannot be verified.",
            f"Expected one record packed into a comment at its end; found {len(found)}.",
            "Export the incident again: waterline record export wl-1.",
        )
    try:
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(base64.b64decode(found[0]), _MOST)
    except (ValueError, zlib.error) as damage:
        raise _damaged(str(damage)) from damage
    if not unpacker.eof:
        raise _damaged("the packed record is cut or too large")
    return _read(Carried, content.decode(errors="replace"))


def _read(kind: type[Carried], text: str) -> Carried:
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise _damaged(f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}") from error


def _damaged(found: str) -> BadConfiguration:
    return BadConfiguration(
        "This file is not an incident record, or it is damaged.",
        f"Expected the format waterline-incident-record, version 1; found: {found}.",
        "Use the original file, or export the incident again.",
    )


def schema_json() -> str:
    """The JSON Schema of a record, as it is published."""
    schema = RecordDocument.model_json_schema(mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
