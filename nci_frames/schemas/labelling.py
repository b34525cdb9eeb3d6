"""The frames of plans: which rows to label, what to expect of it, and what tells two models apart."""

from functools import partial

from nci_frames.schemas.columns import number, share, text, whole
from nci_frames.schemas.frame import FrameSchema

_plan = partial(FrameSchema, family="plans")

LABEL_PLAN = _plan(
    "label plan",
    "plan_labels(scored, budget=..., metric=..., threshold=...)",
    number("score_lower", "the range begins here: score >= score_lower; -inf in the first"),
    number("score_upper", "it ends before: score < score_upper; inf, which belongs to it, in the last"),
    text("flagged_by", 'who flags the units: "both", the name of one model, or "none"', required=False),
    whole("rows", "rows of the range; units, where two models are compared"),
    whole("labels", "how many of them to label"),
    share("share", "labels / rows"),
    text("model_a", "the first model that is compared", required=False),
    text("model_b", "the second one", required=False),
    number("threshold_a", "the threshold of model_a", required=False),
    number("threshold_b", "the threshold of model_b", required=False),
)
LABEL_GAINS = _plan(
    "label gains",
    "expected_half_widths(scored, budget=..., metric=..., threshold=...)",
    text("design", '"plan", "uniform" (rows drawn from all alike), or "plan of twice the budget"'),
    whole("labels", "rows that are labelled"),
    number("value", "the value that the rates of positives promise"),
    number(
        "half_width", "half-width of its interval that is expected", "most samples cannot tell it", minimum=0
    ),
)
_UNKNOWN = "each model has rows of its own, or areas are compared"
COMPARISON_SAMPLES = _plan(
    "comparison samples",
    "required_samples(compare=..., tpr=..., fpr=...)",
    text("method", '"paired": both models score the same rows; "unpaired": each has rows of its own'),
    whole("positives", "rows with y=1 that are needed; where unpaired, of each model"),
    whole("negatives", "rows with y=0 that are needed; where unpaired, of each model"),
    number(
        "discordant_positives", "positives on which the models are expected to differ", _UNKNOWN, minimum=0
    ),
    number("discordant_negatives", "negatives on which they are expected to differ", _UNKNOWN, minimum=0),
    share("power", "probability that so many rows show the difference"),
)
