"""The ledger of a test."""

import pytest

import nci_frames as nf


@pytest.fixture
def ledger(tmp_path, request):
    """A ledger that has not been begun, by its path or by its URL."""
    return nf.CountsLedger(f"{getattr(request, 'param', '')}{tmp_path}/ledger")
