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
from fwexp.experiments.review.bounds import AXES, CONSTANT_ERROR, WITH_N
from fwexp.experiments.review.claims import STRONG
from fwexp.experiments.review.games import BY_NORMS
from fwexp.experiments.theory import small
from fwexp.papers.claims import NOT_REACHED, VERDICTS, Finding, Kind, all_claims, check, check_all, shown_by
from fwexp.papers.claims import claim as declare
from fwexp.papers.claims.registry import frozen
from fwexp.papers.claims.runs import Runs, below, reached
from fwexp.papers.claims.verdict import Undecided, every, for_json
from fwexp.papers.claims.verdict_records import _expanded, _unmatched, close_thresholds, decide, needed, tally
from fwexp.papers.declarations import STAND_IN, Preset, papers_by_id
from fwexp.run import composition, from_arguments
from tests.papers import claimed_results
from tests.papers.drawn_store import published_verdicts
from tests.papers.falsified_results import BASES, COMPUTED, CONTRADICTIONS, MODULES, altered, certified, distance

CLAIMS = all_claims()
BARE = {id: replace(claim, vary={}) for id, claim in CLAIMS.items()}  # which are decided once
COUNTS = {"A": 5, "B13": 32, "G16": 20, "L": 5, "R": 18}
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
            assert f"{{{name}:" in claim.decide.__doc__, id


def test_claims_on_the_papers_data_read_runs_on_them():
    for id, claim in CLAIMS.items():
        data = papers_by_id()[claim.paper].data
        own = {name for name, relation in data.items() if not relation.startswith((STAND_IN, "ours"))}
        reads = {config["dataset"]["name"] for config in needed(claim).values()} & own
        assert reads or claim.kind is not Kind.DATA, id
        assert claim.needs or claim.kind is not Kind.DATA, id
    assert {id for id, claim in CLAIMS.items() if claim.kind is Kind.MISPRINT} == {"R-9", "R-16"}


def test_misprints_are_no_results(monkeypatch):
    told = decide(BARE["R-9"], None)
    assert told["verdict"] == "lists misprints"
    assert tally([told, {"verdict": "holds"}]) == "1 holds; 1 lists misprints"
    monkeypatch.setattr(small, "negative_dual", lambda *_: 0.0)
    assert decide(BARE["R-9"], None)["verdict"] == "in part"


def test_criteria_are_those_that_were_frozen():
    """After a change of a criterion: ``python -m tools.freeze``, before the runs that decide it are made."""
    assert frozen() == {id: claim.digest for id, claim in CLAIMS.items()}
    assert all(claim.is_frozen for claim in CLAIMS.values())


def test_a_digest_is_that_of_the_function_its_thresholds_and_the_functions_that_it_names(monkeypatch):
    claim = CLAIMS["G16-1"]
    assert claim.digest != CLAIMS["G16-2"].digest
    assert replace(claim, needs=claim.needs[:1]).digest != claim.digest
    assert replace(claim, statement="Else.").digest == claim.digest
    monkeypatch.setitem(claim.decide.__globals__, "_common", below)
    assert claim.digest != claim.is_frozen
    assert not claim.is_frozen


@pytest.mark.slow
def test_other_seeds_confirm_a_claim_or_do_not(monkeypatch, tmp_path):
    """Methods with one run keep it; the others have seeds 10 to 19."""
    claim = BARE["B13-2"]
    first, again = needed(claim), needed(claim, confirming=True)
    assert {config["seed"] for config in first.values() if config["solver"]["name"] == "ssg"} == set(range(10))
    assert {config["seed"] for config in again.values() if config["solver"]["name"] == "ssg"} == set(range(10, 20))
    assert {config["seed"] for config in again.values() if config["solver"]["name"] == "fw"} == {0}
    made = claimed_results.frame_of(
        [run for key, config in (first | again).items() for run in claimed_results.run(key, config, ())]
    )
    monkeypatch.setattr("fwexp.store.load_results", lambda *_, **__: made)
    monkeypatch.setattr("fwexp.store.stored", lambda _, config: config)
    found = check_all({"B13-2": claim}, tmp_path, stale=True)["B13-2"]
    assert (found["verdict"], found["confirmation"]["verdict"]) == ("holds", "holds")
    worse = (made["seed"] >= 10) & (made["solver"] == "ssg")
    made["primal"] = made["primal"].mask(worse, made["primal"].where(~worse, 0.1 + (made["primal"] - 0.1) / 100))
    found = check_all({"B13-2": claim}, tmp_path, stale=True)["B13-2"]
    assert (found["verdict"], found["confirmation"]["verdict"]) == ("holds", "fails")
    monkeypatch.setattr("fwexp.papers.claims.registry.frozen", lambda: {"B13-2": "other"})
    monkeypatch.setattr("fwexp.papers.claims.verdict_records.frozen", lambda: {"B13-2": "other"})
    found = check_all({"B13-2": claim}, tmp_path, stale=True)["B13-2"]
    assert found["confirmation"]["why"] == "the criterion was changed after it was frozen"
    monkeypatch.setattr("fwexp.store.stored", lambda _, config: config if config["seed"] < 10 else None)
    found = check_all({"L-5": BARE["L-5"], "B13-1": BARE["B13-1"]}, tmp_path, stale=True)
    assert found["L-5"]["confirmation"] == {}
    assert found["B13-1"]["confirmation"]["why"] == "20 of 23 runs are not stored"


def test_a_verdict_close_to_a_threshold_says_so():
    tried = {"0.01": "in part", "0.02": "in part", "0.05": "holds", "0.1": "holds"}
    record = {"id": "G16-13", "verdict": "holds", "sensitivity": {"almost": {value: {"verdict": v} for value, v in tried.items()}}}
    assert close_thresholds(record) == ["in part at almost = 0.02"]
    assert close_thresholds(record | {"sensitivity": {}}) == []


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
    assert verdict("B13-10", claims=CLAIMS)["sensitivity"]["early"].keys() == {"20", "40", "60"}


SAME = {"B13-12": "L-2", "B13-13": "L-1", "B13-15": "R-5"}
FALSE = {
    "G16-20": {"n = 4, cache alone", "n = 12, cache alone"},
    "G16-6": {"F = 1e-06, nu = 1e-06: almost only hits", "F = 1e-06, nu = 1e-06: does not converge"},
    "R-17": {STRONG},
    "R-18": {AXES},
    "R-12": {WITH_N},
    "R-13": {CONSTANT_ERROR},
    "R-14": {BY_NORMS},
}
"""Claims of the papers with parts that computations contradict, or that no run measures yet."""


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
    assert told["verdict"] in ("holds", "holds where measured", "in part"), told
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
    """And is as it was published, also by the other claims that the same function decides."""
    told = decide(CLAIMS[id], None)
    for same in (id, *(other for other, one in SAME.items() if one == id)):
        assert told["verdict"] == published_verdicts()[same]["verdict"]
    assert {part for part, held in told["parts"].items() if held is not True} == FALSE.get(id, set()), told
    assert told["numbers"]
    others = {other["verdict"] for by_value in told["sensitivity"].values() for other in by_value.values()}
    assert others <= {"holds", "in part", "mostly contradicted", *(("fails",) if id in SENSITIVE else ())}
    assert fallen(id, lambda: decide(BARE[id], None), monkeypatch) == set(told["parts"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("id", "change"),
    [
        ("B13-17", altered("gap", lambda columns, _: 0.5 + columns["gap"])),
        ("B13-20", distance(lambda d, passes: 0.9 / (1 + (passes / 60) ** 1.2))),
        ("G16-1", distance(lambda d, _: 0.2 + 0.8 * d)),
        ("G16-3", distance(lambda d, _: 0.2 + 0.8 * d)),
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
    assert told["verdict"] == ("holds where measured" if True in told["parts"].values() else "undecided")
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
    assert scaled["verdict"] in ("in part", "mostly contradicted", "fails")
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
    held, contradicted = (kind in kinds for kind in (True, False))
    if contradicted:
        expected = "in part" if held else "fails"
    else:
        expected = "undecided" if not held else "holds" if len(kinds) == 1 else "holds where measured"
    finding = Finding({str(kind): kind for kind in kinds})
    assert finding.verdict == expected
    assert finding.verdict in VERDICTS
    assert (finding.why == "") == (expected == "holds" or not kinds)
    assert Finding(json.loads(json.dumps(finding.parts))) == finding
    more = Finding({**finding.parts, "again": False})
    assert more.verdict == ("fails" if not held else "mostly contradicted" if contradicted else "in part")
    outcomes = [outcome for outcome in kinds if outcome is not True]
    assert every(kinds) == (False if contradicted else outcomes[0] if outcomes else True)


def test_the_words_of_a_verdict_name_what_became_of_each_part():
    parts = {"a": np.True_, "b": NOT_REACHED, "c": None, "d": np.False_, "e": True}
    assert [for_json(value) for value in (np.float64(2), 0.123456, np.inf, np.nan, "x", True)] == [2, 0.1235, "never", None, "x", 1]
    assert Finding(parts).why == "holds: a; e. does not hold: d. is not reached within these runs: b. is not told by these runs: c"


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

    monkeypatch.setattr(from_arguments, "expand", expand)
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
