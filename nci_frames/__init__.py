"""Evaluate binary classifiers whose class balance in the field is not that of the test set.

The public names are listed in ``__init__.pyi``; each is imported when it is first used, so that
``import nci_frames`` and ``nci-frames --help`` stay quick.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
