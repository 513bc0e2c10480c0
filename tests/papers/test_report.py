import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fwexp.cli import main
from fwexp.errors import OptionError
from fwexp.experiments import FIGURES
from fwexp.papers import files
from fwexp.papers.claims import VERDICTS, all_claims
from fwexp.papers.figure import save_figure
from fwexp.papers.origin import Origin
from fwexp.papers.report import build as building
from fwexp.papers.report import figures, pages
from fwexp.plots import style
from fwexp.plots.icml2016 import PLACES
from fwexp.run import sweep
from fwexp.store.runs import StoredRun
from tests.plots.synthetic_results import make_results

pytestmark = pytest.mark.slow  # pages of all claims are built

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
def store_with_figures(tmp_path_factory):
    """A store without runs, but with the files of three figures (empty pictures)."""
    folder = tmp_path_factory.mktemp("results")
    patch = pytest.MonkeyPatch()
    patch.setattr(files, "_drawn", lambda *_: [b"png", b"svg"])
    for name in NAMES:
        figure = FIGURES.find(name)
        frame = figure.data(make_results(sweep.expand([f"+experiment={name}"], preset="smoke")))
        save_figure(figure.draw(frame), frame, folder / "figures" / name, Origin(name, figure.title, "full"))
    patch.undo()
    return folder


@pytest.fixture(scope="module")
def report(store_with_figures):
    """The folder of a report."""
    assert building.build(store_with_figures) == store_with_figures / "report" / "index.html"
    return store_with_figures / "report"


@pytest.fixture(scope="module")
def parsed(report):
    return {path.stem: Page(path.read_text()) for path in report.glob("*.html")}


def test_there_is_a_page_for_each_paper_and_one_for_the_rest(parsed):
    assert set(parsed) == {"index", "icml2013", "icml2016", "lecture", "review", "others"}


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
                assert not anchor or any(attributes.get("id") == anchor for _, attributes in other.elements), target
    assert not re.search(r"https?:|//[a-z]", (report / "report.css").read_text())
    script = (report / "report.js").read_text()
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


def test_curves_are_the_numbers_of_the_csv(report, parsed):
    content = json.loads(re.search(r'id="data-review-fig1">(.*?)</script>', (report / "review.html").read_text())[1])
    frame = pd.read_csv(report / "figures/review-fig1.csv")
    shown = {(panel["key"], curve["name"]): curve for panel in content["panels"] for curve in panel["curves"]}
    assert set(shown) == set(zip(frame["panel"], frame["variant"], strict=True))
    for (panel, variant), curve in shown.items():
        rows = frame[(frame["panel"] == panel) & (frame["variant"] == variant)].sort_values("x")
        for name in ("x", "median", "best", "worst", "passes", "calls", "seconds"):
            assert curve[name] == pytest.approx(rows[name].tolist(), rel=1e-5)
    assert {method["label"] for method in content["methods"]} == {style.line(name).label for name in frame["variant"]}
    assert all(panel["title"].startswith(f"({panel['key']}) triangle") for panel in content["panels"])


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


@pytest.mark.slow
def test_equal_stores_give_equal_reports(report):
    before = {path.name: path.read_bytes() for path in report.iterdir() if path.is_file()}
    building.build(report.parent)
    assert {path.name: path.read_bytes() for path in report.iterdir() if path.is_file()} == before


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
    page = pages.render("index", [EVIL], **pages.index({}, {}, [run], {"rows": (), "lacking": EVIL}))
    record = dict.fromkeys(("id", "statement", "quote", "criterion", "why"), EVIL) | {
        "verdict": "fails",
        "runs": [EVIL],
        "missing": 0,
    }
    page += pages.part("claim", record | {"numbers": {EVIL: EVIL}, "sensitivity": {EVIL: {EVIL: "fails"}}})
    page += pages.part("texts", EVIL, [EVIL], [[EVIL]])
    page += pages.part("content", {"id": "x", "title": EVIL, "described": EVIL, "table": None, "curves": {"a": EVIL}})
    assert page.count("alert") > 15
    assert 'alert("' not in page
    assert "<b>" not in page


def test_a_table_is_a_table(tmp_path):
    figure = FIGURES.find("icml2013/table1")
    stem = tmp_path / "table1"
    files.write(stem, {".md": b"| a | b\\|c |\n| --- | ---: |\n| <1 | \\*2 |\n\n**Some** words.\n"}, {})
    found = figures.Drawn(figure, stem, "full", json.loads(stem.with_suffix(".json").read_text()))
    page = Page(pages.part("content", {"title": "T", "curves": None, "table": pages._markdown(found)}))
    assert page.words.split() == ["ab|c", "<1*2", "Some", "words."]
    assert [tag for tag, _ in page.elements].count("th") == 2


def test_numbers_that_json_lacks_are_null():
    curves = pages._finite({"x": [np.inf, np.nan, 1 / 3]})
    assert '{"x":[null,null,0.333333]}</script>' in pages.part(
        "content", {"id": "x", "title": "T", "described": "D", "table": None, "curves": curves}
    )


def test_a_damaged_figure_counts_as_not_drawn(store_with_figures, tmp_path):
    (tmp_path / "figures").mkdir()
    for suffix, text in ((".png", ""), (".svg", ""), (".csv", ""), (".json", "{")):
        (tmp_path / f"figures/quickstart{suffix}").write_text(text)
    assert not any(each.stem for each in figures.drawn(tmp_path))
    assert sum(each.stem is not None for each in figures.drawn(store_with_figures)) == len(NAMES)


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


NOTHING = {"numbers": {}, "sensitivity": {}, "runs": [], "missing": 0}


def test_a_claim_shows_the_sentence_the_criterion_and_the_thresholds():
    claim = all_claims()["B13-9"]
    record = {"id": "B13-9", "verdict": "fails", "statement": "S.", "quote": claim.quote, "criterion": claim.criterion, "why": "W"}
    page = Page(pages.part("claim", record | NOTHING | {"sensitivity": {"factor": {"1.5": "holds", "2": "fails"}}}))
    assert f"In the paper: {claim.quote}" in page.words
    assert f"Criterion: {claim.criterion}" in page.words
    assert "factor1.5 holds, 2 (chosen) fails" in page.words


def test_open_claims_stand_apart_from_those_that_do_not_hold():
    verdicts = {"R-1": "fails", "R-2": "not reached", "R-3": "undecided", "R-4": "holds in part", "R-6": "holds"}
    records = {id: {"id": id, "paper": "R", "verdict": v, "statement": "S.", "why": "", "runs": []} for id, v in verdicts.items()}
    page = pages.render("index", [], **pages.index({}, records, [], {"rows": (), "lacking": ""}))
    fallen, still_open = page.split("<h2>Claims that")[1:]
    assert re.findall("#(R-.)", fallen) == ["R-1", "R-4"]
    assert re.findall("#(R-.)", still_open.partition("<h2>")[0]) == ["R-2", "R-3"]


def test_a_figure_says_what_holds_on_its_own_data():
    record = {
        "id": "G16-1",
        "verdict": "holds in part",
        "why": "holds: OCR-large, passes. does not hold: Weizmann horses, passes",
        "paper": "G16",
        "parts": {"OCR-large, passes": True, "Weizmann horses, passes": False, "OCR-small, time": None, "at all": False},
    }
    on = pages._on(("OCR-large", "OCR-small"), record)
    assert (on["verdict"], on["why"]) == ("holds in part", "holds: OCR-large, passes. is not measured: OCR-small, time")
    assert pages._on(("Weizmann horses",), record)["verdict"] == "fails"
    assert pages._on((), record) is record
    assert pages._on(("CoNLL",), record) is record
    named = {part for place in PLACES for part in record["parts"] if place in part}
    assert named == {*record["parts"]} - {"at all"}
    for name, state, said in [
        ("icml2016/fig5", "Reproduced in part", "On OCR-large, OCR-small, CoNLL alone:"),
        ("icml2016/fig6", "Not reproduced", "Weizmann horses, synth. LSP alone:"),
    ]:
        found = figures.Drawn(FIGURES.find(name), None, "full", {"runs": {}})
        page = pages.part(
            "figure", pages.shown(found, {"G16-1": record | dict.fromkeys(("statement", "quote", "criterion"), "") | NOTHING})
        )
        assert said in page
        here = pages._bearing(found.figure, {"G16-1": record})
        assert state in pages._state(figures.Drawn(found.figure, Path("somewhere"), "full", {}), here, {}).answer


@pytest.mark.parametrize("note", ["runs of bcfw mix sources", "runs of bcfw were made by another version of the code"])
def test_a_reservation_about_the_code_is_explained(note):
    found = figures.Drawn(FIGURES.find("icml2016/fig1"), None, "full", {"note": note, "runs": {}})
    assert f"{note}. Sources are the code" in pages.part("figure", pages.shown(found, {}))
