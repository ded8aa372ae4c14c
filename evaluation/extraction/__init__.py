"""From a model's reply to its answer, without guessing (`docs/response-parsing.md`)."""
