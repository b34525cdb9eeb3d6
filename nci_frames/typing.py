"""Types that modules of every layer share."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats"]

Floats = NDArray[np.float64]
