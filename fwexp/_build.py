"""How an editable installation of a checkout is found; used while installing only (``tool.setuptools.cmdclass``).

The top level of a checkout is a folder that may be called fwexp as well. A script beside it has that folder on its path,
as a namespace package, and Python takes it before it asks setuptools' finder for the package itself. So the finder has to
be asked first.
"""

from setuptools.command import editable_wheel

LAST, FIRST = "sys.meta_path.append(_EditableFinder)", "sys.meta_path.insert(0, _EditableFinder)"


class EditableWheel(editable_wheel.editable_wheel):
    """An editable wheel whose finder comes first."""

    def run(self) -> None:
        template = editable_wheel._finder_template

        def finder(*args, **kwargs) -> str:
            text = template(*args, **kwargs)
            if text.count(LAST) != 1:
                raise RuntimeError("setuptools installs its finder of editable packages in another way than expected")
            return text.replace(LAST, FIRST)

        editable_wheel._finder_template = finder
        try:
            super().run()
        finally:
            editable_wheel._finder_template = template
