"""Flink manifests on storage that came after `leaked_manifests` had looked: the listing names them, evidence does not
yet say what becomes of them."""

from collections.abc import Iterator

from bot.domain.diagnosis import Case
from bot.domain.flink import FlinkManifest


def came_since(case: Case) -> Iterator[FlinkManifest]:
    """In the order of the listing; none where nobody has looked."""
    if case.leaked is None:
        return
    known = {leak.path for leak in case.leaked.manifests}
    yield from (each for each in case.observation.flink_manifests.values if each.path not in known)
