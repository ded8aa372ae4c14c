"""`psychemme plan-power`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from psychemme.cli.app import JsonOption, WorkspaceOption, app, out, plain, print_json
from psychemme.cli.runs_given import JudgementsOption, ResponsesOption, each_once, read_given
from psychemme.cli.score import JudgeOption, ReleaseOption, RepeatOption
from psychemme.cli.tables import new_table, print_table

if TYPE_CHECKING:
    from evaluation.power import Need, Spread
    from evaluation.report.runs import ReportRun

_COLUMNS = (
    *("capability", "n", "episodes", "per episode", "SD", "rho", "design effect"),
    *("items needed", "episodes needed", "detectable with n"),
)


@app.command("plan-power")
def plan_power(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(help="Two run folders to estimate the spread from.", callback=each_once),
    ] = None,
    difference: Annotated[
        float, typer.Option(help="The difference to find, in points of Raw or Verified.")
    ] = 5.0,
    power: Annotated[float, typer.Option(help="How often it is to be found, 0 to 1.")] = 0.8,
    alpha: Annotated[float, typer.Option(help="Two-sided level, 0 to 1.")] = 0.05,
    items_per_episode: Annotated[
        float | None,
        typer.Option(help="Items of a capability in an episode.  [default: as they are, or 1]"),
    ] = None,
    icc: Annotated[
        float | None,
        typer.Option(help="Correlation within an episode, 0 to 1.  [default: estimated]"),
    ] = None,
    sd: Annotated[
        float | None,
        typer.Option(help="Without runs: SD of the paired differences, 0 to 100 points."),
    ] = None,
    discordance: Annotated[
        float | None, typer.Option(help="Or: percent of items on which two runs differ.")
    ] = None,
    release: ReleaseOption = None,
    responses: ResponsesOption = None,
    judgements: JudgementsOption = None,
    judge: JudgeOption = None,
    repeat: RepeatOption = 0,
    workspace: WorkspaceOption = None,
    json: JsonOption = False,
) -> None:
    """Plan how many items a capability needs for a difference of two runs to be found."""
    from evaluation.power import plan
    from evaluation.report.analyses import of_one_condition

    has_runs = bool(runs or responses or judgements)
    if runs and len(runs) != 2:
        raise typer.BadParameter("name two run folders")
    if has_runs == (sd is not None or discordance is not None) or None not in (sd, discordance):
        raise typer.BadParameter("name two runs, or one of --sd and --discordance")
    if has_runs:
        _, given = read_given(runs, release, responses, judgements, workspace, judge, repeat)
        # A file holds whatever was asked.
        read = given if runs else of_one_condition(given)
        if len(read) != 2:
            raise typer.BadParameter(f"name two runs; here are {len(read)} of one condition")
        found = _of_runs(*read)
    elif icc is None and (items_per_episode or 1) > 1:
        raise typer.BadParameter("several items an episode need --icc, such as 0.1")
    elif sd is not None and not 0 <= sd <= 100:
        raise typer.BadParameter(f"--sd {sd:g} is not from 0 to 100 points")
    else:
        found = {"": _assumed(release, sd, discordance, difference)}
    needs = {
        measure: {
            place: plan(one, difference / 100, items_per_episode, icc, power, alpha)
            for place, one in spreads.items()
        }
        for measure, spreads in found.items()
    }
    if json:
        asked = {"difference": difference, "power": power, "alpha": alpha}
        print_json(asked | {"plans": _as_json(needs)})
        return
    names = " and ".join(plain(one.name) for one in read) if has_runs else ""
    for measure, planned in needs.items():
        _print(measure, planned, names, items_per_episode, icc)
    out.print(
        f"To find {difference:g} points with power {power:g} at two-sided alpha {alpha:g}, by the "
        "normal approximation; SD and detectable differences are in points. – unknown: nothing "
        "varies, there is no item, or the correlation within episodes (--icc) is not known.",
        soft_wrap=True,
    )


def _of_runs(one: "ReportRun", other: "ReportRun") -> dict[str, dict[str, "Spread"]]:
    from evaluation.power import MEASURES, spreads_of
    from evaluation.score import refuse_unscored

    refuse_unscored([one.scored, other.scored], has_bounds=False)
    return {
        measure: {str(place): each for place, each in spreads_of(one, other, credit).items()}
        for measure, credit in MEASURES.items()
    }


def _assumed(
    release: Path | None, sd: float | None, discordance: float | None, difference: float
) -> dict[str, "Spread"]:
    from evaluation.power import assumed_spread, episode_sizes, sd_of_discordance
    from psychemme.release.read import read_release

    if sd is None:
        taken = sd_of_discordance((discordance or 0.0) / 100, difference / 100)
    else:
        taken = sd / 100
    sizes = {str(k): v for k, v in episode_sizes(read_release(release)).items()} if release else {}
    return {place: assumed_spread(each, taken) for place, each in (sizes or {"any": []}).items()}


def _as_json(needs: Mapping[str, Mapping[str, "Need"]]) -> list[dict[str, Any]]:
    """Return one row a measure and capability; shares are fractions."""
    return [
        {"measure": measure or None, "capability": place, **need.spread.model_dump()}
        | {
            "design_effect": need.design_effect,
            "items_needed": need.items,
            "episodes_needed": need.episodes,
            "detectable": need.detectable,
        }
        for measure, planned in needs.items()
        for place, need in planned.items()
    ]


def _print(
    measure: str,
    planned: Mapping[str, "Need"],
    names: str,
    per_episode: float | None,
    icc: float | None,
) -> None:
    title = f"{measure.capitalize()} of {names}" if measure else "Assumed spread"
    table = new_table(*_COLUMNS, title=title)
    for place, need in planned.items():
        one = need.spread
        table.add_row(
            place,
            str(one.items),
            str(one.episodes),
            _number(one.per_episode if per_episode is None else per_episode),
            _points(one.sd),
            _number(one.icc if icc is None else icc),
            _number(need.design_effect),
            *("–" if count is None else str(count) for count in (need.items, need.episodes)),
            _points(need.detectable),
        )
    print_table(table)


def _points(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
