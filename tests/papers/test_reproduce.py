"""Everything at once: what is planned, what fails, and the copies that are committed."""

import functools
import json
import re
import shutil
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest
from markdown_it import MarkdownIt

from fwexp import store
from fwexp.cli import main
from fwexp.commands import reproduce
from fwexp.errors import DataError, OptionError, ParameterError, RunsFailed
from fwexp.experiments import FIGURES
from fwexp.files.owned import MARK, check_folder
from fwexp.papers import figure_files, figure_pipeline, origin, plan
from fwexp.papers.plan import GUESS, OVERHEAD, SMOKE_GUESS, Step, durations
from fwexp.run import from_arguments
from fwexp.run.config import run_key
from fwexp.store.provenance import provenance
from fwexp.store.run_store import StoredRun
from tests.papers.drawn_store import CLAIMS, COMMIT, draw, picture
from tools import publish
from tools.archive_runs import write
from tools.published_faults import faults

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "results" / "published"
DIRTY = "d" * 40 + "-dirty"


# -- the plan


def stored(config, time=3.0, passes=10.0, key="k"):
    return StoredRun(None, key, "max_passes", config, {"time": time, "passes": passes})


@pytest.fixture(scope="module")
def configs():
    return from_arguments.expand(["solver=bcfw", "dataset=digits", "lam=0.1,0.01", "max_passes=10"])


def test_a_run_is_estimated_by_others_like_it_or_guessed(configs, tmp_path, monkeypatch):
    one, other = configs
    assert durations([])(one) is None
    assert durations([stored(other, time) for time in (1.0, 3.0, 20.0)])(one) == 3.0 * OVERHEAD
    longer = one | {"max_passes": 40.0}
    assert durations([stored(other, 3.0, passes=10.0)])(longer) == pytest.approx(12.0 * OVERHEAD)
    assert durations([stored(other, 3.0, passes=10.0)])(longer | {"time_limit": 5.0}) == 5.0 * OVERHEAD
    for change in ({"solver": {"name": "fw"}}, {"task": {"name": "path"}}):
        assert durations([stored(other | change)])(one) is None
    made = {"review/fig3": FIGURES.find("review/fig3"), "claims/icml2013": None}
    monkeypatch.setattr(plan, "experiments", lambda: made.items())
    for preset, seconds in (("full", (5.0, GUESS)), ("smoke", (SMOKE_GUESS, SMOKE_GUESS))):
        steps = plan.plan(tmp_path, preset)
        assert tuple(step.seconds / step.guessed for step in steps) == seconds


def test_a_run_of_two_figures_is_planned_once(tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "experiments", lambda: [(name, FIGURES.find(name)) for name in ("icml2013/fig2", "icml2013/fig3")])
    first, second = plan.plan(tmp_path, "smoke")
    assert len(first.missing) == len(first.configs)
    shared = {run_key(c) for c in first.configs} & {run_key(c) for c in second.configs}
    assert shared
    assert len(second.missing) == len(second.configs) - len(shared)
    assert (second.guessed, second.seconds) == (len(second.missing), SMOKE_GUESS * len(second.missing))
    assert list(tmp_path.iterdir()) == []


def test_what_is_stored_is_not_planned_and_times_here_come_before_published_ones(tmp_path, monkeypatch, configs):
    monkeypatch.setattr(plan, "experiments", lambda: [("quickstart", None)])
    monkeypatch.setattr(from_arguments, "expand", lambda *_, **__: configs)
    (step,) = plan.plan(tmp_path, timed=[stored(configs[0], 4.0)])
    assert (step.seconds, step.guessed, len(step.missing)) == (8.0 * OVERHEAD, 0, 2)
    monkeypatch.setattr(store, "find_runs", lambda _: [stored(configs[0], key=run_key(configs[0]))])
    (step,) = plan.plan(tmp_path, timed=[stored(configs[0], 4.0)])
    assert step == Step("quickstart", None, configs, configs[1:], 3.0 * OVERHEAD, 0)
    assert plan.table([step]).splitlines() == [
        "experiment  runs  missing  about",
        "quickstart  2     1        5 s",
        "1 runs are missing, about 5 s one after the other",
    ]


def test_the_archive_of_the_checkout_has_the_times(tmp_path, monkeypatch, capsys):
    runs = plan.published_runs()
    assert len(runs) > 2000
    assert all(run.record["time"] >= 0 for run in runs)
    (tmp_path / "runs.tar.xz").write_bytes(plan.PUBLISHED_RUNS.read_bytes()[:10000])
    monkeypatch.setattr(plan, "PUBLISHED_RUNS", tmp_path / "runs.tar.xz")
    assert plan.published_runs() == []
    assert capsys.readouterr().err.startswith("no times of published runs: archive must hold runs with")
    monkeypatch.setattr(plan, "PUBLISHED_RUNS", tmp_path / "none")
    assert plan.published_runs() == []


def test_every_figure_and_every_claim_is_planned():
    names = dict(plan.experiments())
    assert set(names) == set(FIGURES) | {"claims/icml2013"}
    assert all(names[name] is FIGURES.find(name) for name in FIGURES)


# -- running


def steps(*names):
    return [Step(name, FIGURES.find(name) if name in FIGURES else None, [], [{}], 5.0, 1) for name in names]


def test_what_fails_does_not_hold_up_the_rest(tmp_path, monkeypatch, capsys):
    done = []
    monkeypatch.setattr(reproduce, "conclude", lambda *_: done.append("concluded"))

    def make(name):
        done.append(name)
        if name == "quickstart":
            raise RunsFailed("1 of 2 runs failed")
        if name == "icml2013/fig5":
            raise DataError("dataset hansards needs hansards/x")
        return [Path(f"{name}.png")]

    monkeypatch.setattr(figure_pipeline, "makers", lambda names, **_: {name: functools.partial(make, name) for name in names})
    monkeypatch.setattr(from_arguments, "execute", lambda *_, **__: done.append("claims"))
    names = ("quickstart", "icml2013/fig5", "review/fig1", "claims/icml2013")
    monkeypatch.setattr(plan, "plan", lambda *_: steps(*names))
    assert main(["reproduce", "hydra/launcher=joblib", f"results_dir={tmp_path}"]) == 1
    captured = capsys.readouterr()
    assert done == [*names[:3], "claims", "concluded"]
    assert "review/fig1.png" in captured.out
    assert "== 1/4 quickstart\n" in captured.err  # its runs are over
    assert "== 4/4 claims/icml2013: 1 runs, 5 s ?\n" in captured.err
    assert captured.err.endswith("fwexp: 2 of 4 experiments failed: quickstart, icml2013/fig5; repeat the command to try again\n")


def test_a_dry_run_only_tells(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(plan, "plan", lambda *_: steps("quickstart"))
    monkeypatch.setattr(reproduce, "run", lambda *_, **__: pytest.fail("it runs"))
    assert main(["reproduce", "--dry-run", f"results_dir={tmp_path}"]) == 0
    assert "quickstart  0     1        5 s ?" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("computed_as_published")
def test_it_runs_draws_and_concludes(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(plan, "experiments", lambda: [("review/fig3", FIGURES.find("review/fig3"))])
    monkeypatch.setattr("fwexp.papers.claims.all_claims", lambda: CLAIMS)
    for name in ("plotly", "plotly.offline"):
        monkeypatch.setitem(sys.modules, name, None)
    line = ["reproduce", "--preset", "smoke", "hydra/launcher=basic", f"results_dir={tmp_path}"]
    assert main(line) == 0
    captured = capsys.readouterr()
    assert (tmp_path / "figures/review/fig3-smoke.png").is_file()
    assert (tmp_path / "claims/lecture-smoke.json").is_file()
    assert "3 claims: " in captured.out
    assert "plotly, which is not installed" in captured.err
    assert main(line) == 0
    assert "0 runs are missing\n" in capsys.readouterr().out
    write(store.find_runs(tmp_path), tmp_path / "runs.tar.xz")
    assert main([*line[:-1], "--archive", f"{tmp_path}/runs.tar.xz", "--dry-run", f"results_dir={tmp_path}/again"]) == 0
    assert "0 runs are missing\n" in capsys.readouterr().out
    assert not (tmp_path / "again").exists()
    assert main([*line[:-1], "--archive", f"{tmp_path}/runs.tar.xz", f"results_dir={tmp_path}/again"]) == 0
    assert f"{tmp_path}/runs.tar.xz: 2 runs were not in {tmp_path}/again\n" in capsys.readouterr().err
    numbers = [(folder / "figures/review/fig3-smoke.csv").read_bytes() for folder in (tmp_path, tmp_path / "again")]
    assert numbers[0] == numbers[1]


# -- what is published


@pytest.fixture
def there(published, tmp_path):
    """Return a copy of the published folder."""
    return shutil.copytree(published, tmp_path / "there")


def test_what_is_published_is_small_and_whole(published):
    assert faults(published) == []
    assert (published / "figures/quickstart.png").stat().st_size < len(picture()) / 2
    frame = pd.read_csv(published / "figures/quickstart.csv")
    assert frame.groupby(["panel", "variant"]).size().max() <= publish.POINTS
    assert not {"keys", "commit"} & set(frame)
    assert {len(key) for key in json.loads((published / "figures/quickstart.json").read_text())["runs"]} == {12}
    assert list(json.loads((published / "claims/lecture.json").read_text())) == list(CLAIMS)
    page = (published / "README.md").read_text()
    assert "![BCFW, SSG and batch FW on handwritten dates](figures/quickstart.png)" in page
    assert publish.escaped(FIGURES["quickstart"].caption) in page
    assert "[dlib](peers/dlib.md)" in page


@pytest.mark.slow
def test_a_part_is_published_anew_and_the_rest_stays(published, tmp_path, monkeypatch):
    results, folder = tmp_path / "results", tmp_path / "there"
    shutil.copytree(published, folder)
    (folder / "figures/quickstart.csv").write_text("old")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    draw(results, "quickstart")
    written = publish.publish(results, folder, ["quickstart"])
    assert set(written) == set(before)
    assert faults(folder) == []
    changed = {path.relative_to(folder).as_posix() for path in written if path.read_bytes() != before[path]}
    assert {"figures/quickstart.csv", "provenance.json", "README.md"} <= changed
    assert not [name for name in changed if not name.startswith(("figures/quickstart", "provenance", "README", "reproduced", MARK))]
    about = json.loads((folder / "provenance.json").read_text())
    assert [(each["parts"], each["command"]) for each in about["since"]] == [(["quickstart"], "make publish quickstart")]
    assert "Published again: quickstart, by `make publish quickstart` on" in (folder / "README.md").read_text()
    publish.publish(results, folder, ["quickstart"])
    assert len(json.loads((folder / "provenance.json").read_text())["since"]) == 1
    with pytest.raises(OptionError, match=r"there is nothing to publish: no figure of review in .* is drawn from the full runs"):
        publish.publish(results, folder, ["quickstart", "review"])
    path = folder / "claims/lecture.json"
    path.write_text(json.dumps({"L-99": json.loads(path.read_text())["L-3"]}))
    monkeypatch.setattr(publish, "all_claims", lambda: CLAIMS)
    publish.publish(results, folder, ["lecture"])  # verdicts alone, of which old ones go
    assert list(json.loads(path.read_text())) == list(CLAIMS)
    assert faults(folder) == []


@pytest.mark.parametrize("place", ["results", "", "other"])
def test_what_is_not_published_is_not_replaced(tmp_path, place):
    (tmp_path / "results" / "runs").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine")
    holds_store = r"^published=.* holds the store, which would be replaced; accepted: "
    with pytest.raises(
        (OptionError, ParameterError),
        match=rf"{holds_store}|other must be a folder that fwexp wrote, got another one with mine.txt",
    ):
        publish.publish(tmp_path / "results", tmp_path / place)
    assert (tmp_path / "results" / "runs").is_dir()
    assert (tmp_path / "other" / "mine.txt").is_file()


def test_thinned_curves_keep_their_ends():
    long = pd.DataFrame({"panel": "a", "variant": ["v"] * 100 + ["w"] * 3, "x": [*range(100), *range(3)], "keys": "k"})
    kept = publish.thinned(long)
    assert kept[kept["variant"] == "v"]["x"].tolist()[:: publish.POINTS - 1] == [0, 99]
    assert (kept["variant"] == "w").sum() == 3
    assert len(kept) == publish.POINTS + 3
    table = pd.DataFrame({"method": ["m"] * 50, "keys": "k"})
    assert publish.thinned(table).shape == (50, 1)


def edit(file, change):
    """Break one file."""

    def broken(folder):
        path = folder / file
        content = json.loads(path.read_text()) if path.suffix == ".json" else path.read_text()
        changed = change(content)
        path.write_text(changed if isinstance(changed, str) else json.dumps(changed))

    return broken


def rewrite(name="quickstart", **facts):
    """Write the figure again, or under another name, with its checksums and with other facts."""

    def rewritten(folder):
        stem, target = folder / "figures/quickstart", folder / "figures" / name
        target.parent.mkdir(exist_ok=True)
        contents = {suffix: stem.with_suffix(suffix).read_bytes() for suffix in (".png", ".csv")}
        record = figure_files.read_record(stem, (".png", ".csv", ".json"), "quickstart")
        for path, content in figure_files.sealed(target, contents, record | {"figure": name} | facts).items():
            path.write_bytes(content)

    return rewritten


def without(name):
    return lambda record: {key: value for key, value in record.items() if key != name}


def with_runs(parts, **facts):
    """Return the change after which parts were published again, from runs of which these facts hold."""

    def change(record):
        return record | {"since": [without("since")(record) | {"parts": parts, "runs": record["runs"] | facts}]}

    return change


def first_claim(**changes):
    return lambda records: {id: record | (changes if id == "L-3" else {}) for id, record in records.items()}


BROKEN = [
    (lambda folder: (folder / "quickstart.png").touch(), "quickstart.png: does not belong here"),
    (lambda folder: (folder / "figures/fig99.png").touch(), "figures/fig99.png: there is no figure 'fig99'"),
    (lambda folder: (folder / "figures/quickstart.svg").touch(), "figures/quickstart.svg: quickstart has files .png, .csv, .json"),
    (lambda folder: (folder / "README.md").write_bytes(bytes(10_000_000)), "10.* MB in all, at most 10 MB"),
    (edit("provenance.json", lambda record: record | {"since": [{}]}), "provenance.json: must have the runs of all publications"),
    (rewrite(preset="smoke"), "is that of another figure"),
    (rewrite(runs={"k": {"commit": COMMIT}}), "quickstart.json: runs must be named by 12 digits"),
    (edit("claims/lecture.json", lambda records: {"L-9": records["L-3"]}), "there is no claim 'L-9' of lecture"),
    (edit("claims/lecture.json", lambda records: {"R-1": records["L-3"]}), "there is no claim 'R-1' of lecture"),
    (edit("claims/lecture.json", first_claim(verdict="true")), "L-3: verdict or figure are none of a claim"),
    (edit("claims/lecture.json", first_claim(figure="review/fig9")), "L-3: verdict or figure are none of a claim"),
    (edit("claims/lecture.json", lambda _: "[]"), "claims/lecture.json: is no JSON object of verdicts"),
    (lambda folder: (folder / "claims/B13.json").write_text("{}"), "claims/B13.json: there is no such paper"),
    (rewrite(note="smoke, runs of ssg mix sources"), "figures/quickstart: smoke, runs of ssg mix sources"),
    (rewrite(note="runs of fw were made by another version of the code"), "figures/quickstart: runs of fw were made by another"),
    (rewrite(name="review/fig3", commit="d" * 40), "drawings are of cccccccccccc, dddddddddddd, expected one commit"),
    (rewrite(runs={12 * "k": {"commit": DIRTY}}), "runs or drawings are of dddddddddddd-dirty, expected commits of a checkout"),
    (edit("provenance.json", with_runs(["review"], commits={DIRTY: 1})), "runs or drawings are of dddddddddddd-dirty, exp"),
    (edit("provenance.json", with_runs(["review"], stale={"review": 2})), "^2 runs of review were made by another version"),
    (edit("README.md", lambda text: text + "[x](gone.png)"), "README.md: points to gone.png, which is not there"),
]


def test_a_verdict_by_an_earlier_criterion_is_shown_as_such(there):

    def shown():
        (there / "figures/review").mkdir(exist_ok=True)
        (there / "figures/review/fig3.json").write_text('{"title": "T"}')
        page = publish.gallery(there)
        shutil.rmtree(there / "figures/review")
        return page

    page = shown()
    assert "L-3 **undecided**: " in page
    assert f"In the paper: {publish.escaped(CLAIMS['L-3'].place)}." in page
    edit("claims/lecture.json", first_claim(criterion="It was so."))(there)
    assert faults(there) == []
    assert "L-3 **undecided** (by an earlier criterion): " in shown()
    for change in (  # runs may be of an earlier commit with the same code, and of peers, which are measured apart, of any
        edit("provenance.json", with_runs(["peers"], commits={DIRTY: 1})),
        edit("provenance.json", with_runs(["review"], commits={"d" * 40: 1})),
        rewrite(runs={12 * "k": {"commit": "d" * 40}}),
    ):
        change(there)
        assert faults(there) == []


@pytest.mark.parametrize(("breaks", "message"), BROKEN, ids=[message[:40] for _, message in BROKEN])
def test_what_is_broken_is_found(there, breaks, message):
    breaks(there)
    found = faults(there)
    assert any(re.search(message, fault) for fault in found), found


@pytest.mark.parametrize(("dirty", "name"), [(True, "cccccccccccc-dirty"), (None, "unknown")])
def test_publishing_what_no_commit_made_says_so(dirty, name, tmp_path, monkeypatch, capsys):
    """The whole of it is published all the same, and README says of what it is."""
    git = None if dirty is None else {"commit": COMMIT, "dirty": dirty}
    monkeypatch.setattr(origin, "provenance", lambda: provenance() | {"git": git})
    monkeypatch.setattr(publish, "all_claims", dict)
    draw(tmp_path / "results", "quickstart", origin.commit_of({"git": git}))
    assert publish.main([f"results_dir={tmp_path}/results", f"published={tmp_path}/there"]) == 0
    said = f"{tmp_path}/there: runs or drawings are of {name}, expected commits of a checkout without changes\n"
    assert capsys.readouterr().err == said
    assert f"Runs were made at {name},\nfigures drawn at {name}." in (tmp_path / "there/README.md").read_text()


def test_titles_are_shown_as_they_are(drawn, tmp_path, monkeypatch):
    evil, note = "*a* <script>&lt;</script> [x](y) | `b` $c$\n# ~~d~~ \\e_f_", "<img src=x> *2"
    monkeypatch.setattr(publish, "all_claims", dict)
    draw(tmp_path / "results", "quickstart", title=evil, note=note)
    publish.publish(tmp_path / "results", tmp_path / "there")
    tokens = MarkdownIt("commonmark").parse((tmp_path / "there/README.md").read_text())
    words = [token for line in tokens for token in line.children or ()]
    assert " ".join(evil.split()) + "." in {token.content for token in words}
    (image,) = [token for token in words if token.type == "image"]
    assert image.content == publish.escaped(evil)
    assert note in {token.content for token in words}
    assert not [token for token in [*tokens, *words] if "html" in token.type]


def test_parts_that_are_published_at_once_are_all_there(drawn, there, tmp_path, monkeypatch):
    monkeypatch.setattr(publish, "all_claims", dict)
    both, write = threading.Barrier(2, timeout=600), publish.provenance
    monkeypatch.setattr(publish, "provenance", lambda *given: (both.wait() and 0) or write(*given))
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda part: publish.publish(drawn, there, [part]), ["quickstart", "icml2013"]))
    about = json.loads((tmp_path / "there/provenance.json").read_text())
    assert sorted(part for each in about["since"] for part in each["parts"]) == ["icml2013", "quickstart"]
    assert faults(there) == []


def test_what_is_committed_is_whole_and_of_one_commit():
    assert faults(PUBLISHED) == []
    assert faults(PUBLISHED / "nowhere") == []
    check_folder(PUBLISHED)  # or `make publish` would replace nothing


# -- mistakes


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--dry-run", "unknown flag of make publish '--dry-run'"),
        ("fig1", "unknown part of what is published 'fig1'; accepted: crf, horses, icml2013, icml2016, later, lecture"),
        ("preset=full", "unknown key of make publish 'preset'; accepted: data_dir, published, results_dir"),
    ],
)
def test_wrong_arguments_of_publish_are_named(argument, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match=f"^{re.escape(message)}"):
        publish.main([argument])
    assert list(tmp_path.iterdir()) == []
