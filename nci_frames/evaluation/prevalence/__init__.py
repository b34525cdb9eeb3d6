"""Score counts of unlabelled traffic -> its prevalence."""
