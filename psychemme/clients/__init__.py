"""Whatever answers an agent's request: hosted models, local servers, signals, scripts."""
