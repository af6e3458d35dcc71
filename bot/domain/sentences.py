"""How texts of others become sentences."""


def full_stop(text: str) -> str:
    """With a full stop, if it does not end its sentence by itself."""
    text = text.strip()
    return text if text.endswith((".", "!", "?", "…", ":", ")")) or not text else f"{text}."
