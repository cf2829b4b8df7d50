"""Folders for files of a while."""

import os
import tempfile


class TempDirectory:
    """A folder that goes with the object."""

    def __init__(self, custom_path=None):
        self.temp_dir = custom_path or tempfile.mkdtemp()

    def relpath(self, name):
        """The path of a file in the folder."""
        return os.path.join(self.temp_dir, name)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        import shutil

        shutil.rmtree(self.temp_dir, ignore_errors=True)

    def listdir(self):
        """The files in the folder."""
        return os.listdir(self.temp_dir)


def tempdir(custom_path=None):
    """A new folder."""
    return TempDirectory(custom_path)
