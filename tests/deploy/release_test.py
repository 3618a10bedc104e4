#!/usr/bin/env python3
"""What deploy/release.sh makes is whole, signed, and works where it is installed.

    release_test.py SOURCE_DIR
"""

import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SOURCE / "tests/support"))
import missing_package  # noqa: E402

VERSION = re.search(r"project\(coppice VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]
FIT = """
import warnings
import numpy as np
import coppice
warnings.simplefilter("ignore")
rows = np.random.default_rng(1).random((2000, 3))
model = coppice.PrivateTreeClassifier(epsilon=5, bounds=(0, 1), classes=[0, 1]).fit(rows, rows[:, 0] > 0.5)
assert model.score(rows, rows[:, 0] > 0.5) > 0.9
assert coppice.__version__ == VERSION, coppice.__version__
"""
PAGE_DEVICE = """
import * as device from '@coppice/device';
import * as node from '@coppice/device/node';
if (Object.keys(device).length === 0 || Object.keys(node).length === 0) throw new Error('nothing is exported');
"""


def run(*command, **settings):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settings)
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
    return done.stdout


class Refusals(unittest.TestCase):
    def refuse(self, *arguments):
        done = subprocess.run([SOURCE / "deploy/release.sh", *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr

    def test_a_wrong_line_builds_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn(f"the sources are of version {VERSION}", self.refuse("9.9.9", f"{folder}/out"))
            self.assertIn("which version", self.refuse(VERSION))
            self.assertIn("--key", self.refuse("--key", "/nowhere", VERSION, f"{folder}/out"))
            key = pathlib.Path(folder) / "key.pem"
            run("openssl", "genpkey", "-algorithm", "RSA", "-out", key)
            self.assertIn("not an Ed25519 key", self.refuse("--key", key, VERSION, f"{folder}/out"))
            self.assertIn("is not empty", self.refuse(VERSION, folder))


class Release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not (SOURCE / ".git").exists():
            missing_package.skip("the sources have no history to clone")
        cls.folder = tempfile.TemporaryDirectory(prefix="coppice-release-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.work = pathlib.Path(cls.folder.name)
        cls.key = cls.work / "key.pem"
        run("openssl", "genpkey", "-algorithm", "ED25519", "-out", cls.key)
        cls.out = cls.work / "out"
        run(SOURCE / "deploy/release.sh", "--key", cls.key, VERSION, cls.out)

    def one(self, pattern):
        found = list(self.out.glob(pattern))
        self.assertEqual(len(found), 1, f"{pattern}: {found}")
        return found[0]

    def test_every_file_is_summed_and_the_sums_are_signed(self):
        run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=self.out)
        summed = {line.split("  ", 1)[1] for line in (self.out / "SHA256SUMS").read_text().splitlines()}
        files = {str(file.relative_to(self.out)) for file in self.out.rglob("*") if file.is_file()}
        self.assertEqual(files - summed, {"SHA256SUMS", "SHA256SUMS.sig", "release-key.pem"})
        run("openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "release-key.pem", "-rawin", "-in", "SHA256SUMS",
            "-sigfile", "SHA256SUMS.sig", cwd=self.out)

    def test_notes_and_sources_are_of_the_version(self):
        self.assertTrue((self.out / "NOTES.md").read_text().startswith(f"## {VERSION}"))
        with tarfile.open(self.one("coppice-*.tar.gz")) as sources:
            names = sources.getnames()
        self.assertIn(f"coppice-{VERSION}/README.md", names)
        self.assertTrue(all(name.split("/")[0] == f"coppice-{VERSION}" for name in names))

    def test_the_packages_are_there(self):
        packages = {file.name.split("_")[0] for file in (self.out / "debian").glob("*.deb")}
        self.assertLessEqual({"coppice", "coppiced", "coppice-relay", "libcoppice-device1", "python3-coppice"}, packages)
        self.assertEqual(len(list((self.out / "debian").glob("*.spdx.json"))), len(packages))

    def test_the_wheel_trains(self):
        self.one("python/coppice-*.tar.gz")
        packages = self.work / "wheel"
        zipfile.ZipFile(self.one("python/*.whl")).extractall(packages)
        run("/usr/bin/python3", "-c", f"VERSION = {VERSION!r}\n{FIT}", env={**os.environ, "PYTHONPATH": str(packages)},
            cwd=self.work)

    def test_the_npm_package_loads(self):
        folder = self.work / "page"
        folder.mkdir()
        (folder / "package.json").write_text('{"type": "module", "private": true}')
        run("npm", "install", "--silent", "--offline", "--no-audit", "--no-fund", self.one("npm/*.tgz"), cwd=folder)
        (folder / "use.js").write_text(PAGE_DEVICE)
        run("node", "use.js", cwd=folder)

    def test_the_jar_has_its_classes(self):
        classes = zipfile.ZipFile(self.one("jvm/*.jar")).namelist()
        self.assertIn("coppice/device/Device.class", classes)
        self.one("jvm/libcoppice_jni-*.so")


if __name__ == "__main__":
    unittest.main()
