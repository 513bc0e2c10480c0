"""Readers of common files.

Formats are columns, CSV, CoNLL-U, SVM^light and SVM^hmm, texts and models of CRFsuite, templates of CRF++, Pharaoh's alignments,
and numpy's npz. Readers ``read_...`` return sequences for estimators; those of ``fwexp.data.readers.file_problems`` return problems
for solvers.
"""

from fwexp.data.readers.attributes import Attributes, read_attributes
from fwexp.data.readers.columns import Columns, read_columns
from fwexp.data.readers.conllu import Conllu, read_conllu
from fwexp.data.readers.crfsuite import read_crfsuite
from fwexp.data.readers.csv_files import Csv, read_csv
from fwexp.data.readers.lines import read_template
from fwexp.data.readers.pharaoh import as_pharaoh, read_pharaoh
from fwexp.data.readers.svmlight import Svmlight, read_svmlight

__all__ = [
    "FORMATS",
    "as_pharaoh",
    "read_attributes",
    "read_columns",
    "read_conllu",
    "read_crfsuite",
    "read_csv",
    "read_pharaoh",
    "read_svmlight",
    "read_template",
]

FORMATS = {kind.name: kind for kind in (Columns, Csv, Conllu, Svmlight, Attributes)}
