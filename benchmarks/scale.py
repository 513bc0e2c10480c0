"""Training over workers: ``python -m benchmarks.scale [regime ...]``, measured with 1 to 8 and simulated up to 10,000.

Four regimes, of cheap and costly oracles and few and many weights. Costly oracles sleep, so that workers need no cores of their
own; cheap ones compute, and share those that this machine has. Costs are fitted to processor time of runs with 1 and 2 workers
(`benchmarks.simulation.Costs`). A simulation of this machine is compared with the measurements: if the costs alone are off
by more than ``CLOSE``, the slowdown of shared cores is fitted to 1, 2 and 4 workers, and 8 workers are predicted. A simulation of
an ideal cluster, on ``CLUSTER_N`` examples, continues from there. The passes to a gap are not simulated: they are measured, and
fitted by a power of the workers (``local``) or a line in the share of examples in flight (``oracles``), which is extrapolation
beyond 8 workers. Tables: ``results/bench/scale.csv``, from which ``scale.png`` is drawn, with the
load of the machine per core (1: no process waits), and ``scale-costs.csv``. From both, ``--simulate`` simulates regimes again, all
or those that are named.
"""

import dataclasses
import io
import os
import statistics
import sys
import time
from collections.abc import Callable, Collection
from concurrent.futures import wait
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from distributed import Client
from scipy.optimize import nnls

from benchmarks import history, scale_picture
from benchmarks.families import problem_of
from benchmarks.history import FILE
from benchmarks.peers.tools import PythonOracle
from benchmarks.simulation import Costs, Load, Machine, simulate
from benchmarks.yardstick import arguments
from fwexp.distributed import Shards, shard
from fwexp.distributed.cluster import connected
from fwexp.driver.iteration import Budget
from fwexp.errors import ParameterError, exit_code
from fwexp.files import owned
from fwexp.problems.evaluation import Evaluator
from fwexp.solvers.choosing import check_options, start

WORKERS = (1, 2, 4, 8)
CLUSTER = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 10_000)
CLUSTER_N = 10_000_000  # examples, some for each of 10,000 workers
MESSAGES, REPEATS = 20, 5  # of every worker in a measurement, and how many of these: the fastest counts, others only disturb
CLOSE = 0.05  # in relation: where a simulation is as close, nothing more is made of the difference
CALL = 0.01  # seconds of a costly oracle call
TABLE, COSTS = FILE.parent / "scale.csv", FILE.parent / "scale-costs.csv"
COLUMNS = ["regime", "series", "workers", "calls_per_second", "passes", "bottleneck", "load"]


class Classes(PythonOracle):
    """Classes by functions, whose oracle sleeps; the input is the first of all features of a class."""

    def __init__(self, n: int, p: int, seconds: float, classes: int = 5, inputs: int = 20) -> None:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, inputs))
        scores = X @ rng.normal(size=(inputs, classes)) + 0.5 * np.sqrt(inputs) * rng.normal(size=(n, classes))
        super().__init__(X, scores.argmax(axis=1), classes)
        self.p, self.seconds = p, seconds

    def features(self, i, label):
        """Return a row with the input at the place of the class."""
        inputs = self.X.shape[1]
        index = label * self.p + np.arange(inputs)
        return sp.csr_array((self.X[i], index, [0, inputs]), shape=(1, self.num_classes * self.p))

    def max_oracle(self, i, w):
        """Sleep, and try all classes."""
        if self.seconds:
            time.sleep(self.seconds)
        return super().max_oracle(i, w.reshape(self.num_classes, -1)[:, : self.X.shape[1]])


class Regime(NamedTuple):
    """A problem, and how it is trained."""

    make: Callable  # of the seconds that an oracle call sleeps
    scheme: str
    lam: float
    gap: float
    coarse: dict  # options with which messages are as long as by default
    fine: dict  # and short

    def calls(self, n: int, workers: int, options: dict) -> float:
        """Return the oracle calls of a message of every worker."""
        return options["tau"] * workers if self.scheme == "oracles" else options["round"] * n


ORACLES = {"tau": 10, "in_flight": 2}, {"tau": 2, "in_flight": 2}
LOCAL = {"round": 0.5}, {"round": 0.05}
BARE = {"oracles": {"replay": False}, "local": {"snapshot": 1e9}}  # without what is measured apart
REGIMES = {
    "costly, small d": Regime(lambda seconds: Classes(480, 20, seconds).problem(), "oracles", 0.02, 0.01, *ORACLES),
    "costly, large d": Regime(lambda seconds: Classes(480, 200_000, seconds).problem(), "oracles", 0.02, 0.01, *ORACLES),
    "cheap, small d": Regime(lambda seconds: problem_of("chain", n=20_000), "local", 0.01, 0.01, *LOCAL),
    "cheap, large d": Regime(lambda seconds: problem_of("chain, sparse", n=4000, p=50_000), "local", 0.1, 0.05, *LOCAL),
}


class Run:
    """A training on some workers, a few calls at a time."""

    def __init__(self, regime: Regime, shards: Shards, **options) -> None:
        cls, options = shards.method("bcfw", {"scheme": regime.scheme, **options})
        self.shards, self.lam = shards, regime.lam
        self.solver = start(cls, shards, regime.lam, check_options(cls, options))

    def advance(self, calls: float) -> int:
        """Advance by so many calls; return how many were made."""
        before = self.solver.oracle_calls
        self.solver.advance(Budget(before + int(np.ceil(calls)), sys.maxsize))
        return self.solver.oracle_calls - before

    @property
    def sent(self) -> float:
        """Bytes of numbers so far, where they are counted."""
        return float(getattr(self.solver.state, "sent", 0.0))

    def gap(self, evaluate: Evaluator) -> float:
        """Return the gap of the weights of now, evaluated here."""
        point = self.solver.point("last")
        evaluation = evaluate(point.w, error=False)
        return 0.5 * self.lam * evaluation.norm_sq + evaluation.hinge - point.dual

    def end(self) -> None:
        """Wait for what workers were asked for."""
        if messages := list(getattr(self.solver, "_messages", ())):
            wait(messages)


class Cost(NamedTuple):
    """What some messages took."""

    workers: int
    calls: int
    messages: float  # of all workers
    seconds: float
    main: float  # seconds of the processor
    cpu_seconds: float  # seconds of all workers together
    bytes: float  # of numbers, there and back


def processors(shards: Shards) -> tuple[float, float]:
    """Return the processor time so far of this process, and of the workers that have parts."""
    places = sorted(set(shards._places.values()))
    return time.process_time(), sum(shards.client.run(time.process_time, workers=places).values())


def timed(regime: Regime, run: Run, options: dict) -> Cost:
    """Measure a run that is under way."""
    shards = run.shards
    calls = regime.calls(shards.n, shards.k, options)
    sent, (_, cpu_seconds) = run.sent, processors(shards)
    main, start = time.process_time(), time.perf_counter()
    made = run.advance(MESSAGES * calls)
    seconds, main = time.perf_counter() - start, time.process_time() - main
    return Cost(shards.k, made, made / calls * shards.k, seconds, main, processors(shards)[1] - cpu_seconds, run.sent - sent)


def measured(regime: Regime, shards: Shards, options: dict, **more) -> Cost:
    """Return what messages took, at the fastest of several times."""
    run = Run(regime, shards, **options, **more)
    run.advance(3 * regime.calls(shards.n, shards.k, options))
    costs = [timed(regime, run, options) for _ in range(REPEATS)]
    run.end()
    return min(costs, key=lambda cost: cost.seconds / cost.calls)


def passes_to_gap(regime: Regime, shards: Shards) -> float:
    """Return how many passes a run takes to the gap of the regime, with default options."""
    run, evaluate = Run(regime, shards), Evaluator(regime.make(0.0))
    step = 0.25 if regime.scheme == "oracles" else regime.coarse["round"]
    while run.gap(evaluate) > regime.gap:
        run.advance(step * shards.n)
    run.end()
    return run.solver.oracle_calls / shards.n


# --- costs ---


def fitted(regime: Regime, client: Client, spread: Callable[[int], Shards]) -> tuple[Costs, Load, float]:
    """Return the costs of a regime, by runs with 1 and 2 workers whose messages are long and short, and what Dask takes idle."""
    found, local, resting = [], regime.scheme == "local", idle(client)
    for workers in (1, 2):
        shards = spread(workers)
        found += [measured(regime, shards, how, **BARE[regime.scheme]) for how in (regime.coarse, regime.fine)]
    calls, messages, rounds, main, cpu_seconds = (
        np.array(column)
        for column in zip(*((c.calls, c.messages, c.messages / c.workers, c.main, c.cpu_seconds) for c in found), strict=True)
    )
    seconds = np.array([cost.seconds for cost in found])
    main = np.maximum(main - resting[0] * seconds, 0.2 * main)  # the rest is there without messages, too
    own = resting[1] / len(client.nthreads()) * messages / rounds
    cpu_seconds = np.maximum(cpu_seconds - own * seconds, 0.2 * cpu_seconds)
    copy = _copying(regime, shards) if local else (0.0, 0.0)
    once, message = _least_squares([rounds if local else calls, messages], main)
    work, worker_message = _least_squares([calls, messages], cpu_seconds)
    call = 0.0 if local else statistics.median(_asleep() for _ in range(20))
    serial = work if local else min(work, max(0.0, found[0].seconds / found[0].calls - call))  # the rest is done meanwhile
    short = found[1]  # one worker, which waits for what the main process does, and the other way round
    waiting = short.seconds - main[1] - cpu_seconds[1]
    costs = Costs(
        call=call,
        work=serial,
        aside=work - serial,
        step=0.0 if local else once,
        message=message,
        worker_message=worker_message,
        exchange=once if local else 0.0,
        latency=max(0.0, waiting / short.messages) if local else 0.0,  # `oracles` has another message on its way
        copy=copy[0],
        worker_copy=copy[1],
    )
    weights = 8.0 * shards.num_weights
    if local:
        load = Load("local", shards.n, weights, found[2].bytes / found[2].messages - weights, round=regime.coarse["round"])
        return costs, load, sum(resting)
    answer = shards.gather("answers", lambda k: (np.arange(1), np.zeros(shards.num_weights), shards.dense), [0])[0][0]
    size = answer.psi.nbytes if shards.dense else 16.0 * len(answer.psi.indices)
    load = Load("oracles", shards.n, weights, regime.coarse["tau"] * (8.0 + size), **regime.coarse)
    return costs, load, sum(resting)


def _least_squares(columns: list, wanted) -> np.ndarray:
    """Return factors >= 0, as exact in relation for what is short as for what is long."""
    return nnls(np.column_stack(columns) / wanted[:, None], np.ones(len(wanted)))[0]


def _copying(regime: Regime, shards: Shards) -> tuple[float, float]:
    """Return the processor time of a copy of an example's dual block, in the main process and on its worker."""
    run = Run(regime, shards, **regime.coarse)
    run.advance(4 * shards.n)
    main, cpu_seconds = processors(shards)
    run.solver.saved()
    return tuple((after - before) / shards.n for before, after in zip((main, cpu_seconds), processors(shards), strict=True))


def _asleep() -> float:
    start = time.perf_counter()
    time.sleep(CALL)
    return time.perf_counter() - start


def with_bytes(large: Costs, load: Load, small: Costs) -> Costs:
    """Return costs of messages with many bytes, of which those of messages with few were taken away."""
    size = load.sent + load.returned
    return dataclasses.replace(
        large,
        message=min(small.message, large.message),
        worker_message=min(small.worker_message, large.worker_message),
        byte=max(0.0, large.message - small.message) / size,
        worker_byte=max(0.0, large.worker_message - small.worker_message) / size,
    )


def idle(client: Client) -> tuple[float, float]:
    """Return the shares of a core that this process, and all workers together, take where nothing is to be done."""
    start, main, cpu_seconds = time.perf_counter(), time.process_time(), sum(client.run(time.process_time).values())
    time.sleep(2.0)
    main, cpu_seconds = time.process_time() - main, sum(client.run(time.process_time).values()) - cpu_seconds
    return main / (time.perf_counter() - start), cpu_seconds / (time.perf_counter() - start)


def machine_of(costs: Costs, load: Load, row, known: pd.DataFrame) -> Machine:
    """Return this machine as it was with 1, 2 and 4 workers: loaded by others, and with what its cores share."""
    machine, names = Machine(int(row["cores"]), row["idle"]), ("alone", "crowded", "turns")
    for number, (workers, rate) in enumerate(zip(known["workers"][:3], known["calls_per_second"], strict=False)):
        low, high = machine.turns, 4.0
        if simulate(costs, load, int(workers), machine).calls_per_second <= (1 + CLOSE) * rate:
            continue  # The more cores share, the slower: nothing more is to be found.
        for _ in range(10):
            middle = (low + high) / 2
            slow = machine._replace(**dict.fromkeys(names[number:], middle))
            if simulate(costs, load, int(workers), slow).calls_per_second > (1 + CLOSE) * rate:
                low = middle
            else:
                high = middle
        machine = machine._replace(**dict.fromkeys(names[number:], low))
    return machine


# --- tables ---


def measure(name: str, client: Client) -> tuple[dict, list[tuple]]:
    """Return the costs of a regime, and rows of what was measured."""
    regime = REGIMES[name]
    problem, rows = regime.make(CALL), []
    costs, load, resting = fitted(regime, client, lambda k: shard(problem, client, k))
    for workers in WORKERS:
        shards = shard(problem, client, workers)
        cost = measured(regime, shards, regime.coarse)
        busy = os.getloadavg()[0] / os.cpu_count()
        rows.append((name, "measured", workers, cost.calls / cost.seconds, passes_to_gap(regime, shards), "", busy))
        print(*rows[-1], flush=True)
    machine = {"cores": os.cpu_count(), "idle": resting}
    return {"regime": name} | dataclasses.asdict(costs) | dataclasses.asdict(load) | machine, rows


def of_row(kind: type, row) -> Costs | Load:
    """Return costs or a load from a row of their table."""
    return kind(**{name: row[name] for name in kind.__annotations__})


def passes_of(load: Load, workers, passes) -> Callable[[int, int], float]:
    """Return the passes that a gap takes with so many workers and examples, relative to one worker, fitted to what was measured."""
    workers, ratio = np.asarray(workers, dtype=float), np.asarray(passes) / passes[0]
    if load.scheme == "local":
        power = np.log(workers) @ np.log(ratio) / (np.log(workers) @ np.log(workers))
        return lambda k, n: k ** max(0.0, power)

    def share(k, n):
        return np.minimum(0.5, k * load.in_flight * load.tau / n)

    first = share(1, load.n)
    steps = share(workers, load.n) - first
    slope = max(0.0, steps @ (ratio - 1) / (steps @ steps))
    return lambda k, n: 1 + slope * max(0.0, share(k, n) - first)


def simulated(costs: pd.DataFrame, measurements: pd.DataFrame, names: Collection[str]) -> pd.DataFrame:
    """Return rows of this machine and of an ideal cluster for some regimes, by the costs of all and by measured passes."""
    rows, by_name = [], costs.set_index("regime")
    for name, row in by_name[by_name.index.isin(names)].iterrows():
        load, own = of_row(Load, row), of_row(Costs, row)
        small = name.replace("large", "small")
        if small != name and small in by_name.index:
            own = with_bytes(own, load, of_row(Costs, by_name.loc[small]))
        known = measurements[measurements["regime"] == name]
        passes = passes_of(load, known["workers"], known["passes"].to_numpy())
        big = dataclasses.replace(load, n=CLUSTER_N)
        here = machine_of(own, load, row, known)
        for series, counts, size, machine in (("machine", WORKERS, load, here), ("cluster", CLUSTER, big, None)):
            for workers in counts:
                found = simulate(own, size, workers, machine)
                rows.append((name, series, workers, found.calls_per_second, passes(workers, size.n), found.bottleneck, np.nan))
    return pd.DataFrame(rows, columns=COLUMNS)


def main() -> int:
    """Measure and simulate, print, and write the tables."""
    about = "Measure and simulate how training grows with workers."
    given = arguments(about, "regime", REGIMES, simulate="measure nothing: take stored costs and measurements")
    owned.check([TABLE, COSTS, TABLE.with_suffix(".png")], history.KIND)
    costs, table = (pd.read_csv(path) if path.exists() else pd.DataFrame(columns=COLUMNS) for path in (COSTS, TABLE))
    is_measured = table["series"] == "measured"
    measurements, simulations = table[is_measured], table[~is_measured]
    if not given.simulate:
        with connected("bench", n_workers=max(WORKERS)) as client:
            for name in given.names or REGIMES:
                cost, rows = measure(name, client)
                costs = history.replaced(costs, pd.DataFrame([cost]), "regime")
                measurements = history.replaced(measurements, pd.DataFrame(rows, columns=COLUMNS), "regime")
                history.write({COSTS: costs, TABLE: measurements})
    known = [name for name in costs["regime"] if name in {*measurements["regime"]}]
    chosen = given.names if given.simulate and given.names else known or list(REGIMES)
    if lacking := sorted(set(chosen) - set(known)):
        unmeasured = f"{'; '.join(lacking)} (measured: {'; '.join(known) or 'none'})"
        raise ParameterError(f"--simulate needs regimes that were measured, got {unmeasured}; run without --simulate first")
    simulations = history.replaced(simulations, simulated(costs, measurements, chosen), "regime")
    table = pd.concat([measurements, simulations], ignore_index=True)
    history.write({TABLE: table})
    picture = io.BytesIO()
    scale_picture.draw(scale_picture.data(pd.read_csv(TABLE).fillna({"bottleneck": ""}))).savefig(picture, dpi=110)
    history.write({TABLE.with_suffix(".png"): picture.getvalue()})
    print(side_by_side(table).to_string(index=False))
    return 0


def side_by_side(table: pd.DataFrame) -> pd.DataFrame:
    """Return calls per second, measured and simulated on this machine, and the second over the first."""
    rates = table.pivot_table(index=["regime", "workers"], columns="series", values="calls_per_second")[["measured", "machine"]]
    rates = rates.dropna().assign(ratio=lambda rows: rows["machine"] / rows["measured"])
    return rates.rename(columns={"machine": "simulated"}).round(3).reset_index()


if __name__ == "__main__":
    sys.exit(exit_code("scale", main))
