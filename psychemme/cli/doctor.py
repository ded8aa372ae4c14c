"""`psychemme doctor`."""

from rich.table import Table

from psychemme.cli.app import (
    JsonOption,
    WorkspaceOption,
    app,
    out,
    plain,
    print_json,
    workspace_root,
)


@app.command()
def doctor(workspace: WorkspaceOption = None, json: JsonOption = False) -> None:
    """Say what is installed, what is missing and what to do, and every setting in force."""
    from construction.doctor import examine
    from psychemme.config import load_settings

    root = workspace_root(workspace)
    effective = load_settings(root)
    checks = examine(root, effective.settings)
    values = effective.settings.model_dump(mode="json")
    if json:
        settings = {
            name: {"value": value, "origin": effective.origins[name]}
            for name, value in values.items()
        }
        print_json({"checks": [vars(check) for check in checks], "settings": settings})
    else:
        table = Table("Check", "Found", "What to do", title="Health")
        for check in checks:
            mark = "[green]ok[/]" if check.ok else "[yellow]missing[/]"
            table.add_row(plain(check.name), f"{mark} {plain(check.found)}", plain(check.action))
        out.print(table)
        table = Table("Setting", "Value", "From", title="Settings")
        for name, value in values.items():
            table.add_row(name, plain(str(value)), effective.origins[name])
        out.print(table)
