"""``tags``: my own sentences, one token per line, its tag in the last column."""

from fwexp.data import DataFile, Dataset
from fwexp.data.own import from_columns


def read(options, data_dir):
    """Return the training and the test problem."""
    train, test = DATASET.locate(data_dir).values()
    return from_columns(train, test).problems


DATASET = Dataset(
    name="tags",
    title="words and their tags",
    shape="as the files have it",
    files=(DataFile("tags/train.txt"), DataFile("tags/test.txt")),
    read=read,
)
