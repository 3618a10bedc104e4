"""Builds wheels: `python3 -m build --no-isolation client/python`.

The C++ core is built by CMake, as everywhere; this only says which target and where from. A room's sources are compiled
together, which is quicker, and no warning stops a user's build. A source distribution
holds the sources of the core in the folder `source`.
"""

import pathlib
import re
import shutil

from setuptools import find_packages
from setuptools.command.sdist import sdist
from skbuild import setup

HERE = pathlib.Path(__file__).resolve().parent
CORE = HERE / "source" if (HERE / "source").is_dir() else HERE.parents[1]
CORE_FILES = ["CMakeLists.txt", "LICENSE", "cmake", "client", "common", "deploy", "proto", "server", "CHANGELOG.md",
              "SECURITY.md", "docs/operating.md", "docs/protocol.md", "docs/storage.md", "docs/threat-model.md"]


def version():
    return re.search(r"VERSION (\d+\.\d+\.\d+)", (CORE / "CMakeLists.txt").read_text()).group(1)


class SourceDistribution(sdist):
    """Takes the core's sources along."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        for name in CORE_FILES:
            source, target = CORE / name, pathlib.Path(base_dir) / "source" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("_skbuild", "dist", "*.egg-info", "coppice-[0-9]*"))
            else:
                shutil.copy(source, target)


setup(
    name="coppice",
    version=version(),
    description="Decision trees learned under differential privacy",
    license="Apache-2.0",
    python_requires=">=3.11,<3.12",
    packages=find_packages(include=["coppice", "coppice.*"]),
    package_data={"coppice": ["py.typed", "*.pyi"]},
    install_requires=["numpy"],
    extras_require={
        "sklearn": ["pandas", "scikit-learn"],
        "remote": ["grpcio", "pandas", "protobuf"],
        "plots": ["matplotlib"],
    },
    cmdclass={"sdist": SourceDistribution},
    cmake_source_dir=str(CORE),
    cmake_args=["-DCOPPICE_BUILD_TESTS=OFF", "-DCOPPICE_UNITY=ON", "-DCOPPICE_PYTHON=ON", "-DCOPPICE_PYTHON_DIR=."],
    cmake_install_target="install-python",
    include_package_data=False,
    zip_safe=False,
)
