"""The frames of plans: which rows to label, and what to expect of it."""

from nci_frames.schemas.columns import number, share, text, whole
from nci_frames.schemas.frame import FrameSchema

LABEL_PLAN = FrameSchema(
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
LABEL_GAINS = FrameSchema(
    "label gains",
    "expected_half_widths(scored, budget=..., metric=..., threshold=...)",
    text("design", '"plan", "uniform" (rows drawn from all alike), or "plan of twice the budget"'),
    whole("labels", "rows that are labelled"),
    number("value", "the value that the rates of positives promise"),
    number("half_width", "half-width of its interval that is expected", minimum=0),
)
