from tests.data.conftest import horseseg_without_h5py, letter_file, real_data  # noqa: F401 (fixtures)
from tests.run.conftest import config, make_result  # noqa: F401 (fixtures)
