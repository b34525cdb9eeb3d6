"""Frames of plans: which rows to label, the expected intervals, and sample sizes for comparisons."""

from functools import partial

from nci_frames.schemas.columns import number, share, text, whole
from nci_frames.schemas.frame import FrameSchema

_plan = partial(FrameSchema, family="plans")

LABEL_PLAN = _plan(
    "label plan",
    "plan_labels(scored, budget=..., metric=..., threshold=...)",
    number("score_lower", "lower end of the score range, included; -inf in the first range"),
    number("score_upper", "upper end of the score range, excluded; inf, included, in the last range"),
    text("flagged_by", 'models that flag the units: "both", the name of one, or "none"', required=False),
    whole("rows", "rows in the range; units, if two models are compared"),
    whole("labels", "number of these rows or units to label"),
    share("share", "labels / rows"),
    text("model_a", "first model of a comparison", required=False),
    text("model_b", "second model of a comparison", required=False),
    number("threshold_a", "threshold of model_a", required=False),
    number("threshold_b", "threshold of model_b", required=False),
)
LABEL_GAINS = _plan(
    "label gains",
    "expected_half_widths(scored, budget=..., metric=..., threshold=...)",
    text("design", '"plan", "uniform" (simple random sample), or "plan of twice the budget"'),
    whole("labels", "number of labelled rows"),
    number("value", "value expected from the rates of positives"),
    number("half_width", "expected half-width of the interval", "most samples give no interval", minimum=0),
    text("reason", "why there is no half-width", "half_width is not null"),
)
_UNKNOWN = "unpaired, or areas are compared"
COMPARISON_SAMPLES = _plan(
    "comparison samples",
    "required_samples(compare=..., tpr=..., fpr=...)",
    text("method", '"paired": both models score the same rows; "unpaired": each scores its own rows'),
    whole("positives", "required rows with y=1; per model if unpaired"),
    whole("negatives", "required rows with y=0; per model if unpaired"),
    number("discordant_positives", "expected positives on which the models differ", _UNKNOWN, minimum=0),
    number("discordant_negatives", "expected negatives on which the models differ", _UNKNOWN, minimum=0),
    share("power", "probability that a test set of this size shows the difference"),
)
