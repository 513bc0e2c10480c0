"""Readers of common files: columns, CoNLL-U, SVM^light and SVM^hmm, models of CRFsuite, templates of CRF++, numpy's npz.

Readers ``read_...`` return sequences for estimators; those of ``fwexp.data.readers.file_problems`` return problems for solvers.
"""

from fwexp.data.readers.columns import Columns, read_columns
from fwexp.data.readers.conllu import Conllu, read_conllu
from fwexp.data.readers.crfsuite import read_crfsuite
from fwexp.data.readers.lines import read_template
from fwexp.data.readers.svmlight import Svmlight, read_svmlight

__all__ = ["FORMATS", "read_columns", "read_conllu", "read_crfsuite", "read_svmlight", "read_template"]

FORMATS = {kind.name: kind for kind in (Columns, Conllu, Svmlight)}
