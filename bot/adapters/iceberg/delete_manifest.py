"""A manifest of delete files, which PyIceberg (0.12) reads but does not write."""

from pyiceberg.manifest import ManifestContent, ManifestWriterV2
from pyiceberg.schema import Schema
from pyiceberg.typedef import TableVersion

_IDS = '"element-id":136,"element":"{}"'
"""The element of `equality_ids` in the schema of an entry."""


class DeleteManifest(ManifestWriterV2):
    """The format has ids of fields as int; PyIceberg would write long, which Java's readers refuse."""

    def content(self) -> ManifestContent:
        """What the manifest list says of it."""
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}

    def _with_partition(self, format_version: TableVersion) -> Schema:
        written = super()._with_partition(format_version).model_dump_json()
        return Schema.model_validate_json(written.replace(_IDS.format("long"), _IDS.format("int")))
