"""The pages on which people answer, label, endorse and sort."""
