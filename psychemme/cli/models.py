"""`psychemme models list|check`."""

import asyncio
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from psychemme.cli.app import (
    USER_ERROR,
    JsonOption,
    WorkspaceOption,
    app,
    out,
    plain,
    print_json,
    workspace_root,
)

models = typer.Typer(help="See what models accept, and try them.", no_args_is_help=True)
app.add_typer(models, name="models")


@models.command("list")
def list_(workspace: WorkspaceOption = None, json: JsonOption = False) -> None:
    """List every model with a card: the built-in ones, and those of the workspace's models.yaml."""
    from psychemme.clients.cards import load_cards

    cards = load_cards(workspace_root(workspace)).all
    if json:
        print_json([card.model_dump(mode="json", exclude={"is_generic"}) for card in cards])
        return
    model = Column("model", overflow="fold", min_width=24)
    table = Table(model, "family", "sees", "hears", "json", "context", "$ in/out", title="Models")
    for card in cards:
        table.add_row(plain(card.name), plain(card.family), *_columns(card))
    out.print(table)


@models.command("check")
def check(
    name: Annotated[str, typer.Argument(help="The model's name.")],
    base_url: Annotated[str | None, typer.Option(help="OpenAI-compatible endpoint.")] = None,
    workspace: WorkspaceOption = None,
    json: JsonOption = False,
) -> None:
    """Ask a model one tiny thing, and show it a tiny picture, and say what works."""
    from psychemme.clients.cards import EndpointKind, load_cards
    from psychemme.config import load_settings

    root = workspace_root(workspace)
    cards = load_cards(root)
    card = cards.card_for(name)
    settings = load_settings(root, {"base_url": base_url}).settings
    is_signal = card.endpoint is EndpointKind.SIGNAL
    findings = [] if is_signal else asyncio.run(_check(name, settings, cards))
    if json:
        listed = [vars(finding) for finding in findings]
        print_json({"model": name, "is_generic": card.is_generic, "findings": listed})
    else:
        _print(card, findings)
    if any(finding.works is False for finding in findings):
        raise SystemExit(USER_ERROR)


async def _check(name: str, settings: Any, cards: Any) -> list[Any]:  # noqa: ANN401
    from psychemme.clients.check import check_model
    from psychemme.clients.make import openai_client
    from psychemme.clients.terms import endpoint_of

    client = openai_client(name, endpoint_of(settings, cards))
    try:
        return list(await check_model(client, client.card))
    finally:
        await client.aclose()


def _print(card: Any, findings: list[Any]) -> None:  # noqa: ANN401
    if card.notes:
        out.print(plain(card.notes), soft_wrap=True)
    table = Table("Check", "Found", "What to do", title=plain(card.name))
    marks = {True: "[green]ok[/] ", False: "[red]fails[/] ", None: "not tried"}
    for finding in findings:
        found = f"{marks[finding.works]}{plain(finding.found)}"
        table.add_row(finding.what, found, plain(finding.action))
    if findings:
        out.print(table)
    else:
        out.print("The signal baseline needs no endpoint.")


def _columns(card: Any) -> tuple[str, ...]:  # noqa: ANN401
    sees = "frames" if card.images.most != 0 else "nothing"
    price = "unknown" if card.price is None else f"{card.price.input:g}/{card.price.output:g}"
    return (
        "video" if card.native_video else sees,
        "sound" if card.native_audio else "transcript",
        str(card.json_mode),
        f"{card.context_tokens:,}" if card.context_tokens else "unknown",
        price,
    )
