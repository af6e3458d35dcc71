"""Where `runbooks/` and `messages/` are: within the package where a wheel was installed, beside it in a checkout."""

from pathlib import Path

_INSTALLED = Path(__file__).parents[1] / "_content"
"""Put there by the build; a checkout has none, and so its own files are never hidden by older ones."""

CONTENT = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parents[2]
"""The folder that holds both."""
