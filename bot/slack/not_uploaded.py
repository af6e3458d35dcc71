"""What is said in an incident's thread instead of a file that could not be uploaded."""

from bot.ports import Post


def said_instead(post: Post, name: str, what: str, otherwise: str, problem: str) -> Post:
    """`what` could not be posted, what would mend it, and where it is `otherwise`; once for each `name`."""
    mend = "Give the app the scope files:write. " if "missing_scope" in problem else ""
    return Post(
        key=f"{post.incident}/no-{name}",
        incident=post.incident,
        channel=post.channel,
        thread_of=post.thread_of,
        text=f"{what}: {problem}. {mend}{otherwise}",
    )
