"""The ledger: counts of every source, kept so that none is lost, doubled or changed unnoticed."""
