"""All campaigns, in the order of the table."""

from tests.fuzz import corrupted_frames, drifting_types, hostile_names, mutated_files, odd_values, sizes
from tests.fuzz.campaign import Campaign

CAMPAIGNS: tuple[Campaign, ...] = (
    odd_values.SINGLE,
    odd_values.PAIR,
    corrupted_frames.CAMPAIGN,
    mutated_files.PLAIN,
    mutated_files.CHECKSUMS,
    mutated_files.HASHES,
    drifting_types.CAMPAIGN,
    hostile_names.CAMPAIGN,
    sizes.CAMPAIGN,
)
