"""The answer-leakage filter, and probes of what an item gives away without its footage."""
