"""What a campaign finds and nobody can change: each with the reason."""

from dataclasses import dataclass
from re import search

from tests.fuzz.campaign import SILENT, Found


@dataclass(frozen=True)
class Limit:
    """Cases of a campaign that may end so; patterns are searched for."""

    campaign: str
    kind: str
    label: str
    why: str

    def covers(self, campaign: str, label: str, found: Found) -> bool:
        return (
            found.kind == self.kind
            and search(self.campaign, campaign) is not None
            and search(self.label, label) is not None
        )


LIMITS = (
    Limit(
        "mutated files, no checksums",
        SILENT,
        "",
        "a changed page without a checksum is a page with other values; verify= with hashes notices it",
    ),
)


def is_known(campaign: str, label: str, found: Found) -> bool:
    return any(limit.covers(campaign, label, found) for limit in LIMITS)
