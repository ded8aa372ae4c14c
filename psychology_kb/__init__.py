"""The psychology knowledge base, one folder per profile."""
