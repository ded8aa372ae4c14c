"""`psychemme people`: studies of what people say, their pages and their files."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from psychemme.cli.app import JsonOption, app, err, out, plain, print_json
from psychemme.cli.running import progress_bar
from psychemme.cli.runs_given import RunsArgument, error_files
from psychemme.cli.tables import new_table, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluation.error_categories import Category
    from evaluation.people.rows import Draw, Kind
    from evaluation.people.study import Task
    from evaluation.report.runs import ReportRun
    from psychemme.release.read import Release

DEFAULT_PORT = 8766

people = typer.Typer(
    help="Have people answer, label and endorse; read what they said.", no_args_is_help=True
)
app.add_typer(people, name="people")
opening = typer.Typer(help="Open a study and print each person's link, once.", no_args_is_help=True)
people.add_typer(opening, name="open")

StudyArgument = Annotated[Path, typer.Argument(help="The study's folder.")]
NamesOption = Annotated[
    str, typer.Option("--people", help="Their names, with commas between; files carry them.")
]
OutOption = Annotated[Path, typer.Option("--out", help="Where the study's folder goes.")]
SeedOption = Annotated[int, typer.Option(help="Draws what is asked, and every order.")]
CasesOption = Annotated[int, typer.Option(min=1, help="Responses that each person is shown.")]
DrawOption = Annotated[
    Literal["even", "random"],
    typer.Option(help="Responses evenly over capabilities and labels, or each equally likely."),
]
MediaOption = Annotated[
    Path | None, typer.Option(help="Folder with the clips, to show them too.  [default: no clip]")
]
ReleaseOption = Annotated[
    Path | None, typer.Option(help="The release.  [default: where the runs found it]")
]
AddressOption = Annotated[
    str, typer.Option(help="Where `people serve` will offer the pages; links begin with it.")
]
_ADDRESS = f"http://127.0.0.1:{DEFAULT_PORT}"


@opening.command()
def baseline(
    release: Annotated[Path, typer.Argument(help="The release folder.")],
    media: Annotated[Path, typer.Option(help="Folder with the clips.")],
    names: NamesOption,
    study: OutOption,
    items: Annotated[int, typer.Option(min=1, help="Items that each annotator answers.")] = 300,
    stratified: Annotated[
        bool,
        typer.Option("--stratified", help="In proportion to capabilities, each at least once."),
    ] = False,
    seed: SeedOption = 42,
    address: AddressOption = _ADDRESS,
) -> None:
    """Have annotators answer items as models do: clip, context, history, question, options."""
    from evaluation.people.opening import baseline_tasks
    from evaluation.people.rows import Kind
    from psychemme.release.read import read_release

    found = read_release(release)
    tasks = baseline_tasks(found, items, seed, is_stratified=stratified)
    _open(study, Kind.BASELINE, found, tasks, names, seed, media, address)


@opening.command()
def label(
    run: RunsArgument,
    judge: Annotated[str, typer.Option(help="Whose labelled responses are shown.")],
    names: NamesOption,
    study: OutOption,
    cases: CasesOption = 300,
    draw: DrawOption = "even",
    media: MediaOption = None,
    release: ReleaseOption = None,
    seed: SeedOption = 42,
    address: AddressOption = _ADDRESS,
) -> None:
    """Have experts label responses without seeing the judge's labels."""
    from evaluation.people.opening import label_tasks
    from evaluation.people.rows import Draw, Kind

    found, runs = _runs(run, release, judge)
    tasks = label_tasks(found, runs, cases, seed, Draw(draw))
    _open(study, Kind.LABEL, found, tasks, names, seed, media, address, draw=Draw(draw))


@opening.command()
def endorse(
    run: RunsArgument,
    judge: Annotated[str, typer.Option(help="Whose decisions are shown.")],
    names: NamesOption,
    study: OutOption,
    cases: CasesOption = 300,
    draw: DrawOption = "even",
    planted: Annotated[
        float, typer.Option(help="Fraction of decisions that are moved on purpose, 0.1 to 0.3.")
    ] = 0.1,
    media: MediaOption = None,
    release: ReleaseOption = None,
    seed: SeedOption = 42,
    address: AddressOption = _ADDRESS,
) -> None:
    """Have experts endorse a judge's decisions or not; some are wrong on purpose."""
    from evaluation.people.opening import endorse_tasks
    from evaluation.people.rows import Draw, Kind

    found, runs = _runs(run, release, judge)
    tasks = endorse_tasks(found, runs, cases, seed, planted, Draw(draw))
    _open(study, Kind.ENDORSE, found, tasks, names, seed, media, address, draw=Draw(draw))


@opening.command()
def errors(
    run: RunsArgument,
    names: NamesOption,
    study: OutOption,
    cases: CasesOption = 300,
    classifier: Annotated[
        str | None, typer.Option(help="Whose categories to show.  [default: the only one's]")
    ] = None,
    scheme: Annotated[str | None, typer.Option(help="Scheme of categories.")] = None,
    media: MediaOption = None,
    release: ReleaseOption = None,
    seed: SeedOption = 42,
    address: AddressOption = _ADDRESS,
) -> None:
    """Have people confirm the error categories that `psychemme errors` gave, or choose others."""
    from evaluation.error_categories import one_set, read_error_files
    from evaluation.error_categories import scheme as find_scheme
    from evaluation.people.opening import error_tasks, read_answered
    from evaluation.people.rows import Draw, Kind

    found, responses = read_answered(run, release)
    labels = one_set(read_error_files(error_files(run, None), found), classifier, scheme)
    tasks = error_tasks(found, responses, labels, cases, seed)
    categories = find_scheme(labels[0].scheme).categories
    _open(study, Kind.ERRORS, found, tasks, names, seed, media, address, categories, Draw.EVEN)


@people.command()
def invite(
    study: StudyArgument,
    name: Annotated[str, typer.Argument(help="A person of the study.")],
    address: Annotated[
        str | None, typer.Option(help="What the link begins with.  [default: as when opened]")
    ] = None,
) -> None:
    """Print a new link for a person; the one before ends."""
    from evaluation.people import opening as study_of
    from evaluation.people.study import read_study

    token = study_of.invite(study, name)
    _print_links({name: token}, address or read_study(study).address)


@people.command()
def serve(
    study: StudyArgument,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="0 takes a free one.  [default: that of the study's links]"
        ),
    ] = None,
    behind_tls: Annotated[
        str | None,
        typer.Option(help="Where a TLS proxy offers the pages.", metavar="https://HOST"),
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(help="A proxy's own address; may be given again.  [default: this machine]"),
    ] = None,
) -> None:
    """Serve a study's pages until Ctrl-C."""
    from evaluation.people.study import http_port, read_study
    from evaluation.people.web.app import create_app
    from psychemme.pages.serving import open_door, serve_app

    linked = read_study(study).address
    if port is None:
        port = http_port(linked) or DEFAULT_PORT
    with open_door(host, port, behind_tls) as door:
        pages = create_app(study, is_secure=door.is_secure, hosts=door.hosts)
        out.print(f"pages: {plain(door.address)}", soft_wrap=True, highlight=False)
        if door.address.rstrip("/") != linked.rstrip("/"):
            err.print(
                f"Links that begin with {plain(linked)} begin with {plain(door.address)} instead; "
                "`people invite --address` prints new ones.",
                soft_wrap=True,
                highlight=False,
            )
        err.print("Ctrl-C stops it; nothing that was acknowledged is lost.")
        serve_app(pages, door, proxy or ("127.0.0.1", "::1"))


@people.command()
def status(study: StudyArgument, json: JsonOption = False) -> None:
    """Show how far each person is."""
    from evaluation.people.exporting import standings

    found = standings(study)
    if json:
        print_json({"people": {who: one.model_dump(mode="json") for who, one in found.items()}})
        return
    table = new_table("person", "done", "of", "finished", "said to be a reviewer", "last answer")
    for who, one in found.items():
        reviewer = {None: "–", True: "yes", False: "no"}[one.is_reviewer]
        finished = "yes" if one.has_finished else "no"
        last = _moment(one.last_at)
        table.add_row(plain(who), str(one.done), str(one.total), finished, reviewer, last)
    print_table(table)


@people.command()
def export(
    study: StudyArgument,
    target: Annotated[Path, typer.Option("--out", help="The JSON Lines file to write.")],
) -> None:
    """Write what people said, as docs/people.md describes."""
    from evaluation.people.exporting import export_rows

    for who, one in export_rows(study, target).items():
        if not one.has_finished:
            said = f"{plain(who)} has not finished: {one.done} of {one.total}"
            err.print(said, soft_wrap=True, highlight=False)
    out.print(f"wrote {plain(str(target))}", soft_wrap=True, highlight=False)


@people.command("import")
def import_(
    file: Annotated[list[Path], typer.Argument(help="Files with baseline rows.")],
    release: Annotated[Path, typer.Option(help="The release.")],
    runs: Annotated[Path, typer.Option("--out", help="Where run folders go.")] = Path("runs"),
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Write other runs beside those that are there.")
    ] = False,
) -> None:
    """Make one run folder for each annotator of a baseline, to score, judge and compare."""
    from evaluation.people.importing import import_baseline
    from psychemme.release.read import read_release

    for folder in import_baseline(file, read_release(release), runs, is_fresh=fresh):
        out.print(f"wrote {plain(str(folder))}", soft_wrap=True, highlight=False)


def _runs(
    folders: list[Path], release: Path | None, judge: str
) -> "tuple[Release, list[ReportRun]]":
    from evaluation.report.runs import read_runs
    from psychemme.clients.cards import load_cards

    return read_runs(folders, load_cards(Path()), release, judge)


def _open(
    folder: Path,
    kind: "Kind",
    release: "Release",
    tasks: "Sequence[Task]",
    names: str,
    seed: int,
    media: Path | None,
    address: str,
    categories: "Sequence[Category]" = (),
    draw: "Draw | None" = None,
) -> None:
    from evaluation.people.opening import open_study
    from psychemme.release.faults import counted

    with progress_bar("cut") as bar:
        row = bar.add_task("clips", total=None, visible=False)

        def report(done: int, total: int) -> None:
            bar.update(row, completed=done, total=total, visible=True)

        tokens = open_study(
            folder,
            kind,
            release,
            tasks,
            [name.strip() for name in names.split(",") if name.strip()],
            seed,
            address=address,
            media=(media,) if media else (),
            draw=draw,
            categories=categories,
            report=report,
        )
    asked = counted(len(tasks), "task")
    out.print(f"{asked} for each in {plain(str(folder))}", soft_wrap=True, highlight=False)
    _print_links(tokens, address)
    err.print("Each link is shown this once; whoever has it answers in that name.")
    served = f"`psychemme people serve {plain(str(folder))}` offers the pages at {plain(address)}."
    err.print(served, soft_wrap=True, highlight=False)


def _print_links(tokens: dict[str, str], address: str) -> None:
    from psychemme.pages.tokens import link

    for who, token in tokens.items():
        out.print(f"{plain(who)}: {plain(link(address, token))}", soft_wrap=True, highlight=False)


def _moment(at: int | None) -> str:
    return "–" if at is None else f"{datetime.fromtimestamp(at // 1_000_000, UTC):%Y-%m-%dT%H:%MZ}"
