"""Puts the start-up hook beside the package: `AFTERWARD=1` then works for processes that nothing wraps."""

import os

from setuptools import setup
from setuptools.command.build_py import build_py

HOOK = "afterward-startup.pth"


class WithHook(build_py):
    """Python reads `.pth` files in site-packages as it starts; this one looks at one variable and does nothing else."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            self.copy_file(os.path.join("src", HOOK), os.path.join(self.build_lib, HOOK))

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        return [*super().get_outputs(include_bytecode), os.path.join(self.build_lib, HOOK)]


setup(cmdclass={"build_py": WithHook})
