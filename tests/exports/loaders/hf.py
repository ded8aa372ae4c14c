"""Load an export with Hugging Face `datasets`; print what was loaded as JSON."""

import json
import sys

from datasets import get_dataset_config_names, load_dataset

folder = sys.argv[1]
tables = {
    name: load_dataset(folder, name, split="test") for name in get_dataset_config_names(folder)
}
assert load_dataset(folder, split="test").num_rows == len(tables["questions"])
shown = {
    "rows": {name: table.num_rows for name, table in tables.items()},
    "options": {row["id"]: [o["text"] for o in row["options"]] for row in tables["questions"]},
    "answers": {row["id"]: row["answer"] for row in tables.get("references", [])},
    "types": {name: str(table.features) for name, table in tables.items()},
}
sys.stdout.write(json.dumps(shown))
