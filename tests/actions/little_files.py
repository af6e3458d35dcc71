"""Files in the little world: each commit of the job has one, and so has each Flink manifest that is left on storage."""

from collections.abc import Mapping

from bot.observation.errors import Refused
from bot.observation.file_changes import FileList, FileSources, FileSurvey, Some
from bot.observation.snapshot import REPAIR
from tests.diagnosis.little_world import World


def name_of(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def live_files(world: World) -> set[str]:
    """What main names; deletes and compactions leave the names as they are."""
    return {file for s in world.chain() for file in (f"of-{s.snapshot_id}", *world.files.get(s.snapshot_id, ()))}


def survey(world: World, add: FileSources | None, remove: FileSources | None) -> FileSurvey:
    """What adding these files would meet; nothing is lost on storage. Raises Refused where files are to be removed,
    which this world does not know."""
    if add is None or remove is not None:
        raise Refused("Files are only added here.", f"Found {remove}.", "")
    files, fresh = _files(world, add), _fresh(world, add)
    rows = sum(map(len, fresh.values()))
    return FileSurvey(
        add=FileList(sources=add, files=len(fresh), rows=rows, bytes=rows, digest="e" * 64) if fresh else None,
        remove=None,
        live_already=Some(count=len(files) - len(fresh)),
        has_equality_deletes=bool(world.equality_deletes),
    )


def repairs(world: World, sources: FileSources, carries: Mapping[str, str]) -> None:
    """Main gets the files, as an approved repair."""
    fresh = _fresh(world, sources)
    world.another_commits("append", adds=[each for held in fresh.values() for each in held])
    newest = world.tale.snapshots[-1]
    told = {"added-records": newest.summary["added-records"], "added-data-files": str(len(fresh)), REPAIR: "p:1"}
    world.tale.snapshots[-1] = newest.model_copy(update={"summary": {**told, **carries}})
    world.files[newest.snapshot_id] = tuple(fresh)


def _fresh(world: World, sources: FileSources) -> dict[str, tuple[int, ...]]:
    live = live_files(world)
    return {file: held for file, held in _files(world, sources).items() if file not in live}


def _files(world: World, sources: FileSources) -> dict[str, tuple[int, ...]]:
    """File -> the positions that it holds."""
    found = {f"of-{s}": world.holds[s] for s in sources.added_by if world.holds.get(s)}
    return found | {path: world.wrote.get(name_of(path), ()) for path in sources.manifests}
