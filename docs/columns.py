"""Write docs/columns.md: the columns of every frame, from the schemas."""

from pathlib import Path

from nci_frames import schemas

PAGE = Path(__file__).with_name("columns.md")

_HEAD = """# Columns of every frame

Written by `make api` from `nci_frames.schemas`. A frame that a function takes is checked against it. All
other columns of a frame are keys. A range holds for values that are not null, and NaN is in none.
"""


def page() -> str:
    """Return the page."""
    parts = [_HEAD]
    for frame in schemas.FRAMES:
        rows = [
            f"| `{column.name}`{'' if column.required else ' (optional)'} "
            f"| {' or '.join(str(dtype) for dtype in column.dtypes)} "
            f"| {column.meaning} | {column.allowed if column.numeric else ''} | {column.null} |"
            for column in frame.columns
        ]
        head = f"## {frame.name.capitalize()}\n\nMade by `{frame.maker}`.\n"
        table = ["| column | dtype | meaning | range | null |", "| --- | --- | --- | --- | --- |", *rows]
        parts.append("\n".join([head, *table, ""]))
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
