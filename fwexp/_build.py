"""How an editable installation of a checkout is found; used while installing only (``tool.setuptools.cmdclass``).

The top level of a checkout is a folder that may be called fwexp as well. A script next to it has that folder on its path,
as a namespace package, and Python takes it before it asks setuptools' finder for the package itself. So a finder comes
first that asks Python as usual, and takes setuptools' answer instead of a namespace package.
"""

from setuptools.command import editable_wheel

INSTALL = "sys.meta_path.append(_EditableFinder)"
FIRST = """

class _BeforeNamespaces:
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname not in MAPPING:
            return None
        found = PathFinder.find_spec(fullname, path, target)
        usual = found is not None and found.origin is not None
        return found if usual else _EditableFinder.find_spec(fullname, path, target)
"""


class EditableWheel(editable_wheel.editable_wheel):
    """An editable wheel that is found before namespace packages."""

    def run(self) -> None:
        template = editable_wheel._finder_template

        def finder(*args, **kwargs) -> str:
            text = template(*args, **kwargs)
            if text.count(INSTALL) != 1:
                raise RuntimeError("setuptools installs its finder of editable packages in another way than expected")
            return text.replace(INSTALL, "sys.meta_path.insert(0, _BeforeNamespaces)") + FIRST

        editable_wheel._finder_template = finder
        try:
            super().run()
        finally:
            editable_wheel._finder_template = template
