"""A PostgreSQL server for one test, in a folder of its own."""

import os
import pathlib
import shutil
import subprocess
import tempfile

BIN = pathlib.Path("/usr/lib/postgresql/15/bin")


def is_installed():
    return (BIN / "initdb").exists()


class PostgresServer:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="coppice-sql-"))
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
        self._run("initdb", "-D", str(self.folder / "data"), "-U", "owner", "-A", "trust", "-E", "UTF8", "--locale=C",
                  "--no-sync")
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-o", f"-k {self.folder} -c listen_addresses=''",
                  "-l", str(self.folder / "log"), "start")

    @property
    def uri(self):
        return f"postgresql:///postgres?host={self.folder}&user=owner"

    def execute(self, script):
        subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", self.uri], input=script, text=True, check=True)

    def stop(self):
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-m", "immediate", "stop")
        shutil.rmtree(self.folder)

    def _run(self, program, *arguments):
        as_its_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []  # it refuses to run as root
        subprocess.run([*as_its_user, str(BIN / program), *arguments], check=True, stdout=subprocess.DEVNULL)
