"""64-bit numbers -> numbers of which every bit depends on all bits, the same on every machine."""

import numpy as np
from numpy.typing import NDArray

from nci_frames.counting.kernels import library

Hashes = NDArray[np.uint64]


def mixed(values: Hashes) -> Hashes:
    """Spread every bit of the input over all bits of the output: the finaliser of SplitMix64."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def mix_values(hashes: Hashes, values: Hashes) -> None:
    """Mix a value into each hash, in place."""
    if library.LIBRARY is not None:
        library.call("mix_values", len(hashes), hashes, np.ascontiguousarray(values))
    else:
        hashes[:] = mixed(hashes + values)
