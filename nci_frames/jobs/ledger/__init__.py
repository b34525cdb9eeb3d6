"""The ledger of counts: files in, each counted once; counts of any of them out."""
