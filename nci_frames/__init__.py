"""Evaluate binary classifiers whose class balance in the field is not that of the test set.

The public names are listed in ``__init__.pyi``; each is imported when it is first used, so that
``import nci_frames`` and ``nci-frames --help`` stay quick.
"""

import sys


def __getattr__(name):  # type: ignore[no-untyped-def]
    _attach()
    return getattr(sys.modules[__name__], name)


def __dir__():  # type: ignore[no-untyped-def]
    _attach()
    return dir(sys.modules[__name__])


def _attach():  # type: ignore[no-untyped-def]
    """Take the public names from the stub, once one is asked for: reading it takes milliseconds."""
    import lazy_loader  # noqa: PLC0415

    names = lazy_loader.attach_stub(__name__, __file__)
    globals()["__getattr__"], globals()["__dir__"], globals()["__all__"] = names
