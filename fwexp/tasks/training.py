"""The task of training at one lam, as by `fwexp.solve`."""

from typing import ClassVar

from fwexp.driver import settings as checks
from fwexp.problems.loss_terms import make_objective
from fwexp.problems.oracle_check import OracleCheck
from fwexp.solvers import check_options, get_solver
from fwexp.tasks.task import Task
from fwexp.tasks.train import train
from fwexp.tasks.training_settings import Settings, check_iterates


class Train(Task):
    """Training at one lam, as by `fwexp.solve`."""

    name = "train"
    title = "training at one lam"
    solvers = None  # every one
    reads: ClassVar = {name: getattr(Settings, name) for name in checks.CHECKS}
    added_later = ("iterate", "train_error", "check", "objective", "temperature")

    @classmethod
    def check_settings(cls, given, solver, options):
        values = super().check_settings(given, solver, options)
        make_objective(values["objective"], values["temperature"])
        runs = get_solver(solver)
        if not runs.chooses:  # Otherwise the iterates are not known yet.
            values["iterates"] = check_iterates(runs, check_options(runs, options), values["iterates"], values["iterate"])
        return values

    def run(self, problem, solver, options, *, test=None, validation=None, metrics=None, verbose=False, checkpoint=None):
        more = {"test": test, "validation": validation, "metrics": metrics, "verbose": verbose, "checkpoint": checkpoint}
        return train(Settings(problem=problem, solver=solver, options=options, **self.given, **more), OracleCheck)
