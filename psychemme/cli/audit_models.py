"""The models that `psychemme audit` may ask."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychemme.cli.app import out, print_json
from psychemme.cli.costs import budget_note, money
from psychemme.cli.running import progress_bar, stop_on_signals, stopped
from psychemme.errors import Stopped

if TYPE_CHECKING:
    from construction.audits.asking import Asking
    from construction.audits.embedding import Embedding
    from construction.audits.entailment import Entails
    from construction.audits.meaning import Vectors
    from construction.audits.sources import Subject
    from construction.audits.values import AuditItem
    from construction.workspace import Workspace
    from psychemme.config import Settings

_AGAIN = "Run it again to go on; every reply is kept."


@dataclass(frozen=True)
class Models:
    """Which models are asked, where replies are kept: a workspace, or a folder beside the items."""

    root: Path
    settings: "Settings"
    place: "Workspace | Path"
    entailment: str | None
    embeddings: str | None

    def asking(self, subjects: "Sequence[Subject]") -> "Asking | None":
        """Return how a model is asked about options, None where none is named."""
        from construction.audits.asking import Asking
        from psychemme.clients.cards import load_cards

        if self.entailment is None:
            return None
        told = (self.entailment, self.settings, load_cards(self.root))
        if isinstance(self.place, Path):
            return Asking(*told, self.place)
        versions = {one.item.id: one.version for one in subjects}
        return Asking(*told, self.place.blobs / "replies", self.place.database, versions)

    def embedding(self) -> "Embedding | None":
        """Return how questions are embedded, None where no model is named."""
        from construction.audits.embedding import Embedding
        from psychemme.clients.cards import load_cards

        if self.embeddings is None:
            return None
        folder = self.place if isinstance(self.place, Path) else self.place.blobs
        return Embedding(self.embeddings, self.settings, load_cards(self.root), folder)


def print_estimate(
    models: Models,
    subjects: "Sequence[Subject]",
    items: "Sequence[AuditItem]",
    budget: float | None,
    as_json: bool,
) -> None:
    """Print what the models would take; `subjects` are the items' where they are a workspace's."""
    found: dict[str, Any] = {}
    if asking := models.asking(subjects):
        from construction.audits.asking import estimate_entailment

        found["entailment"] = estimate_entailment(asking, items)
    if embedding := models.embedding():
        from construction.audits.embedding import estimate_embedding

        found["embeddings"] = estimate_embedding(embedding, items)
    if as_json:
        print_json({name: vars(one) for name, one in found.items()})
        return
    if pairs := found.get("entailment"):
        costs = f"cost {money(pairs.cost)}  at most {money(pairs.most_cost)}"
        calls = f"pairs {pairs.pairs}  calls {pairs.calls}  at most {pairs.most}"
        out.print(f"{calls}  tokens in {pairs.input_tokens}  {costs}", soft_wrap=True)
        if budget is not None:
            note = budget_note(budget, pairs.spent, pairs.cost, pairs.most_cost)
            out.print(note, soft_wrap=True)
    if texts := found.get("embeddings"):
        counts = f"questions {texts.texts}  to embed {texts.missing}"
        out.print(f"{counts}  tokens in {texts.input_tokens}  cost {money(texts.cost)}")


async def ask_models(
    models: Models,
    subjects: "Sequence[Subject]",
    items: "Sequence[AuditItem]",
    budget: float | None,
) -> "tuple[Entails | None, Vectors | None]":
    """Ask the models that are named, and return what they say of options and of questions."""
    asking, embedding = models.asking(subjects), models.embedding()
    if not (asking or embedding):
        return None, None
    from construction.audits.asking import ask
    from construction.audits.embedding import embed
    from construction.endpoints import Spending

    stop = stop_on_signals()
    entails = vectors = None
    with progress_bar("audit") as bar:
        task = bar.add_task("", total=None)

        def show(done: int, planned: int) -> None:
            bar.update(task, total=planned, completed=done)

        try:
            if asking:
                entails = await ask(asking, items, stop, Spending(budget=budget), show)
            if embedding:
                vectors = await embed(embedding, items, stop, show)
        except Stopped as why:
            raise stopped(str(why) or "Stopped with work left.", _AGAIN) from None
    return entails, vectors
