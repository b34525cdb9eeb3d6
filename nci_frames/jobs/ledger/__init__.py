"""The ledger of counts, which counts each file once and returns the counts of any files."""
