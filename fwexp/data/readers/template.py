"""Templates of CRF++ from files."""

from fwexp.data.readers.lines import naming, read_text
from fwexp.options import check_path
from fwexp.templates import Template
from fwexp.types import AnyPath


def read_template(path: AnyPath) -> Template:
    """Return the template in a file of CRF++.

    Parameters
    ----------
    path : path
        A text in UTF-8, as `Template` describes it.

    Returns
    -------
    Template
        A function of a sentence, for the parameter ``features`` of estimators.

    Raises
    ------
    ValueError
        If the file cannot be read or is not a template; the message names the line.

    See Also
    --------
    read_columns, read_conllu
    """
    path = check_path("path", path)
    with naming(path):
        return Template(read_text(path))
