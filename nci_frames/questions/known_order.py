"""What a log tells of the order of models where it cannot tell the value of the best."""

from collections.abc import Sequence


def some_models(models: Sequence[str], /, most: int = 3) -> str:
    """Name a few models, and say how many more there are.

    >>> some_models(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    shown = ", ".join(models[:most])
    return shown if len(models) <= most else f"{shown} and {len(models) - most:,} more"


def known_order(
    best: Sequence[str],
    /,
    *,
    worse: Sequence[str] = (),
    equal: Sequence[str] = (),
    untold: Sequence[str] = (),
    most: int = 3,
) -> str:
    """Return what is known of the order, as the second half of a sentence that says that the value is not.

    Parameters
    ----------
    best
        The models with the best value in the log.
    worse
        Others that are significantly worse.
    equal
        Others that are not distinguishable from the best.
    untold
        Others of which the log has too few rows to say either.
    most
        So many models are named of each.

    Examples
    --------
    >>> known_order(["a"], worse=["b", "c"])
    'it can tell the order: a is significantly better than all 2 others'
    >>> known_order(["a"], worse=["b"], equal=["c"])
    'of the order it can tell: a is significantly better than 1 of 2 others; not distinguishable from it: c'
    >>> known_order(["a"], equal=["b"])
    'nor can it tell the order: the best in this log is a; not distinguishable from it: b'
    >>> known_order(["a"])
    'the best in this log is a'
    """
    names, one = some_models(best, most), len(best) == 1
    doubts = []
    if equal:
        doubts.append(f"not distinguishable from {'it' if one else 'them'}: {some_models(equal, most)}")
    if untold:
        doubts.append(f"too few rows to tell: {some_models(untold, most)}")
    if not worse:
        begin = "nor can it tell the order: " if doubts else ""
        return "; ".join([f"{begin}the best in this log {'is' if one else 'are'} {names}", *doubts])
    others = len(worse) + len(equal) + len(untold)
    whom = "the other model" if others == 1 else f"all {others:,} others"
    if doubts:
        whom = f"{len(worse):,} of {others:,} others"
    begin = "of the order it can tell" if doubts else "it can tell the order"
    return "; ".join([f"{begin}: {names} {'is' if one else 'are'} significantly better than {whom}", *doubts])
