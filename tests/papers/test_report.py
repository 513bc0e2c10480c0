import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fwexp.cli import main
from fwexp.errors import OptionError
from fwexp.experiments import FIGURES
from fwexp.papers import comparison, figure_files
from fwexp.papers.claims import VERDICTS, all_claims
from fwexp.papers.figure_pipeline import save_figure
from fwexp.papers.origin import Origin
from fwexp.papers.report import build as building
from fwexp.papers.report import figures, overview, pages
from fwexp.papers.report import run_pages as runs
from fwexp.plots import style
from fwexp.plots.curves import Chart, Panel
from fwexp.plots.icml2016 import DATA_SETTINGS
from fwexp.run import sweep
from fwexp.store import records
from fwexp.store.run_store import StoredRun, find_runs, load_results, save_failure
from tests.papers.drawn_store import picture
from tests.plots.synthetic_results import concat, make_results, make_run

pytestmark = pytest.mark.slow  # pages of all claims are built

BROWSER = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
TOOLS = {"index", "runs", "run"}

NAMES = ("quickstart", "icml2016/fig8", "review/fig1")
VOID = {"meta", "link", "img", "input", "br"}
EVIL = '</script><script>alert("1")</script>&<b>'


class Page(HTMLParser):
    """The elements of a page; refuses those that do not close."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.words = [], [], ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Return a store with four short runs, and with the files of three figures (other pictures than theirs)."""
    folder = tmp_path_factory.mktemp("results")
    sweep_of_runs = ["run", "-m", "dataset=digits", "solver=bcfw,fw", "lam=0.1", "seed=0,1", "max_passes=4"]
    assert main([*sweep_of_runs, "hydra/launcher=basic", f"results_dir={folder}"]) == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figure_files, "_drawn", lambda *_: [picture(), b"svg"])
        for name in NAMES:
            figure = FIGURES.find(name)
            frame = figure.data(make_results(sweep.expand([f"+experiment={name}"], preset="smoke")))
            save_figure(figure.draw(frame), frame, folder / "figures" / name, Origin(name, figure.title, "full"))
        save_figure(figure.draw(frame), frame, folder / "figures/compare/bcfw-fw", Origin("compare/bcfw-fw", "Profiles of mine"))
    return folder


@pytest.fixture(scope="module")
def report(store):
    """Return the folder of a report."""
    assert building.build(store) == store / "report" / "index.html"
    return store / "report"


@pytest.fixture(scope="module")
def parsed(report):
    return {path.stem: Page(path.read_text()) for path in report.glob("*.html")}


def data_of(report):
    """Return the contents of the files of data, by name."""
    calls = [path.read_text() for path in (report / "data").glob("*.js")]
    return dict(json.loads(f"[{re.fullmatch(r'report.take.(.*).;', call.strip())[1]}]") for call in calls)


@pytest.fixture(scope="module")
def data(report):
    return data_of(report)


def interrupted(run):
    """Store what a run would have left if it had been interrupted, next to it."""
    partial = shutil.copytree(run.path, run.path.with_name(f"{run.key}.partial"))
    records.write(partial / "run.json", run.record | {"status": "interrupted", "gap": 9.0, "reason": "Ctrl-C"})


def test_there_is_a_page_for_each_paper_and_one_for_the_rest(parsed):
    assert set(parsed) == TOOLS | {"icml2013", "icml2016", "lecture", "review", "others", "yours"}


def test_nothing_is_asked_of_the_network_and_no_link_is_broken(report, parsed):
    for name, page in parsed.items():
        ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
        assert len(ids) == sum("id" in attributes for _, attributes in page.elements)
        for _, attributes in page.elements:
            for target in (attributes.get("href"), attributes.get("src")):
                if not target or target == "data:,":
                    continue
                assert "//" not in target
                file, _, anchor = target.partition("#")
                assert (report / (file or f"{name}.html")).is_file(), target
                other = parsed[file.removesuffix(".html")] if anchor and file else page
                if file == "runs.html":
                    continue  # what they show
                assert not anchor or any(attributes.get("id") == anchor for _, attributes in other.elements), target
    assert not re.search(r"https?:|//[a-z]", (report / "report.css").read_text())
    script = "".join(path.read_text() for path in report.glob("*.js") if path.name != "plotly.min.js")
    assert not re.search(r"https?:|fetch\(|XMLHttp", script)
    assert '"sendChartToCloud"' in script.partition("modeBarButtonsToRemove")[2]
    plotly = (report / "plotly.min.js").read_text()
    assert 'name:"sendChartToCloud"' in plotly  # else it has another name now
    assert 'minorloglabels: "complete"' in script  # no ticks 2 5 2 5
    assert 'minorloglabels:{valType:"enumerated",values:["small digits","complete"' in plotly


def test_every_figure_and_every_claim_is_there(parsed):
    everywhere = {attributes["id"] for page in parsed.values() for _, attributes in page.elements if "id" in attributes}
    FIGURES.load_all()
    assert everywhere >= {name.replace("/", "-") for name in FIGURES}
    assert everywhere >= {
        f"{paper}-{k}" for paper, count in (("B13", 22), ("G16", 11), ("L", 5), ("R", 9)) for k in range(1, count + 1)
    }


def test_pictures_have_words_and_stand_in_without_scripts(parsed):
    page = parsed["review"]
    assert all(len(image["alt"]) > 40 for image in page.all("img"))
    inside = [tag for k, (tag, _) in enumerate(page.elements) if page.elements[k - 1][0] == "noscript"]
    assert inside == ["img"]
    assert "Not drawn yet" in page.words


def test_curves_are_the_numbers_of_the_csv(store, report):
    content = json.loads(re.search(r'id="data-review-fig1">(.*?)</script>', (report / "review.html").read_text())[1])
    frame = pd.read_csv(store / "figures/review/fig1.csv")
    shown = {(panel["key"], curve["name"]): curve for panel in content["panels"] for curve in panel["curves"]}
    assert set(shown) == set(zip(frame["panel"], frame["variant"], strict=True))
    for (panel, variant), curve in shown.items():
        rows = frame[(frame["panel"] == panel) & (frame["variant"] == variant)].sort_values("x")
        for name in ("x", "median", "best", "worst", "passes", "calls", "seconds"):
            assert curve[name] == pytest.approx(rows[name].tolist(), rel=1e-4)
    assert {method["label"] for method in content["methods"]} == {style.line(name).label for name in frame["variant"]}
    assert all(panel["title"].startswith(f"({panel['key']}) triangle") for panel in content["panels"])


def test_curves_count_the_runs_that_ended_badly(tmp_path):
    bad, cut = make_run("bcfw", seed=1, status="diverged"), make_run("bcfw", seed=2, status="time_limit")
    bad.loc[bad["passes"] > 20, ["primal", "gap"]] = np.nan
    chart = Chart([Panel("a", "", "ocr", 0.01, measure="gap")])
    frame = chart.data(concat(make_run("bcfw"), bad, cut, make_run("fw")))
    figure_files.write(tmp_path / "fig", {".csv": frame.to_csv(index=False).encode()}, {})
    found = figures.Drawn(FIGURES.find("quickstart"), tmp_path / "fig", "full", json.loads((tmp_path / "fig.json").read_text()))
    (panel,) = pages._finite(figures.curves(found))["panels"]
    counts = {curve["name"]: tuple(curve[name] for name in ("runs", "diverged", "stopped")) for curve in panel["curves"]}
    assert counts == {"bcfw": (3, 1, 1), "fw": (1, 0, 0)}
    (curve,) = (curve for curve in panel["curves"] if curve["name"] == "bcfw")
    assert curve["worst"][-1] is None  # the page draws it at the top of the axis
    assert curve["best"][-1] is not None


def test_a_path_runs_to_smaller_lam(report):
    content = json.loads(re.search(r'id="data-icml2016-fig8">(.*?)</script>', (report / "icml2016.html").read_text())[1])
    assert all(panel["x"][0] == "log" and panel["x"][1] > panel["x"][2] for panel in content["panels"])


def test_pages_can_be_used_by_key_and_by_voice(parsed):
    for page in parsed.values():
        assert page.all("html") == [{"lang": "en"}]
        assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.all("meta")
        assert page.all("a")[0] == {"href": "#content", "class": "skip"}
        assert len(page.all("h1")) == 1
        regions = [attributes for attributes in page.all("div") if attributes.get("class") == "wide"]
        assert all(attributes["tabindex"] == "0" and attributes["aria-label"] for attributes in regions)


def test_equal_stores_give_equal_reports(report):
    before = {path: path.read_bytes() for path in report.rglob("*") if path.is_file()}
    building.build(report.parent)
    assert {path: path.read_bytes() for path in report.rglob("*") if path.is_file()} == before


def test_colours_have_contrast(report):
    css = (report / "report.css").read_text()
    light, dark = (dict(re.findall(r"--(\w+): (#\w{6})", block)) for block in re.findall(r":root \{(.*?)\}", css, re.DOTALL))
    for colors in (light, dark):
        for front in ("ink", "dim", "link"):
            for back in ("page", "shade"):
                assert contrast(colors[front], colors[back]) >= 4.5, (front, back)
        for k in range(len(VERDICTS)):
            assert contrast(colors[f"v{k}"], colors[f"v{k}b"]) >= 4.5, k


def contrast(one, other):
    """Contrast of two colours as WCAG 2 defines it."""
    light = []
    for color in (one, other):
        parts = np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        light.append(linear @ [0.2126, 0.7152, 0.0722])
    return (max(light) + 0.05) / (min(light) + 0.05)


def test_text_of_configurations_and_data_is_escaped(tmp_path):
    config = {"dataset": {"name": EVIL}, "solver": {"name": EVIL}, "lam": EVIL, "seed": 0}
    run = StoredRun(tmp_path, EVIL, EVIL, config, {"passes": 1.0})
    page = runs.script(EVIL, runs.tables([run], pd.DataFrame(), {}, []))
    assert json.loads(re.fullmatch(r"report.take\((.*)\);\n", page)[1].partition(", ")[0]) == EVIL  # scripts make texts of it
    page = ""
    record = dict.fromkeys(("id", "statement", "place", "criterion", "why"), EVIL) | {
        "verdict": "fails",
        "runs": [EVIL],
        "missing": 0,
        "changed": EVIL,
        "stand_ins": {EVIL: False},
    }
    page += pages.part(
        "claim", record | {"numbers": {EVIL: EVIL}, "sensitivity": {EVIL: {EVIL: {"verdict": "fails", "parts": {EVIL: False}}}}}
    )
    page += pages.part("texts", EVIL, [EVIL], [[EVIL]])
    page += pages.part("content", {"id": "x", "title": EVIL, "described": EVIL, "table": None, "curves": {"a": EVIL}})
    assert page.count("alert") > 15
    assert 'alert("' not in page
    assert "<b>" not in page


def test_a_table_is_a_table(tmp_path):
    figure = FIGURES.find("icml2013/table1")
    stem = tmp_path / "table1"
    figure_files.write(stem, {".md": b"| a | b\\|c |\n| --- | ---: |\n| <1 | \\*2 |\n\n**Some** words.\n"}, {})
    found = figures.Drawn(figure, stem, "full", json.loads(stem.with_suffix(".json").read_text()))
    page = Page(pages.part("content", {"title": "T", "curves": None, "table": pages._markdown(found)}))
    assert page.words.split() == ["ab|c", "<1*2", "Some", "words."]
    assert [tag for tag, _ in page.elements].count("th") == 2


def test_numbers_that_json_lacks_are_null():
    curves = pages._finite({"x": [np.inf, np.nan, 1 / 3]})
    assert '{"x":[null,null,0.33333]}</script>' in pages.part(
        "content", {"id": "x", "title": "T", "described": "D", "table": None, "curves": curves}
    )


def test_what_is_not_drawn_here_is_shown_as_it_was_published(store, tmp_path):
    published = Path(__file__).parents[2] / "results/published"
    shutil.copytree(published, tmp_path / "published")
    shutil.copytree(store / "figures/review", tmp_path / "figures/review")
    found = {each.figure.name: each for each in figures.drawn(tmp_path)}
    assert {found[name].preset for name in ("icml2013/fig1", "icml2013/table1", "quickstart")} == {figures.PUBLISHED}
    assert (found["review/fig1"].preset, found["review/fig1"].has_curves) == ("full", True)
    shown = pages.paper("icml2013", [found["icml2013/fig1"], found["icml2013/table1"]], {})
    for figure in shown["figures"]:
        assert figure["curves"] is None
        assert all((tmp_path / "report" / f"{figure['file']}{suffix}").resolve().is_file() for suffix in figure["suffixes"])
    page = Page(pages.render("icml2013", {"icml2013": shown}, **shown))
    assert page.words.count("As published with the code, from all of its runs; this store has not drawn it.") == 2
    review = pages.paper("review", [found["review/fig1"]], {})
    first = overview.index({"icml2013": shown, "review": review}, {}, load_results(tmp_path), [])
    words = Page(pages.render("index", {"icml2013": shown, "review": review}, **first)).words
    assert "1 of 3 figures drawn" in words
    assert "2 figures are shown as published with the code" in words
    (tmp_path / "published/figures/icml2013/fig1.png").write_bytes(b"")
    assert next(each for each in figures.drawn(tmp_path) if each.figure.name == "icml2013/fig1").stem is None


def test_a_damaged_figure_counts_as_not_drawn(store, tmp_path):
    (tmp_path / "figures").mkdir()
    for suffix, text in ((".png", ""), (".svg", ""), (".csv", ""), (".json", "{")):
        (tmp_path / f"figures/quickstart{suffix}").write_text(text)
    assert not any(each.stem for each in figures.drawn(tmp_path))
    assert sum(each.stem is not None for each in figures.drawn(store)) == len(NAMES)


def test_a_figure_says_whether_it_is_reproduced():
    for name, paper, verdicts, answer, names_them in [
        ("icml2013/fig1", "B13", (), "Not judged by itself", False),
        ("icml2013/fig1", "B13", ("holds", "holds"), "Reproduced</strong>: ", True),
        ("icml2013/fig1", "B13", ("holds", "fails"), "Reproduced in part", True),
        ("icml2013/fig1", "B13", ("undecided",), "Not decided", True),
        ("icml2013/fig1", "B13", ("undecided", "not reached"), "Not reached within these runs", True),
        ("icml2013/fig1", "B13", ("holds", "not reached"), "Reproduced in part", True),
        ("icml2013/fig1", "B13", ("fails", "undecided"), "Not reproduced", True),
        ("icml2013/fig1", "L", ("holds",), "Not judged by itself", False),  # another paper's
        ("review/fig1", "R", ("holds", "fails"), "shows no picture; ours bears its words out in part", True),
        ("review/fig1", "R", ("fails",), "bears its words out nowhere", True),
        ("icml2016/auto", "G16", ("holds",), "Ours: no figure of a paper.", False),
    ]:
        found = figures.Drawn(FIGURES.find(name), Path("somewhere"), "full", {})
        records = {f"{paper}-{k}": {"id": f"{paper}-{k}", "verdict": v, "paper": paper} for k, v in enumerate(verdicts)}
        state = pages.part("state", pages._state(found, records, {}))
        assert answer in state
        assert all((id in state) == names_them for id in records)
    looking = {"G16-1": {"id": "G16-1", "verdict": "holds in part", "paper": "G16"}}
    found = figures.Drawn(FIGURES.find("icml2016/fig3"), Path("somewhere"), "full", {})
    assert re.search("Not judged by itself.*G16-1.*holds in part", pages.part("state", pages._state(found, {}, looking)))


def test_claims_bear_on_the_figures_whose_runs_they_look_at():
    everything = {id: {} for id in ("B13-5", "B13-1", "L-4")}
    assert set(pages._bearing(FIGURES.find("icml2013/fig4"), everything)) == {"B13-5"}
    assert "L-4" in pages._bearing(FIGURES.find("icml2013/fig1"), everything)


def test_without_plotly_it_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(building, "find_spec", lambda _: None)
    with pytest.raises(OptionError, match="needs plotly, which is not installed"):
        building.build(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("argument", ["icml2013", "--open", "seed=1", "results_dir="])
def test_what_is_wrong_is_one_line(argument, capsys):
    assert main(["report", argument]) == 2
    assert capsys.readouterr().err.count("\n") == 1


NOTHING = {"stand_ins": {}, "changed": "", "numbers": {}, "sensitivity": {}, "runs": [], "missing": 0}


def test_a_claim_shows_the_sentence_the_criterion_and_the_thresholds():
    claim = all_claims()["B13-9"]
    record = {"id": "B13-9", "verdict": "fails", "statement": "S.", "place": claim.place, "criterion": claim.criterion, "why": "W"}
    page = Page(
        pages.part(
            "claim",
            record
            | NOTHING
            | {"sensitivity": {"factor": {"1.5": {"verdict": "holds", "parts": {}}, "2": {"verdict": "fails", "parts": {}}}}},
        )
    )
    assert f"In the paper: {claim.place}" in page.words
    assert f"Criterion: {claim.criterion}" in page.words
    assert "factor1.5 holds, 2 (chosen) fails" in page.words


def test_open_claims_stand_apart_from_those_that_do_not_hold():
    verdicts = {"R-1": "fails", "R-2": "not reached", "R-3": "undecided", "R-4": "holds in part", "R-6": "holds"}
    records = {id: {"id": id, "paper": "R", "verdict": v, "statement": "S.", "why": "", "runs": []} for id, v in verdicts.items()}
    page = pages.render("index", {}, **overview.index({}, records, pd.DataFrame(), []))
    fallen, still_open = page.partition('id="fallen"')[2].partition('id="figures"')[0].split('id="open"')
    assert re.findall("#(R-.)", fallen) == ["R-1", "R-4"]
    assert re.findall("#(R-.)", still_open) == ["R-2", "R-3"]


def test_findings_are_measured():
    """The smallest gap that both certify, and how many passes each took to it."""
    gaps = {"fw": (1.0, 0.8, 0.5), "bcfw": (1.0, 0.5, 0.1)}
    passes = {"fw": (0.0, 10.0, 30.0), "bcfw": (0.0, 2.0, 8.0)}
    runs = concat(*(make_run(name, 0.01).iloc[:3].assign(primal=gaps[name], dual=0.0, passes=passes[name]) for name in gaps))
    found = overview.findings(comparison.comparable(runs), {})
    assert [(finding["method"], finding["problems"]) for finding in found] == [("BCFW", 1), ("BCPFW + gap + cache", 0), ("auto", 0)]
    assert (found[0]["factor"], found[0]["unit"], found[0]["better"]) == ("15", "fewer passes", 1)
    slower = comparison.comparable(runs.assign(passes=runs["passes"].where(runs["solver"] != "bcfw", 40 * runs["passes"])))
    assert (overview.findings(slower, {})[0]["factor"], overview.findings(slower, {})[0]["unit"]) == ("2.7", "more passes")
    page = pages.render("index", {}, **overview.index({}, {}, comparison.comparable(runs), []))
    assert "15&times;<span> fewer passes" in page
    assert page.count('<p class="number none">Not measured yet') == 2  # in smaller letters than a number
    assert "<code>fwexp figure icml2016/fig5</code>" in page


def test_each_run_is_in_the_table_and_has_its_trace(store, data):
    index = data["runs"]
    rows = [dict(zip(index["cells"], row, strict=True)) for row in index["rows"]]
    assert [(row["method"], row["seed"], row["place"]) for row in rows] == [
        ("bcfw", 0, "digits"),
        ("bcfw", 1, "digits"),
        ("fw", 0, "digits"),
    ]
    results = load_results(store)
    for row in rows:
        run, trace = data["data-digits"][row["key"]], results[results["key"].str.startswith(row["key"])]
        last = trace[trace["iterate"] == "last"]
        shown = run["traces"][row["method"]]
        assert [shown[name][-1] for name in ("passes", "primal", "gap")] == pytest.approx(
            list(last[["passes", "primal", "gap"]].iloc[-1]), 1e-3
        )
        assert all(len(values) == len(shown["passes"]) <= runs.POINTS for values in shown.values())
        assert run["n"] == pytest.approx(last["oracle_calls"].iloc[-1] / last["passes"].iloc[-1])
        assert index["environments"][run["environment"]].startswith("commit ")
        assert "name: digits" in run["config"]


def test_a_run_names_what_uses_it_and_tells_itself_from_those_alike(tmp_path):
    solver = {"name": "bcfw", "sampling": "uniform"}
    configs = [{"dataset": {"name": "digits"}, "solver": solver, "lam": 0.1, "seed": 0, "max_passes": k} for k in (1, 2)]
    stored = [
        StoredRun(tmp_path, key * 64, "max_passes", config, {"gap": np.inf}) for key, config in zip("ab", configs, strict=True)
    ]
    stored.append(StoredRun(tmp_path, "c" * 64, "damaged", {}, {}, "cut", ("digits", "bcfw")))
    claim = {"runs": ["a" * 64], "page": "review", "verdict": "holds", "statement": "S."}
    index = runs.tables(stored, pd.DataFrame(), {"R-1": claim}, [])["runs"]
    rows = {row["key"][0]: row for row in (dict(zip(index["cells"], row, strict=True)) for row in index["rows"])}
    assert [rows[key]["options"] for key in "abc"] == ["max_passes=1", "max_passes=2", ""]
    assert [rows[key]["claims"] for key in "abc"] == [["R-1"], [], []]
    assert (rows["a"]["gap"], rows["c"]["status"]) == (None, "damaged")


def test_a_repetition_that_did_not_finish_leaves_the_run_as_it_was(store, data, tmp_path, monkeypatch):
    monkeypatch.setattr(building, "all_claims", dict)
    shutil.copytree(store / "runs", tmp_path / "runs")
    run = find_runs(tmp_path)[0]
    interrupted(run)
    save_failure(ValueError("too bad"), run.config, tmp_path)
    assert len(find_runs(tmp_path, include=("partial", "failed"))) == len(data["runs"]["rows"]) + 2
    building.build(tmp_path)
    again = data_of(tmp_path / "report")
    assert again["runs"]["rows"] == data["runs"]["rows"]
    assert again["data-digits"] == data["data-digits"]
    shutil.rmtree(run.path)
    building.build(tmp_path)
    again = data_of(tmp_path / "report")
    statuses = {row[0]: row[1] for row in again["runs"]["rows"]}
    assert len(again["runs"]["rows"]) == len(statuses) == len(data["runs"]["rows"])
    assert statuses[run.key[: runs.DIGITS]] == "interrupted"
    assert again["data-digits"][run.key[: runs.DIGITS]]["error"] is None


def test_runs_on_changed_data_are_on_another_problem(tmp_path):
    solver = {"name": "bcfw", "sampling": "uniform"}
    stored = [
        StoredRun(
            tmp_path,
            digest * 64,
            "max_passes",
            {"dataset": {"name": "digits"}, "solver": solver, "lam": 0.1, "seed": seed},
            {"data": {"letters": digest * 64}, "lam": 0.1},
        )
        for seed, digest in enumerate("ab")
    ]
    index = runs.tables(stored, pd.DataFrame(), {}, [])["runs"]
    places = {row[index["cells"].index("place")] for row in index["rows"]}
    assert places == {f"digits, data {run.content}" for run in stored}
    heads = pd.DataFrame([run.columns() for run in stored]).assign(dual=[1.0, 2.0])
    assert comparison.comparable(heads)["highest"].tolist() == [1.0, 2.0]


def test_what_people_drew_themselves_is_marked(parsed, report):
    assert "Profiles of mine yours" in " ".join(parsed["yours"].words.split())
    assert "yours" not in parsed["review"].words
    assert (report / "thumbnails/compare-bcfw-fw.webp").is_file()


if BROWSER:  # elsewhere the pages are read, not run

    def seen(report, link):
        """Return the page as a browser makes it, and what its scripts complain of."""
        command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=2000"]
        done = subprocess.run([*command, "--dump-dom", f"file://{report}/{link}"], capture_output=True, text=True, timeout=60)
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    def test_pages_with_scripts_show_what_their_links_say(report, data):
        key = data["runs"]["rows"][0][0]
        for link, shown in {
            "runs.html#method=bcfw&sort=-gap": ["2 of 3 runs.", 'aria-sort="descending"'],
            f"run.html#{key}": ["BCFW on digits</h1>", "above its minimum", f"fwexp ls key={key}", "duality gap against passes"],
            "run.html#nothing": ["No run has the key nothing"],
            "review.html": ["(a) triangle", "Horizontal axis"],
        }.items():
            page, complaints = seen(report, link)
            assert complaints == []
            assert [words for words in shown if words not in page] == []

    def test_a_run_without_a_trace_has_a_page(store, tmp_path, monkeypatch):
        monkeypatch.setattr(building, "all_claims", dict)
        shutil.copytree(store / "runs", tmp_path / "runs")
        for run in find_runs(tmp_path):
            interrupted(run)
            shutil.rmtree(run.path)
        building.build(tmp_path)
        page, complaints = seen(tmp_path / "report", f"run.html#{run.key[:12]}")
        assert complaints == []
        assert "interrupted: Ctrl-C" in page
        assert "<h2>Trace</h2>" not in page


def test_a_figure_says_what_holds_on_its_own_data():
    record = {
        "id": "G16-1",
        "verdict": "holds in part",
        "why": "holds: OCR-large, passes. does not hold: Weizmann horses, passes",
        "paper": "G16",
        "parts": {"OCR-large, passes": True, "Weizmann horses, passes": False, "OCR-small, time": None, "at all": False},
        "stand_ins": {},
    }
    on = pages._on(("OCR-large", "OCR-small"), record)
    assert (on["verdict"], on["why"]) == ("holds in part", "holds: OCR-large, passes. is not measured: OCR-small, time")
    assert pages._on(("Weizmann horses",), record)["verdict"] == "fails"
    assert pages._on((), record) is record
    assert pages._on(("CoNLL",), record) is record
    named = {part for place in DATA_SETTINGS for part in record["parts"] if place in part}
    assert named == {*record["parts"]} - {"at all"}
    for name, state, said in [
        ("icml2016/fig5", "Reproduced in part", "On OCR-large, CoNLL, OCR-small alone:"),
        ("icml2016/fig6", "Not reproduced", "Weizmann horses, synth. LSP alone:"),
    ]:
        found = figures.Drawn(FIGURES.find(name), None, "full", {"runs": {}})
        page = pages.part(
            "figure", pages.shown(found, {"G16-1": record | dict.fromkeys(("statement", "place", "criterion"), "") | NOTHING})
        )
        assert said in page
        here = pages._bearing(found.figure, {"G16-1": record})
        assert state in pages._state(figures.Drawn(found.figure, Path("somewhere"), "full", {}), here, {}).answer


@pytest.mark.parametrize("note", ["runs of bcfw mix sources", "runs of bcfw were made by another version of the code"])
def test_a_reservation_about_the_code_is_explained(note):
    found = figures.Drawn(FIGURES.find("icml2016/fig1"), None, "full", {"note": note, "runs": {}})
    assert f"{note}. Sources are the code" in pages.part("figure", pages.shown(found, {}))
