from tests.data.conftest import letter_file, real_data  # noqa: F401 (fixtures)
from tests.run.conftest import config, make_result  # noqa: F401 (fixtures)
