"""Write the files that follow from code; `--check` only says which are out of date.

    python docs/generate.py [--check]

They are the command-line reference, the drawing of the construction graph in the README, the page
about isolation, and the JSON Schemas of plans, model cards, releases and knowledge bases.
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).resolve().parents[1]
DRAWING_START, DRAWING_END = "```mermaid\n", "```\n"


def command_line() -> str:
    """Return the reference of every command and option, as Markdown."""
    import typer
    from typer.cli import get_docs_for_click

    from psychemme.cli import main  # noqa: F401  (adds the verbs to the app)
    from psychemme.cli.app import app

    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="psychemme")
    text = get_docs_for_click(obj=command, ctx=context, name="psychemme", title="Commands")
    return f"{text.strip()}\n"


def readme() -> str:
    """Return the README with the current drawing of the construction graph."""
    before, start, rest = (ROOT / "README.md").read_text("utf-8").partition(DRAWING_START)
    _, end, after = rest.partition(DRAWING_END)
    return f"{before}{start}{drawing()}{end}{after}"


def drawing() -> str:
    """Return the construction graph as a Mermaid drawing."""
    from construction.graph import build_graph
    from construction.nodes import Nodes

    # Drawing calls no node, so that none needs an agent.
    nodes = Nodes(*cast("Any", [None] * 6))
    return build_graph(nodes).get_graph().draw_mermaid().strip() + "\n"


def plan_schema() -> str:
    """Return the JSON Schema of plan files."""
    from construction.plan import schema_text

    return schema_text()


def knowledge_schema(name: str) -> str:
    """Return the JSON Schema `name` of knowledge base files."""
    from psychology_kb.schema import schema_text

    return schema_text(name)


def release_schema(name: str) -> str:
    """Return the JSON Schema of one kind of row of a release, or of its manifest."""
    import json

    from psychemme.release import rows

    kinds = {
        "episode": rows.EpisodeRow,
        "erratum": rows.ErratumRow,
        "manifest": rows.Manifest,
        "question": rows.QuestionRow,
        "reference": rows.ReferenceRow,
    }
    return json.dumps(kinds[name].model_json_schema(), indent=2, sort_keys=True) + "\n"


def line_schema(name: str) -> str:
    """Return the JSON Schema of the lines of files made elsewhere."""
    from evaluation.file_lines import schema_text

    return schema_text(name)


RELEASE_SCHEMAS = ("episode", "erratum", "manifest", "question", "reference")


def cards_schema() -> str:
    """Return the JSON Schema of files of model cards."""
    from psychemme.clients.cards import schema_text

    return schema_text()


def isolation() -> str:
    """Return the page about what each database role cannot do."""
    from state.attacks.page import isolation_page

    return isolation_page()


GENERATED: dict[str, Callable[[], str]] = {
    "README.md": readme,
    "construction/plan.schema.json": plan_schema,
    "docs/cli.md": command_line,
    "docs/isolation.md": isolation,
    "psychemme/clients/cards.schema.json": cards_schema,
    **{
        f"docs/schemas/{name}.schema.json": partial(release_schema, name)
        for name in RELEASE_SCHEMAS
    },
    **{
        f"docs/schemas/{name}.schema.json": partial(line_schema, name)
        for name in ("judgement", "response")
    },
    "psychology_kb/review.schema.json": partial(knowledge_schema, "review.schema.json"),
    "psychology_kb/taxonomy.schema.json": partial(knowledge_schema, "taxonomy.schema.json"),
}


def outdated() -> list[str]:
    """Return the generated files whose text is not what code says."""
    return [name for name, make in GENERATED.items() if _current(name) != make()]


def _current(name: str) -> str | None:
    path = ROOT / name
    return path.read_text("utf-8") if path.exists() else None


def main(check: bool) -> int:
    """Rewrite what is out of date, or only name it; return the exit code."""
    found = outdated()
    for name in found:
        if not check:
            (ROOT / name).write_text(GENERATED[name](), "utf-8")
        sys.stderr.write(f"{name} {'is out of date' if check else 'written'}\n")
    if check and found:
        sys.stderr.write("Run `make generated`.\n")
    return int(check and bool(found))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
