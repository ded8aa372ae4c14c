"""Review: what reviewers are asked, what they vote, and how far they agree."""
