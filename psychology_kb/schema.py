"""The JSON Schemas beside the profiles; `python -m psychology_kb.schema` writes them anew."""

import json
from pathlib import Path

from psychemme.episode import Value
from psychology_kb.cards import KnowledgeBase, ReviewForm

SCHEMAS: dict[str, type[Value]] = {
    "taxonomy.schema.json": KnowledgeBase,
    "review.schema.json": ReviewForm,
}


def schema_text(name: str) -> str:
    """Return the text of the schema file `name`; raises KeyError for another name."""
    return json.dumps(SCHEMAS[name].model_json_schema(), indent=2, ensure_ascii=False) + "\n"


def write_schemas(folder: Path) -> None:
    """Write every schema file into `folder`."""
    for name in SCHEMAS:
        (folder / name).write_text(schema_text(name), "utf-8")


if __name__ == "__main__":
    write_schemas(Path(__file__).parent)
