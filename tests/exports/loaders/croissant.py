"""Validate Croissant metadata with `mlcroissant` and load its records; print them as JSON."""

import json
import sys

import mlcroissant


def plain(value):
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key.rsplit("/", 1)[-1]: plain(one) for key, one in value.items()}
    return value


dataset = mlcroissant.Dataset(jsonld=sys.argv[1])
issues = dataset.metadata.ctx.issues
tables = {s.id: [plain(row) for row in dataset.records(s.id)] for s in dataset.metadata.record_sets}
shown = {
    "issues": sorted(issues.errors) + sorted(issues.warnings),
    "date": str(dataset.metadata.date_published),
    "rows": {name: len(rows) for name, rows in tables.items()},
    "options": {r["id"]: [o["text"] for o in r["options"]] for r in tables["questions"]},
    "answers": {r["id"]: r["answer"] for r in tables.get("references", [])},
}
sys.stdout.write(json.dumps(shown))
