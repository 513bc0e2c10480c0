import json
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from fwexp import experiments
from fwexp.errors import ParameterError
from fwexp.experiments import FIGURES
from fwexp.experiments.icml2013.theory import PRINTED_EQUALITY
from fwexp.experiments.review.bounds import CONSTANT_ERROR, WITH_N
from fwexp.experiments.review.games import BY_NORMS
from fwexp.experiments.theory import small
from fwexp.papers.claims import NOT_REACHED, VERDICTS, Finding, all_claims, check, check_all, shown_by
from fwexp.papers.claims import claim as declare
from fwexp.papers.claims.runs import Curves, Runs, below, interval, is_linear, reached
from fwexp.papers.claims.verdict import Undecided, for_json
from fwexp.papers.claims.verdict_records import _expanded, _unmatched, decide, needed
from fwexp.papers.declarations import Preset, papers_by_id
from fwexp.run import composition, sweep
from tests.papers import claimed_results
from tests.papers.falsified_results import BASES, COMPUTED, CONTRADICTIONS, MODULES, altered, certified, distance

CLAIMS = all_claims()
BARE = {id: replace(claim, vary={}) for id, claim in CLAIMS.items()}  # which are decided once
COUNTS = {"B13": 32, "G16": 18, "L": 5, "R": 16}
NO_RUNS = {id for id, claim in CLAIMS.items() if not claim.needs}


def few_seeds(config):
    return config["seed"] >= 3


def verdict(id, change=None, claims=BARE):
    changes = [each for each in (BASES.get(id), change) if each]

    def change_all(variant, config, columns):
        for each in changes:
            columns = each(variant, config, columns)
        return columns

    return decide(claims[id], claimed_results.make(claims[id], change_all, few_seeds))


def test_every_claim_of_the_list_says_what_it_claims_and_varies_its_thresholds():
    assert sorted(CLAIMS) == sorted(f"{paper}-{k}" for paper, count in COUNTS.items() for k in range(1, count + 1))
    for id, claim in CLAIMS.items():
        assert (claim.id, claim.paper in papers_by_id(), claim.statement[-1]) == (id, True, ".")
        assert re.search("section|caption|appendix|theorem|page|note|figure|equation|lemma", claim.place), id
        assert not set('"“”') & set(claim.place), id  # no words of the paper
        assert len(claim.criterion) > 40, id
        assert not set("{}") & set(claim.criterion), id
        assert set(claim.chosen) == set(claim.vary), id
        for name, values in claim.vary.items():
            assert claim.chosen[name] in values, id
            assert list(values) == sorted(set(values)), id
            assert len(values) >= 3, id
            assert f"{{{name}:" in claim.decide.__doc__ or name == "seeds", id  # of which `runs` tells


def test_every_claim_is_contradicted_here_and_shown_by_one_figure_at_most():
    assert set(CONTRADICTIONS) == {id for id in CLAIMS if id not in NO_RUNS}
    assert {*COMPUTED, *SAME.values()} >= NO_RUNS
    assert all(CLAIMS[one].decide is CLAIMS[other].decide for one, other in SAME.items())
    assert sorted(id for name in FIGURES for id in shown_by(name)) == sorted(id for id, claim in CLAIMS.items() if claim.figure)
    assert (CLAIMS["L-4"].figure, CLAIMS["L-5"].figure) == ("icml2013/fig1", "")


def test_a_verdict_is_told_for_each_value_of_a_threshold():
    told = verdict("B13-9", claims=CLAIMS)
    least = min(float(re.search("ratio ([0-9.]+)", number)[1]) for number in told["numbers"].values())
    assert least > 5
    assert told["sensitivity"] == {"factor": {f"{factor:g}": {"verdict": "holds", "parts": {}} for factor in (1.25, 1.5, 2, 3, 5)}}
    told = verdict("B13-9", distance(lambda d, _: d / 4, "online_eg"), claims=CLAIMS)
    by_factor = told["sensitivity"]["factor"]
    assert by_factor["1.25"]["verdict"] == "holds" != by_factor["5"]["verdict"]
    assert by_factor["2"] == {"verdict": told["verdict"], "parts": {}}
    fallen = {part for part, held in by_factor["5"]["parts"].items() if held is False}
    assert fallen  # which parts, at which lam
    assert all(told["parts"][part] for part in fallen)
    assert all("lam = " in part for part in fallen)
    assert verdict("B13-10", claims=CLAIMS)["sensitivity"]["early"].keys() == {"0.166667", "0.25", "0.333333", "0.5"}


SAME = {"B13-12": "L-2", "B13-13": "L-1", "B13-15": "R-5"}
FALSE = {
    "B13-15": {PRINTED_EQUALITY},
    "B13-31": {"lam = 1.0, ten times shorter"},
    "R-12": {WITH_N},
    "R-13": {CONSTANT_ERROR},
    "R-14": {BY_NORMS},
}
"""Claims of the papers that computations contradict, with the contradicted parts."""


SENSITIVE = {"G16-18"}
"""Claims whose verdict another threshold turns."""


def fallen(id, decided, monkeypatch):
    """Return the parts that fall by a change of `small`."""
    found = set()
    for name, change in COMPUTED.get(id, ()):
        first, _, rest = name.rpartition(".")[0].partition(".")
        owner, attribute = MODULES.get(first, small), name.rpartition(".")[2]
        for part in (rest if first in MODULES else first).split("."):
            owner = getattr(owner, part) if part else owner
        with monkeypatch.context() as patch:
            patch.setattr(owner, attribute, change(getattr(owner, attribute)))
            found |= {part for part, held in outcomes(decided()).items() if held is False}
    return found


def outcomes(told):
    """Return all parts of a verdict, those on stand-ins with a mark."""
    return told["parts"] | {f"{part}, stand-in": held for part, held in told["stand_ins"].items()}


@pytest.mark.slow
@pytest.mark.parametrize("id", CONTRADICTIONS)
def test_a_verdict_flips_where_the_data_contradict_the_claim(id, monkeypatch):
    told = verdict(id)
    assert told["verdict"] in ("holds", "holds in part"), told
    assert {part for part, held in outcomes(told).items() if held not in (True, NOT_REACHED)} == FALSE.get(id, set()), told
    gone = fallen(id, lambda: verdict(id), monkeypatch)
    for change in CONTRADICTIONS[id]:
        other = verdict(id, change)
        assert False in outcomes(other).values(), other
        assert ("does not hold" in other["why"]) == (False in other["parts"].values())
        gone |= {part for part, held in outcomes(other).items() if held is False}
    assert gone - FALSE.get(id, set()) == {part for part, held in outcomes(told).items() if held is True}


def test_what_is_computed_is_computed_alike_again():
    """Tests of the report take computed verdicts from files: this one sees that nothing but given seeds and code decides them."""
    sources = [path for folder in experiments.__path__ for path in Path(folder).rglob("*.py")]
    assert len(sources) > 20
    chance = r"default_rng\(\s*(None)?\)|np\.random\.(?!default_rng|Generator)|import (random|secrets)\b|perf_counter|\btime\.time"
    assert [path.name for path in sources if re.search(chance, path.read_text())] == []


@pytest.mark.slow
@pytest.mark.parametrize("id", sorted(NO_RUNS - set(SAME.values())))
def test_what_is_computed_holds_and_can_fall(id, monkeypatch):
    told = decide(CLAIMS[id], None)
    assert {part for part, held in told["parts"].items() if held is not True} == FALSE.get(id, set()), told
    assert told["numbers"]
    others = {other["verdict"] for by_value in told["sensitivity"].values() for other in by_value.values()}
    assert others <= {"holds", "holds in part", *(("fails",) if id in SENSITIVE else ())}
    assert fallen(id, lambda: decide(BARE[id], None), monkeypatch) == set(told["parts"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("id", "change"),
    [
        ("B13-17", altered("gap", lambda columns, _: 0.5 + columns["gap"])),
        ("B13-20", distance(lambda d, passes: 0.9 / (1 + (passes / 60) ** 1.2))),
        ("R-1", certified(lambda gap, t: np.exp(-t / 2000), optimum="edge", solver="away")),
        ("R-2", certified(lambda gap, t: np.exp(-t / 2000), solver="random_away")),
        ("R-6", certified(lambda gap, t: np.exp(-t / 2000), solver="sp_fw")),
        ("R-8", certified(lambda gap, t: np.exp(-t / 2000))),
    ],
)
def test_what_comes_later_than_the_runs_went_is_not_reached(id, change):
    told = verdict(id, change)
    assert set(told["parts"].values()) <= {True, NOT_REACHED}
    assert NOT_REACHED in told["parts"].values(), told
    assert told["verdict"] == ("holds in part" if True in told["parts"].values() else "not reached")
    assert "is not reached within these runs" in told["why"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cut", "cost", "missed", "false"),
    [
        ("cold", 1, set(), set()),
        ("cold", 0.1, {"path like grid", "warm starts"}, set()),  # may cost 10 times what it shows
        ("cold", 100, set(), set()),
        ("warm", 1, {"warm starts"}, set()),
        ("path", 1, {"path like grid"}, set()),
        ("path", 0.1, set(), {"path like grid", "warm starts"}),  # and costs ten times as much already
    ],
)
def test_a_grid_or_path_that_is_cut_costs_more_than_it_shows(cut, cost, missed, false):
    results = claimed_results.make(CLAIMS["G16-8"], None, few_seeds)
    kind = np.where(results["task"] == "path", "path", np.where(results["task.warm"] == True, "warm", "cold"))  # noqa: E712
    factor = np.where(kind == "cold", cost, 1)
    changed = {name: results[name] * factor for name in ("passes", "time")}
    told = decide(BARE["G16-8"], results.assign(status=np.where(kind == cut, "max_passes", "converged"), **changed))
    found = outcomes(told).items()
    by_outcome = {held: {part.split(",")[0] for part, other in found if other is held} for held in (NOT_REACHED, False)}
    assert by_outcome == {NOT_REACHED: missed, False: false}


@pytest.mark.slow
def test_iterations_are_compared_where_batch_methods_made_enough(monkeypatch):
    monkeypatch.setitem(claimed_results.N, "ocr", 50)  # 130 iterations are more than 2 n
    assert verdict("B13-16", distance(lambda d, passes: 0.9 / (1 + 400 * passes), "bcfw-wavg"))["verdict"] == "holds"
    for change, held in ((lambda d, passes: 0.9 / (1 + 0.01 * passes), None), (lambda d, _: 1e6 + d, False)):
        slow = verdict("B13-16", distance(change, "bcfw-wavg"))["parts"]
        assert [slow[f"OCR, lam = {lam}"] for lam in (0.01, 0.001, "1/n")] == [held] * 3


@pytest.mark.slow
@pytest.mark.parametrize("id", ["B13-1", "B13-7", "G16-1", "G16-3"])
def test_swapping_seeds_changes_nothing_and_scaling_one_curve_does(id):
    claim = CLAIMS[id]
    results = claimed_results.make(claim, None, few_seeds)
    before = decide(claim, results)
    seeds = results["seed"].where(~results["seed"].isin([0, 1]) | results["solver"].isin(["fw", "one_slack"]), 1 - results["seed"])
    assert decide(claim, results.assign(seed=seeds)) == before
    some = {"B13-1": ["ssg"], "B13-7": ["ssg"], "G16-1": ["bcfw_gap"], "G16-3": ["bcpfw", "bcpfw_gap"]}[id]
    scaled = verdict(id, distance(lambda d, passes: np.where(passes > 0, 10 * d, d), *some))
    assert scaled["verdict"] in ("holds in part", "fails")
    assert scaled["parts"] != before["parts"]


@pytest.mark.slow
@pytest.mark.parametrize("id", ["B13-1", "B13-10", "G16-4"])
def test_runs_that_end_early_leave_a_claim_undecided(id):
    claim = CLAIMS[id]
    results = claimed_results.make(claim, None, few_seeds)
    told = decide(claim, results[results["passes"] <= 2])
    assert told["verdict"] == "undecided"
    assert "logged" in told["why"]


@pytest.mark.parametrize("kinds", [kinds for r in range(5) for kinds in combinations((True, False, NOT_REACHED, None), r)])
def test_the_parts_make_the_verdict(kinds):
    held, contradicted, missed = (kind in kinds for kind in (True, False, NOT_REACHED))
    if held:
        expected = "holds" if len(kinds) == 1 else "holds in part"
    else:
        expected = "fails" if contradicted else "not reached" if missed else "undecided"
    finding = Finding({str(kind): kind for kind in kinds})
    assert finding.verdict == expected
    assert finding.verdict in VERDICTS
    assert (finding.why == "") == (expected == "holds" or not kinds)
    assert Finding({**finding.parts, "again": kinds[0] if kinds else None}).verdict == expected  # how many is no matter
    assert Finding(json.loads(json.dumps(finding.parts))) == finding


def test_the_words_of_a_verdict_name_what_became_of_each_part():
    parts = {"a": np.True_, "b": NOT_REACHED, "c": None, "d": np.False_, "e": True}
    assert [for_json(value) for value in (np.float64(2), 0.123456, np.inf, np.nan, "x", True)] == [2, 0.1235, "never", None, "x", 1]
    assert Finding(parts).why == "holds: a; e. does not hold: d. is not reached within these runs: b. is not measured: c"


def curve(*rows, x=(1.0, 2.0, 4.0), name="c"):
    return Curves(name, [np.array(x)] * len(rows), [np.array(row) for row in rows], [np.nan] * len(rows))


def test_an_ordering_is_one_of_lines_or_of_bands():
    lower, upper = curve([1.0, 1.0, 1.0], [2.0, 1.0, 1.0]), curve([3.0, 3.0, 3.0], [2.0, 2.0, 2.0])
    found = below(lower, upper, 1.0, 4.0)
    assert found.share == 1  # of the lines
    assert (found.least, found.most, found.points) == pytest.approx((1, 3, 3))
    assert below(lower, upper, 1.0, 4.0, seeds=1.0).share == pytest.approx(2 / 3)  # two seeds meet at the first point


def test_a_rate_is_fitted_with_an_interval():
    x = np.geomspace(1.0, 100.0, 20)
    exact = Curves("c", [x] * 3, [factor * x**-1.5 for factor in (1, 2, 3)], [np.nan] * 3).rate(1.0, 100.0)
    assert exact == pytest.approx((-1.5, -1.5, -1.5))
    wide = interval([0.0, 1.0, 2.0])
    assert wide.low == pytest.approx(1 - 4.3027 / np.sqrt(3), abs=1e-4)


def test_a_linear_rate_is_told_from_a_power_law():
    x = np.arange(1.0, 50.0)
    assert is_linear(x, np.exp(-x / 5))
    assert not is_linear(x, 1 / x)
    assert not is_linear(x, np.exp(x / 5))  # it rises
    with pytest.raises(Undecided, match="5 logged points, a rate needs 6"):
        is_linear(x[:5], np.exp(-x[:5]))


def test_runs_are_told_apart_and_have_the_best_gap_so_far():
    runs = Runs(claimed_results.make(CLAIMS["R-2"], None, few_seeds))
    away = runs.one("away")
    assert (away["step"].diff().dropna() >= 0).all()
    assert (away["best"].diff().dropna() <= 0).all()
    assert reached(away, 1e-3) == away[away["best"] <= 1e-3]["step"].min()
    assert reached(away, 0.0, "inspected") == np.inf
    assert {run["solver.eta"].iloc[0] for run in runs.each("random_away")} == {0.05, 0.1, 0.5, 1.0}
    with pytest.raises(Undecided, match="12 runs of random_away, the criterion looks at one"):
        runs.one("random_away")
    with pytest.raises(Undecided, match=r"no run of bcfw \(lam=7\)"):
        runs.curves("bcfw", lam=7)
    with pytest.raises(Undecided, match="c is logged until 4, the criterion looks at 1 to 10"):
        curve([1.0, 1.0, 1.0]).logged(1.0, 10.0)


def test_levels_are_reached_by_a_power_law():
    assert curve([8.0, 4.0, 1.0], [8.0, 7.0, 6.0]).until(2.0).tolist() == pytest.approx([2 * 2**0.5, np.inf])


def test_a_diverged_run_goes_on_at_infinity():
    found = Curves("c", [np.array([1.0, 2.0]), np.array([1.0, 2.0, 4.0])], [np.ones(2), np.ones(3)], [np.inf, np.nan])
    assert found.in_range(1.0, 4.0).tolist() == [[1, 1, np.inf], [1, 1, 1]]


def test_a_converged_run_stays_where_it_is():
    results = claimed_results.make(CLAIMS["G16-5"], None, few_seeds)
    of_two = results[(results["seed"] < 2) & ((results["passes"] <= 100) | (results["seed"] == 1))]
    early = (of_two["seed"] == 0) & (of_two["status"] == "max_passes")
    found = Runs(of_two.assign(status=of_two["status"].mask(early, "converged")), ("refresh",)).curves(
        "bcfw", "improvement", task="improvement"
    )
    assert found.in_range(10.0, 190.0)[0, -1] == 1.5
    assert found.lowest().behind[0] == 1.5


@pytest.mark.parametrize("id", [id for id in CLAIMS if id not in NO_RUNS])
def test_every_need_is_met_by_the_presets(id):
    assert [text for need in CLAIMS[id].needs for text in _unmatched(need)] == []


def test_presets_of_claims_are_expanded_within_one_start_of_hydra(tmp_path, monkeypatch):
    def expand(*_, **__):
        raise LookupError(f"started {len(composition._open)} times")

    monkeypatch.setattr(sweep, "expand", expand)
    _expanded.cache_clear()
    with pytest.raises(LookupError, match="started 1 times"):
        check_all(CLAIMS, tmp_path)


def test_misspelt_needs_are_named(tmp_path):
    quickstart = Preset("quickstart")
    claim = replace(CLAIMS["B13-1"], needs=(quickstart.runs("bcfv", "fw", dataset="ocr", dataste="digits"),))
    found = check(claim, tmp_path)
    assert found["verdict"] == "undecided"
    assert found["why"].split("; runs") == [
        "unknown method in runs(...) of quickstart 'bcfv' (did you mean 'bcfw'?); accepted: bccfw_accelerated, bcfw, fw, ssg",
        "(dataset=...) of quickstart must have a value that its runs have, got 'ocr'",
        "(dataste=...) of quickstart must have a value that its runs have, got 'digits'",
    ]


def test_ids_of_claims_are_new():
    def other(runs):
        """Never."""

    other.__module__ = "fwexp.experiments.notes"
    with pytest.raises(ParameterError, match=r"the id of a claim must be new, got 'B13-1', which fwexp\.experiments\.icml2013"):
        declare("B13-1", "It is so.", place="here")(other)
    assert all_claims()["B13-1"] is CLAIMS["B13-1"]


def test_a_need_names_runs_by_method_and_values():
    found = list(needed(CLAIMS["B13-2"]).values())
    assert {(config["solver"]["name"], config["lam"]) for config in found} == {
        (s, "1/n") for s in ("ssg", "fw", "one_slack", "bcfw")
    }
    assert sum(config["solver"]["name"] == "bcfw" for config in found) == 1  # the reference
    assert Preset("x").runs().methods == ()
