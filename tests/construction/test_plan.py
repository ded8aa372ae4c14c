import csv
from collections import Counter
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from construction.plan import (
    Cell,
    EpisodeLimits,
    Plan,
    Target,
    home,
    impossible_bands,
    load_plan,
    schema_text,
)
from psychemme.errors import ConfigError
from psychemme.vocabulary import Capability, DurationBand, Format

ROOT = Path(__file__).resolve().parents[2]
ONE = {"targets": [{"capability": "G", "format": "single", "count": 1}], "total": 4}


def write(folder, plan):
    path = folder / "plan.yaml"
    path.write_text(plan if isinstance(plan, str) else yaml.safe_dump(plan), encoding="utf-8")
    return path


def count(plan, field):
    counts = Counter()
    for target in plan.targets:
        counts[getattr(target, field)] += target.count
    return counts


def test_the_default_plan_has_the_papers_counts():
    plan = load_plan()
    assert count(plan, "capability") == dict(
        zip(Capability, (186, 320, 97, 72, 97, 94, 61, 73), strict=True)
    )
    assert count(plan, "format")["open"] == 110
    assert plan.total == 1000
    need = {t.format: t.count for t in plan.targets if t.capability is Capability.NEED}
    assert (need["single"] + need["multiple"], need["open"]) == (62, 35)
    assert [t.format for t in plan.targets if t.capability is Capability.TIMING] == ["single"]


def test_the_default_plan_agrees_with_the_reference_table():
    table = ROOT / "../shared/reference/psychemme_capability_counts.csv"
    if not table.exists():
        pytest.skip("the reference tables are not here")
    rows = csv.DictReader(table.open(encoding="utf-8"))
    assert {r["capability"]: int(r["questions"]) for r in rows} == count(load_plan(), "capability")


def test_the_schema_beside_the_plan_is_current():
    stored = (ROOT / "construction/plan.schema.json").read_text(encoding="utf-8")
    assert stored == schema_text(), "write construction.plan.schema_text() to the file"


def test_the_hash_follows_values_not_layout(tmp_path):
    plain = load_plan(write(tmp_path, ONE))
    commented = load_plan(write(tmp_path, "# a comment\n" + yaml.safe_dump(ONE)))
    changed = load_plan(write(tmp_path, ONE | {"total": 5}))
    assert plain.hash == commented.hash != changed.hash


@pytest.mark.parametrize(
    ("plan", "named"),
    [
        (ONE | {"rounds": 3}, "rounds"),
        (ONE | {"sampling": {"bach": 3}}, "sampling.bach"),
        (ONE | {"total": 0}, "total"),
        (ONE | {"targets": []}, "targets"),
        (ONE | {"targets": ONE["targets"] * 2}, "two targets share the cell"),
        (ONE | {"targets": [ONE["targets"][0] | {"count": 0}]}, "count 0"),
        (ONE | {"targets": [ONE["targets"][0] | {"capability": "X"}]}, "targets.0.capability"),
        (ONE | {"episodes": {"min_seconds": 20, "max_seconds": 10}}, "min_seconds 20"),
        (ONE | {"episodes": {"min_seconds": ".inf"}}, "episodes.min_seconds"),
        ("targets: [", "not YAML"),
        ("", "valid dictionary"),
    ],
)
def test_a_wrong_plan_names_file_field_and_next_action(tmp_path, plan, named):
    path = write(tmp_path, plan)
    with pytest.raises(ConfigError) as caught:
        load_plan(path)
    assert str(path) in caught.value.problem
    assert named in caught.value.problem
    assert "schema" in caught.value.action


def test_a_missing_or_unreadable_plan_is_a_config_error(tmp_path):
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "none.yaml", tmp_path, binary):
        with pytest.raises(ConfigError, match="cannot be read"):
            load_plan(path)


@pytest.mark.parametrize(
    ("band", "limits", "refused"),
    [
        (">60", {"max_seconds": 60}, True),
        (">60", {"max_seconds": 60.5}, False),
        ("<=30", {"min_seconds": 30.5}, True),
        ("<=30", {"min_seconds": 30}, False),
        ("30-60", {"max_seconds": 30}, True),
        ("30-60", {"min_seconds": 61}, True),
        ("*", {"max_seconds": 20}, False),
    ],
)
def test_a_band_that_the_limits_exclude_is_refused(tmp_path, band, limits, refused):
    target = ONE["targets"][0] | {"duration_band": band}
    plan = ONE | {"targets": [target], "episodes": limits}
    assert bool(impossible_bands(Plan.model_validate(plan))) is refused
    if refused:
        with pytest.raises(ConfigError, match=band):
            load_plan(write(tmp_path, plan))
    else:
        load_plan(write(tmp_path, plan))


@given(counts=st.lists(st.integers(0, 400), min_size=1, max_size=24), total=st.integers(0, 5000))
@settings(deadline=None)
def test_scaling_sums_exactly_and_stays_within_one_of_the_share(counts, total):
    cells = [(c, f) for c in Capability for f in Format][: len(counts)]
    if not any(counts):
        return
    targets = tuple(
        Target(capability=c, format=f, count=n) for (c, f), n in zip(cells, counts, strict=True)
    )
    scaled = Plan(targets=targets, total=1).scaled(total)
    assert sum(t.count for t in scaled) == total
    for before, after in zip(targets, scaled, strict=True):
        assert after.cell == before.cell
        assert abs(after.count - before.count * total / sum(counts)) < 1


def test_a_plans_own_total_is_the_default_scale():
    assert [t.count for t in Plan.model_validate(ONE).scaled()] == [4]


def test_the_most_specific_target_is_home():
    def cell(**more):
        return Cell(capability="G", format="single", **more)

    group, band = cell(source_group="vlog"), cell(duration_band="<=30")
    targets = [Target(**c.model_dump(), count=1) for c in (cell(), band, group)]
    place = cell(source_group="vlog", duration_band="<=30")
    assert home(targets, place) == group
    assert home(targets[:2], place) == band
    assert home(targets[:1], place) == cell()
    assert home([], place) == place


def test_limits_reach_every_band_by_default():
    assert all(EpisodeLimits().reaches(band) for band in DurationBand)
