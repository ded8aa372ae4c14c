"""The paper's analyses: each a pure function from a study to tables and drawings."""
