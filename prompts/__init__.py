"""The agents' prompts, as files with strict variables."""
