"""Commands on figures, claims and comparisons refuse mistakes in one line, with exit code 2, and write nothing."""

import shlex

import pytest

from fwexp.cli import main

REFUSED = [
    ("claims B14", "unknown paper or claim 'B14' (did you mean 'B13-4'?); accepted: A, B13, G16, L, R, icml2013, icml2016, "),
    ("claims B13-99", "unknown paper or claim 'B13-99'"),
    ("claims B13 G16", "takes at most 1 name, got B13 G16"),
    ("claims --what", "unknown flag of fwexp claims '--what'; accepted: --archive, --confirm, --preset, --run, --stale, --strict"),
    ("claims seed=0", "unknown key of fwexp claims 'seed'"),
    ("claims L --archive nowhere.tar.xz", "archive must hold runs with their checksums, got nowhere.tar.xz"),
    ("claims L --run --archive x", "fwexp claims takes either --run or --archive, because claims are decided"),
    ("claims L --stale --archive x", "fwexp claims takes --stale only for a store: the runs in an archive are"),
    ("claims L --strict published=nowhere", "--strict needs published verdicts, found none in nowhere/claims/lecture.json"),
    ("compare", "takes two different methods or more, got none"),
    ("compare bcfw", "takes two different methods or more, got bcfw"),
    ("compare bcfw bcfw", "takes two different methods or more"),
    ("compare bcfw:sampling fw", "options of bcfw are given as bcfw:NAME=VALUE,NAME=VALUE, got 'bcfw:sampling'"),
    ("compare no/such/folder fw", "there is no folder 'no/such/folder' to compare"),
    ("compare bcfw fwx", "unknown method 'fwx' (did you mean 'fw'?); accepted: "),
    ("compare bcfw fw --dataset ocd", "unknown dataset 'ocd' (did you mean 'ocr'?); accepted: "),
    ("compare bcfw fw --gaps 0.1,-1", "--gaps takes positive numbers with commas between, got '0.1,-1'"),
    ("compare bcfw fw --lam nan", "--lam takes positive numbers"),
    ("compare bcfw fw --format html", "unknown format 'html'; accepted: csv, latex, text"),
    ("compare bcfw fw --gaps", "--gaps needs a value"),
    ("compare bcfw .", "takes methods or folders, not both"),
    ("compare bcfw fw", "there are no stored runs of bcfw to compare"),
    ("figure quickstart --dry", "unknown flag of fwexp figure '--dry' (did you mean '--dry-run'?); accepted: --archive, "),
    ("figure quickstart result_dir=x", "unknown key of fwexp figure 'result_dir' (did you mean 'results_dir'?); accepted: "),
    ("figure quickstart icml2031", "unknown figure 'icml2031' (did you mean 'icml2016'?); accepted: "),
    ("figure quickstart /", "unknown figure '/'; accepted: "),
    ("figure quickstart/", "unknown figure 'quickstart/' (did you mean 'quickstart'?); accepted: "),
    ("figure icml2013/table1 dataset=digits", "icml2013/table1 takes no dataset, because it is no chart of curves"),
    ("figure icml2013/table1 --format pdf", "icml2013/table1 takes no --format, because it is a table"),
    ("figure icml2013/table1 --width 3in", "icml2013/table1 takes no --width, because it is no chart of curves"),
    ("figure horses/overlays --width 3in", "takes no --width"),
    ("figure quickstart dataset=digit", "unknown dataset 'digit' (did you mean 'digits'?); accepted: "),
    ("figure quickstart lam=-1", "lam must be "),
    ("figure quickstart --format jpg", "unknown format 'jpg' (did you mean 'png'?); accepted: "),
    ("figure quickstart --width 3ft", "--width must be a width from 1 to 50 inches, such as 3.25in, 8cm or 240pt"),
    ("figure quickstart --width 0.1in", "--width must be a width from 1 to 50 inches"),
    ("figure quickstart --style none.mplstyle", "style must be a style file of matplotlib or the name of a style"),
    ("figure quickstart --style bad.mplstyle", "style must be a style file of matplotlib or the name of a style"),
    ("figure quickstart --x time", "--x belongs to --from"),
    (
        "figure quickstart --from solver=bcfw",
        "--from takes only --archive, --x, --y, --format, --style, --width, results_dir= and out=",
    ),
    ("figure --from bcfw", "--from must be KEY=VALUE with spaces between, got 'bcfw'"),
    ("figure --from solver=bcfx", "unknown solver 'bcfx' (did you mean 'bcfw'?); accepted: "),
    ("figure --from solver=bcfw", "--from must match stored runs, got none in results for 'solver=bcfw'"),
    ("report icml2013", "unknown argument of fwexp report 'icml2013'"),
    ("report --open", "unknown flag of fwexp report '--open'"),
    ("report results_dir=", "results_dir must not be empty"),
    ("reproduce icml2013", "unknown argument of fwexp reproduce 'icml2013'; accepted: --archive, --dry-run, --preset"),
    ("reproduce --dry", "unknown flag of fwexp reproduce '--dry' (did you mean '--dry-run'?); accepted: --archive, --dry-run, "),
    ("select dataset=digits lam=0.1", "such as lam=0.1,0.01, got one for digits"),
    ("select dataset=digits lam=1,0.1 dataset.validation=0", "fwexp select needs dataset.validation > 0, such as 0.2, got 0"),
    ("select dataset=digits lam=1,0.1 --format x", "unknown format 'x'; accepted: csv, latex, text"),
    ("select dataset=digits lam=1,0.1 dataset.validation=1e-4", "digits: validation must leave an example in both parts"),
    ("select dataset=digits task=path task.lam_min=0.1,0.2", "fwexp select takes task=train only, got path"),
    ("select dataset=lasso", "dataset.validation needs a data set of examples, got one of a convex problem or saddle point"),
    ("select dataset=digits lam=1,0.1 -m", "unknown flag of fwexp select '-m'"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED, ids=[words for words, _ in REFUSED])
def test_what_is_wrong_is_one_line(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.mplstyle").write_text("font.sizes: 3\n")
    assert main(shlex.split(words)) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.startswith("fwexp: ")
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["bad.mplstyle"]
