"""All campaigns, in the order of the table."""

from tests.fuzz import corrupted_frames, mutated_files, odd_values
from tests.fuzz.campaign import Campaign

CAMPAIGNS: tuple[Campaign, ...] = (
    odd_values.SINGLE,
    odd_values.PAIR,
    corrupted_frames.FIXED,
    corrupted_frames.RANDOM,
    mutated_files.PLAIN,
    mutated_files.CHECKSUMS,
    mutated_files.HASHES,
)
