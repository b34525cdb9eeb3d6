"""The columns of every public frame: type, unit, range, and meaning of null.

A *key* is any column that the schema does not name, such as the fold, the country or the day. Keys keep their
values (a folder ``seg=01`` is the String ``"01"``), and null is a key value of its own.
"""

from nci_frames.schemas.frame import *
from nci_frames.schemas.keys import *
from nci_frames.schemas.consistency import *
from nci_frames.schemas.pipeline import *
from nci_frames.schemas.contests import *
from nci_frames.schemas.uncertainty import *
from nci_frames.schemas.field import *
from nci_frames.schemas.classes import *
from nci_frames.schemas.probabilities import *
from nci_frames.schemas.labelling import *
from nci_frames.schemas.checked import *
from nci_frames.schemas.runs import *
