"""Folders for the length of a test."""

import os
import tempfile


class TempDirectory:
    """A folder that is not kept."""

    def __init__(self):
        self.temp_dir = tempfile.mkdtemp()
        self.path = self.temp_dir

    def relpath(self, name):
        """The path of a file in it."""
        return os.path.join(self.temp_dir, name)

    def listdir(self):
        """Names of the files in it."""
        return os.listdir(self.temp_dir)


def tempdir(custom_path=None, keep_for_debug=False):
    """A folder that is not kept."""
    return TempDirectory()
