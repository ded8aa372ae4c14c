"""The evaluation report: one self-contained page, and its tables as Markdown, LaTeX and CSV."""
