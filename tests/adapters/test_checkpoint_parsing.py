"""A `_metadata` file's own words, of Flink 1.20 and 2.1; no bytes can do worse than a problem."""

import lzma
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.adapters.checkpoint_parsing import Handle, StateFile, Told, told_by
from bot.domain.flink import CheckpointKind
from bot.domain.ids import CheckpointId, JobId, OperatorId

FOLDER = Path(__file__).parent / "fixtures" / "checkpoint_metadata"


def recorded(name: str) -> bytes:
    """A file that a real Flink wrote; those of 2.1 are kept compressed."""
    content = (FOLDER / name).read_bytes()
    return lzma.decompress(content) if name.endswith(".xz") else content


V1_120 = JobId("4588180333ca4b09abdecd44f5c9d32c")
V2_120 = JobId("448b665aff56779aea15ba9f07e4148a")
V1_21 = JobId("d906dbe608727e8a3ae1a4f62b499120")
V1_21_RESTORED = JobId("4ebacc79d193062dbb6bdf840a72acac")
V2_21 = JobId("fde30a88749f34dd7afc9cefefc10d05")
COMMITTER_V1_120 = OperatorId("b0c4849fdea766ab199107cc0073124e")
COMMITTER_V2_120 = OperatorId("ae5c036551721cb6b1aa9912f4cb397e")
COMMITTER_V1_21 = OperatorId("7f86b06891c19f1e76c3f65c90ce752b")
COMMITTER_V2_21 = OperatorId("8b8a86e06c143909c270efa9f5bfe1fc")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "v1_stop_savepoint__metadata",
            Told(
                checkpoint_id=CheckpointId(8),
                kind=CheckpointKind.STOP_SAVEPOINT,
                job_id=V1_120,
                pending_manifests=(f"{V1_120}-{COMMITTER_V1_120}-00000-0-8-00008.avro",),
                is_committer_read=True,
                named_operators=(COMMITTER_V1_120,),
            ),
        ),
        (
            "v2_stop_savepoint__metadata",
            Told(
                checkpoint_id=CheckpointId(8),
                kind=CheckpointKind.STOP_SAVEPOINT,
                job_id=V2_120,
                pending_manifests=(f"{V2_120}-{COMMITTER_V2_120}-00000-0-8-00008.avro",),
                is_committer_read=True,
                named_operators=(COMMITTER_V2_120,),
            ),
        ),
        (
            "v1_upsert_chk3__metadata",
            Told(
                checkpoint_id=CheckpointId(3),
                kind=CheckpointKind.CHECKPOINT,
                job_id=JobId("082e965efea30042147eb49713eb374e"),
                pending_manifests=(
                    f"082e965efea30042147eb49713eb374e-{COMMITTER_V1_120}-00000-0-3-00005.avro",
                    f"082e965efea30042147eb49713eb374e-{COMMITTER_V1_120}-00000-0-3-00006.avro",
                ),
                is_committer_read=True,
                named_operators=(COMMITTER_V1_120,),
            ),
        ),
        (
            "flink21_v1_savepoint.xz",
            Told(
                checkpoint_id=CheckpointId(4),
                kind=CheckpointKind.SAVEPOINT,
                job_id=V1_21,
                pending_manifests=(f"{V1_21}-{COMMITTER_V1_21}-00000-0-4-00004.avro",),
                is_committer_read=True,
                named_operators=(COMMITTER_V1_21,),
                state_files=(StateFile("d9532f3f-ac50-4763-982a-4d3600849570", is_relative=True, end=399_813),),
            ),
        ),
        (
            "flink21_v2_stop_savepoint.xz",
            Told(
                checkpoint_id=CheckpointId(8),
                kind=CheckpointKind.STOP_SAVEPOINT,
                job_id=V2_21,
                is_committer_read=True,
                named_operators=(COMMITTER_V2_21,),
                state_files=(StateFile("4e7ec0cb-b153-4973-b5d1-36a2d7ee62f0", is_relative=True, end=399_413),),
            ),
        ),
        (
            "flink21_v1_chk12_not_inline.xz",
            Told(
                checkpoint_id=CheckpointId(12),
                kind=CheckpointKind.CHECKPOINT,
                state_files=(
                    StateFile("f61accfc-fb2c-46f9-8ca7-26fa98fe3283", is_relative=True, end=398_853),
                    StateFile("cfb11008-84e9-46a3-8ac3-d05cb93769c8", is_relative=True, end=22_145),
                ),
            ),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_real_file_tells_its_point_of_state(name: str, expected: Told) -> None:
    """Id, kind, writer and what it still owes, for both sinks and both lines of Flink."""
    told = told_by(recorded(name))

    assert told.model_copy(update={"operators": (), "manifest_folders": {}}) == expected
    assert told.operators


def test_pending_manifests_are_told_by_rising_checkpoint() -> None:
    """A V1 sink that was restored below its maximum carries one manifest for each withheld checkpoint."""
    told = told_by(recorded("flink21_v1_chk9.xz"))

    assert [name.split("-")[4] for name in told.pending_manifests] == ["5", "6", "7", "8", "9"]


def test_a_drained_savepoint_is_a_problem() -> None:
    """After `drain: true` Iceberg's V1 sink never commits again, so it is no restore point."""
    stopped = recorded("v1_stop_savepoint__metadata")

    told = told_by(stopped.removesuffix(b"t\x00\x07SUSPEND") + b"t\x00\x09TERMINATE")

    assert (told.kind, told.is_drained) == (CheckpointKind.STOP_SAVEPOINT, True)
    assert told.checkpoint_id == 8
    assert told.problem is not None
    assert "never commits again" in told.problem


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "cut off after 0 bytes"),
        (b"\x49\x60\x67\x2d", "cut off after 4 bytes"),
        (b"PK\x03\x04" + bytes(40), "begins with 504b0304"),
        (bytes.fromhex("4960672d00000009") + bytes(40), "format version 9; Waterline reads versions 3 to 6"),
        (bytes.fromhex("4960672d00000002") + bytes(40), "format version 2"),
        (bytes.fromhex("4960672d00000004") + b"\xff" * 40, "impossible checkpoint id -1"),
        (bytes.fromhex("4960672d00000004") + bytes(40), "properties that end it are missing"),
    ],
)
def test_what_is_no_metadata_is_told_as_a_problem(content: bytes, problem: str) -> None:
    """Empty, cut off, another format, an unknown version: each in words."""
    told = told_by(content)

    assert told.problem is not None
    assert problem in told.problem


@given(keep=st.integers(min_value=0, max_value=4863))
def test_a_file_that_is_cut_off_anywhere_is_a_problem(keep: int) -> None:
    """A half-copied file is never taken for a restore point, wherever it ends."""
    whole = recorded("v1_stop_savepoint__metadata")

    told = told_by(whole[:keep])

    assert told.problem is not None


@given(st.binary(max_size=400))
def test_no_bytes_raise(content: bytes) -> None:
    """Garbage is a problem, not a crash."""
    assert told_by(content).problem is not None


@given(st.data())
def test_a_flipped_byte_does_not_raise(data: st.DataObject) -> None:
    """A real file with a few bytes changed still gives an answer."""
    content = bytearray(recorded("v2_stop_savepoint__metadata"))
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))

    told = told_by(bytes(content))

    assert told.problem is None or told.problem.endswith((".", "again."))


def test_version_3_has_no_properties() -> None:
    """Flink before 1.15 does not say the kind, and that is no problem."""
    old = bytes.fromhex("4960672d00000003") + (5).to_bytes(8, "big") + bytes(20)

    assert told_by(old) == Told(checkpoint_id=CheckpointId(5))


def test_committer_state_beside_the_file_is_read_when_it_is_given() -> None:
    """A V1 sink that was restored below its maximum owes eight checkpoints: 22 KB, in a file of its own."""
    content = recorded("flink21_v1_chk12_not_inline.xz")
    asked: list[Handle] = []

    def beside(handle: Handle) -> bytes:
        asked.append(handle)
        return recorded("flink21_v1_chk12_beside.xz")

    told = told_by(content, beside)

    assert [(handle.file, handle.size) for handle in asked] == [("cfb11008-84e9-46a3-8ac3-d05cb93769c8", 22145)]
    assert (told.job_id, told.is_committer_read) == (V1_21_RESTORED, True)
    assert [name.split("-")[4] for name in told.pending_manifests] == ["5", "6", "7", "8", "9", "10", "11", "12"]


def test_committer_state_that_is_not_legible_is_not_read() -> None:
    """Compressed or cut, a pending manifest would not be seen in it: nothing may be concluded."""
    told = told_by(recorded("flink21_v1_chk12_not_inline.xz"), lambda handle: bytes(handle.size))

    assert (told.job_id, told.pending_manifests, told.is_committer_read) == (None, (), False)


def test_where_the_layout_breaks_the_text_is_still_told() -> None:
    """A kind of handle that this Waterline does not know: what it owes is seen, sizes are not, and that is said."""
    content = bytearray(recorded("v1_stop_savepoint__metadata"))
    content[content.index(b"iceberg-files-committer-state") - 7] = 99

    told = told_by(bytes(content))

    assert told.not_understood is not None
    assert "operator state before byte" in told.not_understood
    assert (told.operators, told.job_id, told.problem) == ((), V1_120, None)
    assert told.pending_manifests == (f"{V1_120}-{COMMITTER_V1_120}-00000-0-8-00008.avro",)
