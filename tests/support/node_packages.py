"""Installs packages of npm that tests run beside, such as DuckDB and onnxruntime."""

import fcntl
import pathlib
import shutil
import subprocess


def install(listed_in, tools, names):
    """Installs what the lock file of a folder lists into `tools`, unless `names` are there; several tests may ask at once.

    Returns the reason why it cannot, or None.
    """
    listed_in, tools = pathlib.Path(listed_in), pathlib.Path(tools)
    if _are_there(tools, names):
        return None
    if not (shutil.which("node") and shutil.which("npm")):
        return "node and npm are not installed"
    tools.mkdir(parents=True, exist_ok=True)
    with open(tools / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _are_there(tools, names):
            return None
        for name in ("package.json", "package-lock.json"):
            shutil.copy(listed_in / name, tools / name)
        installed = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], cwd=tools, check=False)
        return "the npm registry cannot be reached" if installed.returncode else None


def _are_there(tools, names):
    return all((tools / "node_modules" / name / "package.json").exists() for name in names)
