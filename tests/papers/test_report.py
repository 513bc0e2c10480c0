import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest

from fwexp.cli import main
from fwexp.driver.progress import counted
from fwexp.errors import MissingPackage
from fwexp.experiments import FIGURES
from fwexp.papers import figure_files
from fwexp.papers.claims import all_claims
from fwexp.papers.declarations import papers_by_id
from fwexp.papers.figure_files import save_figure
from fwexp.papers.origin import Origin
from fwexp.papers.report import build as building
from fwexp.papers.report import charts, figures, pages, run_pages
from fwexp.plots import style
from fwexp.plots.curves import Chart, Panel
from fwexp.plots.icml2016 import DATA_SETTINGS
from fwexp.run import from_arguments
from fwexp.store import records
from fwexp.store.results import find_runs, load_results
from fwexp.store.run_store import StoredRun, save_failure
from tests.papers.drawn_store import picture
from tests.plots.synthetic_results import concat, make_results, make_run

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("computed_as_published")]  # pages of all claims are built

BROWSER = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
PUBLISHED = Path(__file__).parents[2] / "results/published"
TOOLS = {"index", "runs"}

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
def store(tmp_path_factory, computed_as_published):
    """Return a store with four short runs, and with the files of three figures (other pictures than theirs)."""
    folder = tmp_path_factory.mktemp("results")
    sweep_of_runs = ["run", "-m", "dataset=digits", "solver=bcfw,fw", "lam=0.1", "seed=0,1", "max_passes=4"]
    assert main([*sweep_of_runs, "hydra/launcher=basic", f"results_dir={folder}"]) == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figure_files, "_drawn", lambda *_: [picture(), b"svg"])
        for name in NAMES:
            figure = FIGURES.find(name)
            frame = figure.data(make_results(from_arguments.expand([f"+experiment={name}"], preset="smoke")))
            save_figure(figure.draw(frame), frame, folder / "figures" / name, Origin(name, figure.title, "full"))
        save_figure(figure.draw(frame), frame, folder / "figures/compare/bcfw-fw", Origin("compare/bcfw-fw", "Profiles of mine"))
    return folder


@pytest.fixture(scope="module")
def report(store):
    """Return the folder of a report."""
    with mock.patch("fwexp.papers.report.build.counted", wraps=counted) as counts:
        assert building.build(store, verbose=True) == store / "report" / "index.html"
    assert [len(call.args[0]) for call in counts.call_args_list] == [3]
    return store / "report"


@pytest.fixture(scope="module")
def parsed(report):
    return {path.relative_to(report).with_suffix("").as_posix(): Page(path.read_text()) for path in report.rglob("*.html")}


def record_of(id, verdict, **more):
    """Return the record of a claim."""
    texts = {"statement": "S.", "place": "P", "criterion": "C", "why": "", "changed": "", "kind": "theorem or identity"}
    nothing = {name: {} for name in ("parts", "stand_ins", "numbers", "sensitivity", "confirmation")}
    return {"id": id, "paper": id.partition("-")[0], "verdict": verdict, "runs": [], "missing": 0} | texts | nothing | more


def part(name, *values):
    """Return the text of a macro for some values."""
    return str(getattr(pages.environment().get_template("parts.html").module, name)(*values))


def charted(path):
    """Return the data and the layout of the charts of a page, by id."""
    found = re.findall(r'Plotly\.newPlot\(\s*"(.*?)",\s*(\[.*?\]),\s*(\{.*?\}),\s*\{"displaylogo"', path.read_text(), re.DOTALL)
    return {id: (json.loads(data), json.loads(layout)) for id, data, layout in found}


def interrupted(run):
    """Store what a run would have left if it had been interrupted, next to it."""
    partial = shutil.copytree(run.path, run.path.with_name(f"{run.key}.partial"))
    records.write(partial / "run.json", run.record | {"status": "interrupted", "gap": 9.0, "reason": "Ctrl-C"})


def test_there_is_a_page_for_each_paper_and_one_for_the_rest(parsed):
    top = {name for name in parsed if "/" not in name}
    assert top == TOOLS | {"icml2013", "icml2016", "later", "lecture", "review", "others", "yours"}
    assert len(parsed) == len(top) + 3  # a page per run


def test_nothing_is_asked_of_the_network_and_no_link_is_broken(report, parsed):
    for name, page in parsed.items():
        ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
        assert len(ids) == sum("id" in attributes for _, attributes in page.elements)
        here = (report / f"{name}.html").parent
        for _, attributes in page.elements:
            for target in (attributes.get("href"), attributes.get("src")):
                if not target or target == "data:,":
                    continue
                assert "//" not in target
                file, _, anchor = target.partition("#")
                path = (here / file).resolve() if file else report / f"{name}.html"
                assert path.is_file(), target
                if path.name == "runs.html" or not anchor:
                    continue  # what the table shows
                other = parsed[path.relative_to(report.resolve()).with_suffix("").as_posix()]
                assert any(attributes.get("id") == anchor for _, attributes in other.elements), target
    for path in (report / "report.css", report / "runs.js"):
        assert not re.search(r"https?:|fetch\(|XMLHttp|url\(", path.read_text())
    assert "sendChartToCloud" in charts.CONFIG["modeBarButtonsToRemove"]
    assert 'name:"sendChartToCloud"' in (report / "plotly.min.js").read_text()  # else it has another name now


def test_every_figure_and_every_claim_is_there(parsed):
    everywhere = {attributes["id"] for page in parsed.values() for _, attributes in page.elements if "id" in attributes}
    FIGURES.load_all()
    assert everywhere >= {name.replace("/", "-") for name in FIGURES}
    for id, claim in all_claims().items():
        words = parsed[papers_by_id()[claim.paper].name].words
        assert id in everywhere
        assert f"In the paper: {claim.place}" in words
        assert f"Criterion: {claim.criterion}" in words
    assert "factor1.25 " in parsed["icml2013"].words


def test_curves_are_the_numbers_of_the_csv(store, report):
    ((data, layout),) = charted(report / "review.html").values()
    frame = pd.read_csv(store / "figures/review/fig1.csv")
    lines = {(trace["xaxis"][1:], trace["legendgroup"]): trace for trace in data if "fill" not in trace}
    panels = list(dict.fromkeys(frame["panel"].astype(str)))
    numbers = {panel: "" if k == 0 else str(k + 1) for k, panel in enumerate(panels)}
    assert len(lines) == len(frame.groupby(["panel", "variant"]))
    for (panel, variant), rows in frame.groupby(["panel", "variant"]):
        rows, line = rows.sort_values("x"), lines[numbers[str(panel)], variant]
        assert line["name"] == style.line(variant).label
        for name, column in (("x", "x"), ("y", "median")):
            assert line[name] == pytest.approx(rows[column].tolist(), rel=1e-4)
    assert all(f"({key}) triangle" in each["text"] for key, each in zip(panels, layout["annotations"], strict=True))
    values, across = layout["updatemenus"]
    assert [len(menu["buttons"]) for menu in (values, across)] == [3, 4]
    for button in across["buttons"]:
        moved = button["args"][0]["x"]
        assert [len(x) for x in moved] == [len(trace["x"]) for trace in data]


def test_curves_count_the_runs_that_ended_badly():
    bad, cut = make_run("bcfw", seed=1, status="diverged"), make_run("bcfw", seed=2, status="time_limit")
    bad.loc[bad["passes"] > 20, ["primal", "gap"]] = np.nan
    chart = Chart([Panel("a", "", "ocr", 0.01, measure="gap")])
    frame = chart.data(concat(make_run("bcfw"), bad, cut, make_run("fw")))
    page = charts.of_figure("x", frame, {"a": {"y": ["log", 1e-3, 7.0]}})
    data = json.loads(re.search(r'"x",\s*(\[.*?\]),\s*\{"margin', page, re.DOTALL)[1])
    band, line, other = data
    assert "BCFW, 1 of 3 diverged, 1 of 3 stopped early" in line["hovertemplate"]
    assert (band["legendgroup"], other["name"]) == ("bcfw", "FW")
    assert max(band["y"]) == 7.0  # where a run diverged its band goes to the top
    assert len(band["x"]) == len(band["y"]) == 2 * len(line["x"])


def test_a_band_has_no_gap_where_a_position_has_no_best():
    rows = [(k, best, worst) for k, (best, worst) in enumerate([(0.5, 0.9), (np.nan, np.nan), (0.2, np.inf)], 1)]
    frame = pd.DataFrame(rows, columns=["x", "best", "worst"])
    frame = frame.assign(panel="a", variant="bcfw", measure="gap", axis="passes", median=frame["best"], runs=2, passes=frame["x"])
    page = charts.of_figure("x", frame, {})
    band, line = json.loads(re.search(r'"x",\s*(\[.*?\]),\s*\{"margin', page, re.DOTALL)[1])
    assert (band["x"], band["y"]) == ([1, 3, 3, 1], [0.5, 0.2, 0.9, 0.9])  # the worst one is infinite: to the top
    assert line["y"] == [0.5, None, 0.2]


def test_pages_can_be_used_by_key_and_by_voice(parsed):
    for page in parsed.values():
        assert page.all("html") == [{"lang": "en"}]
        assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.all("meta")
        assert page.all("a")[0] == {"href": "#content", "class": "skip"}
        assert len(page.all("h1")) == 1
        regions = [attributes for attributes in page.all("div") if attributes.get("class") == "wide"]
        assert all(attributes["tabindex"] == "0" and attributes["aria-label"] for attributes in regions)
    review = parsed["review"]
    assert all(len(image["alt"]) > 40 for image in review.all("img"))
    assert [tag for k, (tag, _) in enumerate(review.elements) if review.elements[k - 1][0] == "noscript"] == ["img"]
    assert "Not drawn yet" in review.words


def test_equal_stores_give_equal_reports(report):
    before = {path: path.read_bytes() for path in report.rglob("*") if path.is_file()}
    building.build(report.parent)
    assert {path: path.read_bytes() for path in report.rglob("*") if path.is_file()} == before


def test_text_of_configurations_and_data_is_escaped(tmp_path):
    config = {"dataset": {"name": EVIL}, "solver": {"name": EVIL}, "lam": EVIL, "seed": 0}
    run = StoredRun(tmp_path, EVIL, EVIL, config, {"passes": 1.0})
    (row,) = run_pages.pages([run], pd.DataFrame(), {}, [])
    page = pages.render("run.html", EVIL, {}, run=row) + pages.render("runs.html", EVIL, {}, runs=[row])
    page += pages.render("index.html", EVIL, {}, **pages.index({}, [row]))
    record = record_of(EVIL, "fails", runs=[EVIL], stand_ins={EVIL: False}, confirmation={"verdict": "fails", "why": EVIL})
    record |= dict.fromkeys(("statement", "place", "criterion", "why", "changed", "kind"), EVIL) | {"numbers": {EVIL: EVIL}}
    page += part("claim", record | {"sensitivity": {EVIL: {EVIL: {"verdict": "fails", "parts": {EVIL: False}}}}})
    figure = pages.shown(figures.Drawn(FIGURES.find("quickstart")), {}, tmp_path)
    figure |= {"drawn": True} | dict.fromkeys(("title", "described", "name", "note", "caption", "paper", "file", "commit"), EVIL)
    for table in (None, {"head": [EVIL], "rows": [[EVIL]], "words": EVIL}):
        page += part("figure", figure | {"table": table})
    frame = Chart([Panel("a", EVIL, "ocr", 0.01, measure="gap")]).data(concat(make_run("bcfw"), make_run("fw")))
    page += charts.of_figure("x", frame, {"a": {"title": EVIL}})
    assert page.count("alert") > 20
    assert 'alert("' not in page
    assert EVIL.partition("&")[2] not in page.replace("<b>(a)", "")


def test_a_table_is_a_table(tmp_path):
    figure = FIGURES.find("icml2013/table1")
    stem = tmp_path / "table1"
    figure_files.write(stem, {".md": b"| a | b\\|c |\n| --- | ---: |\n| <1 | \\*2 |\n\n**Some** words.\n"}, {})
    found = figures.Drawn(figure, stem, "full", json.loads(stem.with_suffix(".json").read_text()))
    page = Page(part("figure", pages.shown(found, {}, tmp_path)))
    assert " ".join(["ab|c", "<1*2", "Some", "words."]) in " ".join(page.words.split())
    assert [tag for tag, _ in page.elements].count("th") == 2


def test_what_is_not_drawn_here_is_shown_as_it_was_published(store, tmp_path):
    names = ("icml2013/fig1", "icml2013/table1", "quickstart", "review/fig1")
    wanted = [path.relative_to(PUBLISHED) for name in names for path in PUBLISHED.glob(f"figures/{name}.*")]
    for path in wanted:
        (tmp_path / "published" / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PUBLISHED / path, tmp_path / "published" / path)
    shutil.copytree(store / "figures/review", tmp_path / "figures/review")
    found = {each.figure.name: each for each in figures.drawn(tmp_path)}
    assert {found[name].preset for name in names[:3]} == {figures.PUBLISHED}
    assert (found["review/fig1"].preset, found["review/fig1"].has_curves) == ("full", True)
    shown = pages.paper("icml2013", [found["icml2013/fig1"], found["icml2013/table1"]], {}, tmp_path / "report")
    for figure in shown["figures"]:
        assert figure["chart"] is None
        assert all((tmp_path / "report" / f"{figure['file']}{suffix}").resolve().is_file() for suffix in figure["suffixes"])
    page = pages.render("paper.html", "T", {"icml2013": shown}, **shown)
    assert page.count(">published</span>") == 2
    page = Page(page)
    assert page.words.count("As published with the code, from all of its runs; this store has not drawn it.") == 2
    first = pages.render("index.html", "T", {}, **pages.index({"icml2013": shown}, []))
    assert "2 of 2 figures are drawn" in Page(first).words
    (tmp_path / "published/figures/icml2013/fig1.png").write_bytes(b"")
    assert next(each for each in figures.drawn(tmp_path) if each.figure.name == "icml2013/fig1").stem is None


def test_a_figure_says_whether_it_is_reproduced():
    for name, paper, verdicts, answer, names_them in [
        ("icml2013/fig1", "B13", (), "Not judged by itself", False),
        ("icml2013/fig1", "B13", ("holds", "holds"), "Reproduced: ", True),
        ("icml2013/fig1", "B13", ("holds", "fails"), "Reproduced in part", True),
        ("icml2013/fig1", "B13", ("undecided",), "Not decided", True),
        ("icml2013/fig1", "B13", ("undecided", "undecided"), "Not decided", True),
        ("icml2013/fig1", "B13", ("holds where measured", "undecided"), "Reproduced, as far as it was measured", True),
        ("icml2013/fig1", "B13", ("mostly contradicted",), "Reproduced in part", True),
        ("icml2013/fig1", "B13", ("fails", "undecided"), "Not reproduced", True),
        ("icml2013/fig1", "L", ("holds",), "Not judged by itself", False),  # another paper's
        ("review/fig1", "R", ("holds", "fails"), "shows no picture; ours bears its words out in part", True),
        ("review/fig1", "R", ("fails",), "bears its words out nowhere", True),
        ("icml2016/auto", "G16", ("holds",), "Ours: no figure of a paper.", False),
    ]:
        found = figures.Drawn(FIGURES.find(name), Path("somewhere"), "full", {})
        records = {f"{paper}-{k}": record_of(f"{paper}-{k}", verdict) for k, verdict in enumerate(verdicts)}
        state = pages._state(found, records, {})
        assert answer in f"{state.answer}{state.words}"
        assert [record["id"] for record in state.records] == list(records) * names_them
    looking = {"G16-1": record_of("G16-1", "in part")}
    found = figures.Drawn(FIGURES.find("icml2016/fig3"), Path("somewhere"), "full", {})
    state = pages._state(found, {}, looking)
    assert (state.answer, list(state.records)) == ("Not judged by itself", list(looking.values()))


def test_without_plotly_it_is_one_line(monkeypatch, tmp_path):
    for name in ("plotly", "plotly.offline"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackage, match="needs plotly, which is not installed"):
        building.build(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_claims_that_are_contradicted_stand_apart_from_those_that_were_not_measured():
    verdicts = ("fails", "mostly contradicted", "in part", "holds where measured", "undecided", "holds")
    claims = [record_of(f"R-{k}", verdict, parts={"a": verdict == "holds"}) for k, verdict in enumerate(verdicts)]
    papers = {"review": {"figures": [], "claims": claims, "yours": False}}
    page = pages.render("index.html", "T", papers, **pages.index(papers, []))
    listed = {words.partition(":")[0]: re.findall("#(R-.)", words) for words in page.split("<h2>Verdict ")[1:]}
    assert listed == {verdict: [f"R-{k}"] for k, verdict in enumerate(verdicts[:4])}
    assert "<td>theorem or identity</td><td>6</td><td>1 holds, 1 holds where measured, 1 in part" in page
    assert "<td>1 hold, 5 do not, 0 are open</td>" in page


def test_papers_without_runs_and_claims_that_miss_theirs_are_folded():
    drawn = {"drawn": True, "published": False}
    claim = record_of("R-1", "undecided", runs=["a", "b"], missing=2)
    for its_figures, missing, folded in (
        ([], 2, True),
        ([drawn | {"published": True}], 2, True),
        ([drawn], 2, False),
        ([], 1, False),
    ):
        papers = {"review": {"figures": its_figures, "claims": [claim | {"missing": missing}], "yours": False}}
        page = pages.render("index.html", "T", papers, **pages.index(papers, []))
        assert ("<h2>" in page.partition("<summary>Papers and figures without runs in this store</summary>")[2]) == folded
    shown = pages.paper("review", [], {"R-1": claim}, Path())
    page = pages.render("paper.html", "T", papers, **shown)
    assert 'id="R-1"' in page.partition("<summary>Claims whose runs are missing</summary>")[2]


def test_each_run_is_in_the_table_and_has_a_page_with_its_trace(store, report, parsed):
    results = load_results(store)
    keys = re.findall(r'<a href="runs/(.*?)\.html">', (report / "runs.html").read_text())
    assert sorted(keys) == sorted(key[: run_pages.DIGITS] for key in results["key"].unique())
    assert "digitsBCFW: 2, FW: 1" in parsed["index"].words.replace("\n", "")
    for key in keys:
        trace = results[results["key"].str.startswith(key) & (results["iterate"] == "last")]
        ((data, _),) = charted(report / f"runs/{key}.html").values()
        gap = next(line for line in data if line["name"].startswith("duality gap, ") and "wavg" not in line["name"])
        assert [gap["x"][-1], gap["y"][-1]] == pytest.approx(list(trace[["passes", "gap"]].iloc[-1]), 1e-3)
        assert len(gap["x"]) <= run_pages.POINTS
        assert next(line["visible"] for line in data if line["name"].startswith("primal objective")) == "legendonly"
        words = parsed[f"runs/{key}"].words
        assert "commit " in words
        assert "name: digits" in words
        assert f"fwexp ls key={key}" in words


def test_a_run_names_what_uses_it_and_tells_itself_from_those_alike(tmp_path):
    solver = {"name": "bcfw", "sampling": "uniform"}
    configs = [{"dataset": {"name": "digits"}, "solver": solver, "lam": 0.1, "seed": 0, "max_passes": k} for k in (1, 2)]
    stored = [
        StoredRun(tmp_path, key * 64, "max_passes", config, {"gap": np.inf}) for key, config in zip("ab", configs, strict=True)
    ]
    stored.append(StoredRun(tmp_path, "c" * 64, "damaged", {}, {}, "cut", ("digits", "bcfw")))
    claim = {"runs": ["a" * 64], "page": "review", "verdict": "holds", "statement": "S."}
    rows = {row["key"][0]: row for row in run_pages.pages(stored, pd.DataFrame(), {"R-1": claim}, [])}
    assert [rows[key]["options"] for key in "abc"] == ["max_passes=1", "max_passes=2", ""]
    assert [rows[key]["used_by"] for key in "abc"] == [[("review", "R-1", "R-1", "holds: S.")], [], []]
    assert (rows["a"]["gap"], rows["c"]["status"]) == (None, "damaged")
    unknown = {"provenance": dict.fromkeys(("versions", "git", "cpu", "python")), "oracle_calls": 1e18, "passes": 5e-324}
    (row,) = run_pages.pages([replace(stored[0], record=unknown)], pd.DataFrame(), {}, [])
    assert row["facts"]["with"] == "commit unknown"


def test_a_repetition_that_did_not_finish_leaves_the_run_as_it_was(store, report, tmp_path, monkeypatch):
    monkeypatch.setattr(building, "all_claims", dict)
    shutil.copytree(store / "runs", tmp_path / "runs")
    run = find_runs(tmp_path)[0]
    building.build(tmp_path)
    page = tmp_path / "report/runs" / f"{run.key[: run_pages.DIGITS]}.html"
    before = page.read_text()
    interrupted(run)
    save_failure(ValueError("too bad"), run.config, tmp_path)
    assert len(find_runs(tmp_path, include=("partial", "failed"))) == 5
    building.build(tmp_path)
    assert page.read_text() == before
    shutil.rmtree(run.path)
    building.build(tmp_path)
    assert len([*page.parent.iterdir()]) == 3
    assert "interrupted: Ctrl-C" in page.read_text()
    assert "too bad" not in page.read_text()


if BROWSER:  # elsewhere the pages are read, not run

    def seen(report, link):
        """Return the page as a browser makes it, and what its scripts complain of."""
        command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=2000"]
        done = subprocess.run([*command, "--dump-dom", f"file://{report}/{link}"], capture_output=True, text=True, timeout=60)
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    def test_pages_with_scripts_show_what_their_links_say(report):
        key = next((report / "runs").iterdir()).stem
        for link, shown in {
            "runs.html#bcfw": ["2 of 3 runs."],
            f"runs/{key}.html": ["above its minimum", "plot-container"],
            "review.html": ["(a) triangle", "against passes"],
        }.items():
            page, complaints = seen(report, link)
            assert complaints == []
            assert [words for words in shown if words not in page] == []


def test_a_figure_says_what_holds_on_its_own_data():
    parts = {"OCR-large, passes": True, "Weizmann horses, passes": False, "OCR-small, time": None, "at all": False}
    record = record_of("G16-1", "in part", why="holds: OCR-large, passes. does not hold: Weizmann horses, passes", parts=parts)
    on = pages._on(("OCR-large", "OCR-small"), record)
    assert (on["verdict"], on["why"]) == (
        "holds where measured",
        "holds: OCR-large, passes. is not told by these runs: OCR-small, time",
    )
    assert pages._on(("Weizmann horses",), record)["verdict"] == "fails"
    assert pages._on((), record) is record
    assert pages._on(("CoNLL",), record) is record
    named = {part for place in DATA_SETTINGS for part in record["parts"] if place in part}
    assert named == {*record["parts"]} - {"at all"}
    for name, state, said in [
        ("icml2016/fig5", "Reproduced, as far as it was measured", "On OCR-large, CoNLL, OCR-small alone:"),
        ("icml2016/fig6", "Not reproduced", "Weizmann horses, synth. LSP alone:"),
    ]:
        found = figures.Drawn(FIGURES.find(name), None, "full", {"runs": {}})
        assert said in part("figure", pages.shown(found, {"G16-1": record}, Path()))
        here = pages._bearing(found.figure, {"G16-1": record})
        assert state in pages._state(figures.Drawn(found.figure, Path("somewhere"), "full", {}), here, {}).answer


def test_what_people_drew_themselves_is_marked(parsed, report, store, tmp_path):
    shutil.copytree(store / "figures/compare", tmp_path / "figures/compare")
    for first, second in ((store, tmp_path), (tmp_path, store)):
        assert [drawing.stem for drawing in figures.compared(first, second)] == [first / "figures/compare/bcfw-fw"]
    assert "Profiles of mine yours" in " ".join(parsed["yours"].words.split())
    assert "yours" not in parsed["review"].words
    assert (report / "figures/compare-bcfw-fw.webp").is_file()
