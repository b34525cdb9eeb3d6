"""Date templates, which assign files to windows of time, in UTC."""

import fnmatch
import itertools
import re
from datetime import UTC, datetime, timedelta

from nci_frames.base.errors import ParameterError, SourceError
from nci_frames.base.messages import Option
from nci_frames.counting.logs.paths import no_match
from nci_frames.jobs.ledger.files import SourceFile, find_logs

_PLACE = re.compile(r"\{date:([^{}]*)\}")
_DIGITS = {"Y": 4, "m": 2, "d": 2, "H": 2, "j": 3}
_DAY = timedelta(days=1)


def check_template(path: str) -> timedelta | None:
    """Return the length of the windows of a template; None if the path has no date.

    Raises
    ------
    ParameterError
        If the date has no format, or cannot be parsed: it has a directive other than %Y %m %d %j %H, or is
        not a complete date.
    """
    places, begun = _PLACE.findall(path), path.count("{date")
    if not begun:
        return None
    hint = "write {date:%Y-%m-%d}, or {date:%Y-%m-%dT%H} for hours"
    if begun > 1:
        raise ParameterError("a path has one {date:...} at most", found=repr(path), hint=hint)
    if not places or not places[0]:
        msg = "the date of a path needs a format, and a brace after it"
        raise ParameterError(msg, found=repr(path), hint=hint)
    directives = re.findall(r"%(.)", places[0])
    known = set(directives) <= set("YmdjH") and len(set(directives)) == len(directives)
    whole = {"Y", "m", "d"} <= set(directives) or ({"Y", "j"} <= set(directives) and "m" not in directives)
    if not (known and whole):
        raise ParameterError("the date of a path must be a day or an hour", found=repr(path), hint=hint)
    return timedelta(hours=1) if "H" in directives else _DAY


def find_windows(
    paths: list[str],
    *,
    lookback: int | None = None,
    until: datetime | None = None,
    counted: datetime | None = None,
) -> tuple[list[SourceFile], list[SourceFile]]:
    """Return the files of paths with their windows, the oldest first; and the files before the lookback.

    Parameters
    ----------
    paths
        Paths, globs and date templates.
    lookback
        Only the newest window and this number of windows before it; None means all.
    until
        Only windows that begin before this time.
    counted
        Begin of the newest window that was counted: *lookback* is from there, if newer ones exist, so that
        none of them is left out after an outage.

    Raises
    ------
    SourceError
        If there is no file.
    ParameterError
        If a date template is invalid.
    """
    files: list[SourceFile] = []
    older: list[SourceFile] = []
    later: list[datetime] = []
    for path in paths:
        length = check_template(path)
        if length is None:
            files += find_logs(path)
            continue
        dated = _dated(path, length)
        later += [start for start, _ in dated]
        kept = [(start, file) for start, file in dated if until is None or start < until]
        if lookback is not None and kept:
            newest = min(kept[-1][0], counted or kept[-1][0])
            # Compare differences: the start of the lookback may be before year 1.
            inside = [newest - start <= lookback * length for start, _ in kept]
            older += [file for (_, file), is_in in zip(kept, inside, strict=True) if not is_in]
            kept = list(itertools.compress(kept, inside))
        files += [file for _, file in kept]
    if not files and later:
        found = f"the first window begins at {min(later):%Y-%m-%d %H:%M} UTC"
        msg = f"no window begins before {Option('until')}"
        raise SourceError(msg, where=", ".join(map(repr, paths)), found=found, hint="give a later date")
    if not files:
        raise no_match(", ".join(paths), "no file of any window", "is the date written as in the path?")
    return files, older


def glob_of(path: str) -> str:
    """Return a glob that matches the files of a template for any date; other paths are unchanged."""
    return _PLACE.sub(lambda date: re.sub("%(.)", lambda part: "[0-9]" * _DIGITS[part[1]], date[1]), path)


def _dated(template: str, length: timedelta) -> list[tuple[datetime, SourceFile]]:
    """Return the files of a template, each with the window in its path, the oldest first."""
    directives = _PLACE.findall(template)[0]
    before, after = _PLACE.split(template)[::2]
    # A pattern such as ** may match any text, so the date is parsed from each match. Matching folders are
    # walked, so that more of a path may follow.
    written = re.escape(directives)
    for directive, number in _DIGITS.items():
        written = written.replace(f"%{directive}", rf"\d{{{number}}}")
    regex = _glob_to_regex(before) + f"({written})" + _glob_to_regex(after) + "(?:/.*)?"
    expression = re.compile(regex, re.DOTALL)
    found = []
    glob = glob_of(template)
    try:
        logs = find_logs(glob, where=repr(template))
    except SourceError as error:
        # Show the template, which the user wrote, instead of the glob.
        raise (error.at(repr(template)) if error.where == repr(glob) else error) from error
    for file in logs:
        match = expression.fullmatch(file.path)
        if match is None:
            continue
        try:
            start = datetime.strptime(match[1], directives).replace(tzinfo=UTC)
        except ValueError:
            continue  # such as 31 February, whose folder is not part of the template
        found.append((start, SourceFile(file.path, file.keys, (start, start + length))))
    return sorted(found, key=lambda pair: (pair[0], pair[1].path))


def _glob_to_regex(pattern: str) -> str:
    """Translate a glob to a regular expression: ``*`` within a folder, ``**/`` over any number of them."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", pattern)
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    # fnmatch.translate ends with \Z, which is cut off.
    return "".join(known.get(part) or fnmatch.translate(part)[:-2] for part in parts)
