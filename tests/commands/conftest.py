from tests.run.conftest import config, make_result  # noqa: F401 (fixtures)
