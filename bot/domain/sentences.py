"""How texts of others become sentences, and how numbers of things are said in ours."""


def full_stop(text: str) -> str:
    """With a full stop, if it does not end its sentence by itself."""
    text = text.strip()
    return text if text.endswith((".", "!", "?", "…", ":", ")")) or not text else f"{text}."


def counted(number: int, one: str, many: str = "") -> str:
    """`1 row`, `2,300 rows`; `many` where it is not `one` with an s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
