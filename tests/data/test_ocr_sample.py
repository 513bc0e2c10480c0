import pytest

from fwexp.data import load_dataset
from fwexp.errors import ParameterError
from fwexp.run.config import canonical, run_key


def test_only_the_training_words_are_sampled(letter_file, tmp_path):
    letter_file.write(tmp_path)
    train, test = load_dataset("ocr", data_dir=tmp_path)
    one, same_test = load_dataset("ocr", data_dir=tmp_path, n=1)
    both, _ = load_dataset("ocr", data_dir=tmp_path, n=2)
    assert (train.n, one.n) == (2, 1)
    assert one.labels.tolist() in ([2, 3, 4], [23, 24])
    assert both.labels.tolist() == train.labels.tolist()
    assert same_test.labels.tolist() == test.labels.tolist()


def test_a_size_beyond_the_data_is_one_line(letter_file, tmp_path):
    letter_file.write(tmp_path)
    with pytest.raises(ParameterError, match=r"^dataset ocr: n must be at most 2, the number of training words, got 3$"):
        load_dataset("ocr", data_dir=tmp_path, n=3)


def test_runs_on_all_words_keep_their_keys():
    config = {"dataset": {"name": "ocr"}, "solver": {"name": "fw"}, "lam": 1.0}
    assert canonical(config)["dataset"] == {"name": "ocr", "split": "ocr2"}
    sampled = config | {"dataset": {"name": "ocr", "n": 100}}
    assert run_key(sampled) != run_key(config)
