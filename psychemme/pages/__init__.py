"""What self-contained pages share: a style, how templates render, and what a browser may run."""

import base64
import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from psychemme.release.faults import counted

_BASE_STYLE = Path(__file__).parent / "base.css"


def page_style(own: Path) -> str:
    """Return the style that every page has, followed by a page's `own`."""
    return _BASE_STYLE.read_text(encoding="utf-8") + own.read_text(encoding="utf-8")


def page_templates(folder: Path) -> Environment:
    """Return an environment that escapes everything and refuses what is undefined."""
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["counted"] = counted
    return environment


def content_policy(style: str, script: str, *more: str) -> str:
    """Return the policy of a page with one style and one script, and nothing remote."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_source_hash(script)}'",
            f"style-src '{_source_hash(style)}'",
            *more,
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        )
    )


def _source_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
