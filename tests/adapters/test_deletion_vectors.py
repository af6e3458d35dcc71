"""Deletion vectors: what is written is what PyIceberg reads, and what is not whole is not read."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.table.deletion_vector import DeletionVector, deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile

from bot.adapters.iceberg.format_v3 import places_in, puffin_of, vector_of

PLACES = st.sets(st.integers(0, 2**34), min_size=1, max_size=200).map(sorted)


@given(st.dictionaries(st.text(min_size=1), PLACES, min_size=1, max_size=4))
def test_another_reader_finds_the_same_places(vectors: dict[str, list[int]]) -> None:
    """Also beyond 2^32, in runs and scattered, and of several files in one."""
    content, blobs = puffin_of(vectors)

    found = deletion_vectors_from_puffin_file(PuffinFile(content))
    read = {each.referenced_data_file: list(_places(each)) for each in found}
    assert read == vectors
    for path, (begin, length) in blobs.items():
        assert places_in(content[begin : begin + length]) == vectors[path]


def _places(vector: DeletionVector) -> Iterator[int]:
    """Its own `to_vector` (0.12) fails where the upper halves have a gap."""
    return ((key << 32) + place for key, bitmap in enumerate(vector._bitmaps) for place in bitmap)


@pytest.mark.parametrize("place", [0, 5, 20, -1])
def test_a_vector_that_is_not_whole_is_refused(place: int) -> None:
    """Else rows that were deleted would come back unseen."""
    blob = bytearray(vector_of(range(100, 200)))
    blob[place] ^= 1

    with pytest.raises(ValueError, match="not whole"):
        places_in(bytes(blob))


def test_a_vector_that_was_cut_is_refused() -> None:
    """A file that storage gives in part."""
    with pytest.raises(ValueError, match="not whole"):
        places_in(vector_of(range(100, 200))[:-3])
