"""Stories are found by their being there, and named like their functions."""

import pytest

from bot.lab.errors import LabError
from bot.lab.stories import stories, story_named


@pytest.mark.parametrize("name", sorted(stories()))
def test_a_story_is_named_like_its_function_and_says_what_happens(name: str) -> None:
    """Whoever reads the name finds it."""
    story = story_named(name)

    assert name == story.tell.__name__.replace("_", "-")
    assert story.summary.endswith(".")


def test_an_unknown_story_is_refused_with_the_known_ones() -> None:
    """A mistyped name is answered with the right ones."""
    with pytest.raises(LabError) as refused:
        story_named("restored-from-newer-savepoint")

    assert "restored-from-older-savepoint" in refused.value.found
