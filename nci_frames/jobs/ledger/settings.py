"""Settings of counting, which must be equal for counts to be added."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from nci_frames.base.arguments import LEAST_BUCKETS, check_whole
from nci_frames.base.errors import ParameterError
from nci_frames.base.messages import Option, shown
from nci_frames.counting.logs.rows import Roles
from nci_frames.counting.thresholds.grids import check_thresholds
from nci_frames.jobs.ledger.storage import content_hash
from nci_frames.schemas import BUCKET, WEIGHT, checked

#: Default number of buckets of units.
BUCKETS = 256
#: Settings that name columns.
_COLUMNS = ("model", "label", "score", "fold", "repeat", "unit", "weight")
#: Settings added later: generations without them keep their name.
_NEWER = ("repeat", "unit", "buckets", "weight")


@dataclass(frozen=True, slots=True)
class CountingSettings:
    """Columns and thresholds of counting; their hash names a generation of a ledger."""

    #: None means every distinct score.
    thresholds: tuple[float, ...] | None = None
    model: str = "model"
    #: None for logs without labels, whose scores are counted.
    label: str | None = "label"
    score: str = "score"
    fold: str | None = None
    segments: tuple[str, ...] = ()
    scores: tuple[tuple[str, str], ...] = ()
    positive: str | float | bool | None = None
    on_invalid: str = "raise"
    repeat: str | None = None
    #: Column of the unit, and number of buckets, which are a further key; None for no units.
    unit: str | None = None
    buckets: int | None = None
    #: Column of the weight, which is a further key; None for equal weights.
    weight: str | None = None

    @classmethod
    @checked
    def of(
        cls,
        *,
        thresholds: Sequence[float] | str = "exact",
        segments: str | Sequence[str] = (),
        scores: Mapping[str, str] | None = None,
        **columns: Any,
    ) -> Self:
        """Check options of ``scan_predictions`` and ``count_confusion``.

        Raises
        ------
        ParameterError
            If the thresholds depend on the log, such as "auto"; if an option is unknown; or if *buckets* is
            given without a unit, or is not 20 to 1,000,000.
        """
        known = {field.name for field in dataclasses.fields(cls)}
        for name, value in columns.items():
            if name not in known:
                raise ParameterError.unknown_choice("the option of a ledger", name, sorted(known))
            if name in _COLUMNS and not isinstance(value, str | None):
                raise ParameterError(f"{Option(name)} must be a string or None", found=shown(value))
        if isinstance(thresholds, str) and thresholds != "exact":
            msg = 'the thresholds of a ledger must be a list of numbers or "exact"'
            hint = "they must be the same for every log; logit_thresholds(501) fits most"
            raise ParameterError(msg, found=repr(thresholds), hint=hint)
        if columns.get("unit") is not None:
            columns["buckets"] = columns.get("buckets") or BUCKETS
            check_whole("buckets", columns["buckets"], LEAST_BUCKETS, 1_000_000)
        elif columns.get("buckets") is not None:
            msg = "buckets divide units, and no unit is named"
            found, hint = str(Option("buckets", columns["buckets"])), f"name the column with {Option('unit')}"
            raise ParameterError(msg, found=found, hint=hint)
        grid = None if isinstance(thresholds, str) else tuple(check_thresholds(thresholds).tolist())
        keys = (segments,) if isinstance(segments, str) else tuple(segments)
        return cls(thresholds=grid, segments=keys, scores=tuple((scores or {}).items()), **columns)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Parse the result of ``to_json``."""
        facts = json.loads(text)
        if facts["thresholds"] is not None:
            facts["thresholds"] = tuple(float.fromhex(number) for number in facts["thresholds"])
        facts["segments"] = tuple(facts["segments"])
        facts["scores"] = tuple((model, column) for model, column in facts["scores"])
        return cls(**facts)

    def to_json(self) -> str:
        """Return the settings as one canonical line of JSON."""
        facts = dataclasses.asdict(self)
        for name in _NEWER:
            if facts[name] is None:
                del facts[name]
        if self.thresholds is not None:
            # Hexadecimal is exact, and covers infinities.
            facts["thresholds"] = [number.hex() for number in self.thresholds]
        return json.dumps(facts, sort_keys=True)

    @property
    def generation(self) -> str:
        """Hash of the settings, 16 hexadecimal digits."""
        return content_hash(self.to_json().encode())[:16]

    @property
    def keys(self) -> list[str]:
        """Columns that define a group: model, fold, repeat, segments, bucket, weight."""
        first = [name for name in ("fold", "repeat") if getattr(self, name)]
        last = [*([BUCKET] if self.unit else []), *([WEIGHT] if self.weight else [])]
        return ["model", *first, *self.segments, *last]

    def roles(self) -> dict[str, str]:
        """Return the needed columns of a log, each with its role."""
        keys = {name: column for name in ("fold", "repeat") if (column := getattr(self, name))}
        keys |= {segment: segment for segment in self.segments}
        scores, model = dict(self.scores) or {"": self.score}, None if self.scores else self.model
        return Roles(model, self.label, scores, keys, self.weight, self.unit).needed()

    def scan_options(self) -> dict[str, Any]:
        """Return the options of ``scan_predictions``."""
        columns = {name: getattr(self, name) for name in (*_COLUMNS, "segments", "positive", "on_invalid")}
        return columns | {"scores": dict(self.scores) or None}
