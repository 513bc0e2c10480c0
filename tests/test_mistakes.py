"""Mistakes of users: one line that names them, exit code 2, and nothing is written."""

import pytest

from fwexp.cli import main

DASK = "hydra/launcher=dask hydra.launcher"
BAD = [
    (
        "runn",
        "unknown command 'runn' (did you mean 'run'?); accepted: compare, ",
    ),
    ("run solver=bcwf", "unknown solver 'bcwf' (did you mean 'bcfw'?); accepted: "),
    (
        "run solver=away",
        "solver away is for convex problems (blocks, chain_dual, lasso, norm, triangle); for dataset digits: approx_bcfw, auto, ",
    ),
    ("run dataset=lasso task=grid", "task grid is for structured SVMs (conll2000, digits, "),
    ("run dataset=lasso solver=bcfw", "solver bcfw is for structured SVMs (conll2000, digits, "),
    ("run solver=excessive_gap dataset=synthetic_lsp", "solver excessive_gap needs the tier expectations"),
    (
        "run +experiment=icml2013/fig9",
        "unknown experiment 'icml2013/fig9' (did you mean 'icml2013/fig5'?); accepted: ",
    ),
    ("run experiment=quickstart", "an experiment is chosen by +experiment=quickstart, got 'experiment=quickstart'"),
    ("run hydra/launcher=joblib", "hydra/launcher=joblib starts the runs of a sweep; add -m"),
    ("run dataset=ocr dataset.split=ocr3", "dataset ocr: split must be one of ocr2, ocr; got 'ocr3'"),
    ("run lma=1", "unknown key 'lma' (did you mean 'lam'?); accepted: dataset,"),
    ("run dataset.validation_sed=1", "(did you mean 'dataset.validation_seed'?)"),
    ("run +foo=1", "unknown key 'foo'; accepted: checkpoint, fail_fast,"),
    ("run ++solver.foo=1", "unknown option 'foo'; accepted: "),
    ("run solver.samplng=perm", "unknown key 'solver.samplng' (did you mean 'solver.sampling'?); accepted: solver."),
    ("run hydra.lancher=x", "unknown key 'hydra.lancher' (did you mean 'hydra.launcher'?); accepted: "),
    ("run solver.sampling=prem", "sampling must be one of uniform, perm"),
    ("run solver.line_search=maybe", "line_search must be one of true, false; got 'maybe'"),
    ("run solver=null", "solver must be one name, or several with commas and -m, got 'null'; accepted: afw, approx_bcfw, auto,"),
    ("run lam=abc", 'lam must be a positive finite number or "c/n", such as "1/n", got \'abc\''),
    ("run lam=${foo}", "Interpolation key 'foo' not found"),
    ("run lam", "cannot read 'lam', expected key=value"),
    ("run seed=range(3)", "Sweep parameters 'seed=range(3)' requires --multirun (-m)"),
    ("run -m lam=interval(0,1)", "cannot sweep over 'lam=interval(0,1)'"),
    ("run -m lam=0.1,-1", "lam must be a positive finite number"),
    ("run -m solver=fw,ssg solver.line_search=false", "unknown key 'solver.line_search'"),
    ("run -m wall_limit=0", "wall_limit must be a number of seconds in 0.1 .. 1e9 or null, got 0"),
    ("run -m seed=range(3", "cannot read 'seed=range(3', expected key=value"),
    ("run gap_tol=-1e-3", "gap_tol must be a finite number >= 0, got -0.001"),
    ("run schedule=[2,1]", "an increasing list of them, got [2, 1]"),
    ("run force=2", "force must be true, false or stale, got 2"),
    ("run results_dir=", "results_dir must be the name of a folder, got ''"),
    ("run results_dir=a_file", "results_dir must be a folder, got 'a_file', which is no folder"),
    ("run results_dir=http://x/y", "results_dir must be a folder, got 'http://x/y', which is an address"),
    ("run --colour", "unknown flag of fwexp run '--colour'; accepted: --cfg, --config-dir, "),
    ("run +experiment=quickstart", "this experiment stands for many runs; add -m"),
    ("run dataset=ocr", "dataset ocr needs ocr/letter.data.gz"),
    ("run dataset=ocr data_dir=nowhere", "nowhere (no such folder)"),
    ("run -m dataset=digits,ocr max_passes=0.1", "dataset ocr needs"),  # before the first run
    ("figure fig1", "unknown figure 'fig1' (did you mean 'crf/fig1'?); accepted: crf/fig1, icml2013/"),
    ("figure quickstart --preset smokey", "unknown preset 'smokey' (did you mean 'smoke'?); accepted: full, smoke"),
    ("figure icml2013/fig1 --preset smoke data_dir=nowhere", "dataset ocr needs ocr/letter.data.gz"),
    ("ls solvr=bcfw", "unknown filter 'solvr' (did you mean 'solver'?); accepted: "),
    ("ls solver=bcwf", "unknown solver 'bcwf' (did you mean 'bcfw'?); accepted: "),
    ("ls method=bcwf_gap", "unknown method 'bcwf_gap' (did you mean 'bcfw_gap'?); accepted: "),
    ("ls seed=", "seed must not be empty"),
    ("run hydra/sweeper=nothing", "unknown hydra/sweeper 'nothing'; accepted: fwexp"),
    ("run hydra.run.dir=here", "hydra.run.dir cannot be set, got 'here'"),
    ("run -m hydra.sweep.subdir=here seed=0,1", "hydra.sweep.subdir cannot be set, got 'here'"),
    ("run -m hydra/launcher=joblib +hydra.launcher.x=1", "unknown key of hydra.launcher (joblib) 'x'; accepted: batch_size, "),
    ("run -m hydra/launcher=dask hydra.launcher.n_workers=0", "hydra.launcher.n_workers must be an integer >= 1, got 0"),
    ("figure quickstart --dry-run hydra/launcher=zz", "unknown value of hydra/launcher 'zz'; accepted: basic, dask, joblib, "),
    ("figure quickstart hydra/launcher=dask hydra.launcher.n_workers=0", "hydra.launcher.n_workers must be an integer >= 1, got"),
    ("run hydra/job_logging=default", "hydra/job_logging must not write files, got default"),
    ("run -m seed=range(1e9)", "a sweep has at most 100000 runs, got 1000000000"),
    ("run -m seed=range(1000) lam=range(1,1001)", "a sweep has at most 100000 runs, got 1000000"),
    ("run -m seed=0,1 solver=glob(x*)", "'solver=glob(x*)' has no values"),
    ("run n_jobs=0", "n_jobs must be an integer other than 0, or None, got 0"),
    ("run -m n_jobs=1,2", "n_jobs must have one value in a sweep, got n_jobs=1, n_jobs=2"),
    ("run results_dir=null", "results_dir must be the name of a folder, got None"),
    ("run data_dir=", "data_dir must be the name of a folder, got ''"),
    (f"run results_dir={'x' * 5000}", "(File name too long)"),
    ("run results_dir=~nobody_of_this_name/x", "results_dir must be the name of a folder, got '~nobody_of_this_name/x'"),
    ("run ~task", "task cannot be left out, got '~task'"),
    ("run =3", "cannot read '=3', expected key=value"),
    ("claims --run=1", "--run takes no value, got '--run=1'"),
    ("run -sc install=fish", "--shell-completion takes install=bash, uninstall=bash or query=bash, got install=fish: eval"),
    ("run --shell-completion", "--shell-completion takes install=bash, uninstall=bash or query=bash, got nothing"),
    ("figure quickstart --preset", "--preset needs a value; accepted: full, smoke"),
    ("figure quickstart force=yes", "unknown value of force 'yes'; accepted: false, stale, true"),
    ("ls lam=abc", 'lam must be a number or "c/n", such as "1/n", got \'abc\''),
    ("ls seed=x", "seed must be an integer >= 0, got 'x'"),
    ("ls status=finished", "unknown status 'finished'; accepted: converged, "),
    ("data list data_dir=", "data_dir must not be empty"),
    ("options bcfw data_dir=x", "unknown key of fwexp options 'data_dir'; accepted: none"),
    ("doctor data_dir=~nobody_of_this_name", "(Could not determine home directory.)"),
    ("run --cfg jb", "argument --cfg/-c: invalid choice: 'jb'"),
    ("run --cfg job --package nothing", "package 'nothing' not found in config"),
    ("run --cfg job lamb=1", "unknown key 'lamb' (did you mean 'lam'?)"),
    ("run --resolve", "The --resolve flag can only be used in conjunction with --cfg or --help"),
    ("run --experimental-rerun config.pickle", "unknown flag of fwexp run '--experimental-rerun'; accepted: "),
    ("run ~solver", "solver cannot be left out, got '~solver'"),
    # -- tasks and problems
    ("run task=path task.lam_min=1 solver=ssg", "task path cannot run solver ssg; accepted: auto, bcfw"),
    ("run task=path", "task path: lam_min must be given, got null"),
    ("run task=path ++task.lam_mi=1", "'lam_mi' (did you mean 'lam_min'?); accepted: "),
    ("run task=path task.lam_min=1 ++lam=0.1", "unknown key of task path 'lam'; accepted: "),
    ("run task=improvement ++iterates=[last]", "unknown key of task improvement 'iterates'; accepted: "),
    ("run task=convex solver=away", "task convex is for convex "),
    ("run dataset=lasso solver=sp_fw", "solver sp_fw is for saddle points "),
    ("run dataset=lasso solver=away ++solver.eta=1", "solver away: unknown option 'eta'; accepted: step"),
    ("run dataset=lasso ++lam=0.1", "unknown key of task convex 'lam'"),
    # -- launchers
    ("run -m hydra/launcher=slurm", "unknown hydra/launcher 'slurm'; accepted: basic, "),
    ("run -m hydra/launcher=joblib hydra.launcher.prefer=threads", "hydra.launcher.prefer must be processes, got 'threads'"),
    ("run -m hydra/launcher=joblib hydra.launcher.require=sharedmem", "hydra.launcher.require must be null, got 'sharedmem'"),
    ("run -m hydra/launcher=joblib hydra.launcher.backend=threading", "hydra.launcher.backend must be null or loky, got 'thr"),
    ("run -m hydra/launcher=joblib hydra.launcher.timeout=0", "hydra.launcher.timeout must be a positive finite number, got 0"),
    ("run -m hydra/launcher=joblib hydra.launcher.n_jobs=null", "hydra.launcher.n_jobs must be a number of processes, "),
    ("run -m hydra/launcher=submitit_local hydra.launcher.name=null", "hydra.launcher.name must be a text, got None"),
    (
        f"run -m {DASK}.address=tcp://a:1 hydra.launcher.n_workers=2",
        "of one that is started here, got address, n_workers",
    ),
    (f"run -m {DASK}.address=nowhere://x", "address must be that of a Dask scheduler, got 'nowhere://x': unknown address scheme"),
    (f"run -m {DASK}.scheduler_file=x", "must be a file that a running Dask scheduler has written, got 'x': [Errno 2] No such"),
    (f"run -m {DASK}.scheduler_file=a_file", "must be a file that a running Dask scheduler has written, got 'a_file': it has no"),
    ("run -m ++hydra.launcher._target_=builtins.open", "hydra.launcher cannot be set, got 'builtins.open'; hydra/launcher takes"),
    # -- skip_invalid leaves out combinations that do not fit, and hides no other mistake
    ("run -m skip_invalid=true solver=lbfgs lam=1,2", "solver lbfgs does not minimise the objective hinge"),  # nothing fits
    ("run -m skip_invalid=true solver=bcfw,bcwf", "unknown solver 'bcwf'"),  # a name that fits nowhere
    ("run -m skip_invalid=true dataset=digits,ocr data_dir=nowhere", "dataset ocr needs"),
    # -- other commands
    ("data fetsch", "unknown action of fwexp data 'fetsch' (did you mean 'fetch'?); accepted: fetch, list, prepare, verify"),
    ("data fetch orc", "unknown dataset 'orc' (did you mean 'ocr'?); accepted: "),
    ("data list data-dir=x", "unknown key of fwexp data 'data-dir' (did you mean 'data_dir'?); accepted: data_dir"),
    ("data list --data_dir x", "unknown flag of fwexp data '--data_dir'"),
    ("ls include=failed", "unknown filter 'include'"),
    ("figure --from include=failed", "unknown filter 'include'"),
    ("figure --from results_dir=x", "unknown filter 'results_dir'"),
]


@pytest.mark.parametrize(("line", "message"), BAD, ids=[ascii(line)[1:60] for line, _ in BAD])
def test_mistakes_take_one_line(tmp_path, monkeypatch, capsys, line, message):
    """In a folder without data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FWEXP_DATA", str(tmp_path / "no_data"))
    (tmp_path / "a_file").write_text("{}")
    code, (out, err) = main(line.split()), capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("fwexp: ")
    assert message in err
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a_file"]
