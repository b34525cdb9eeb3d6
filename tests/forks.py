"""What another process counts that was started by this one."""

from typing import Any

import nci_frames as nf
from tests.logs import random_log

LOG = random_log(2000)


def in_child(queue: Any) -> None:
    try:
        nf.count_confusion(LOG, thresholds=[0.5])
    except nf.NciFramesError as error:
        queue.put(str(error))
    else:
        queue.put("counted")
