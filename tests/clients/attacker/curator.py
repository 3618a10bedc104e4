"""A real coppiced with an access policy, for clients that attack it: its tokens, its memory, its processor time.

It stops when its `with` block ends, however that ends, and is killed with the test that started it.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile

import grpc

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
sys.path[:0] = [os.path.join(ROOT, "tests/clients"), os.path.join(ROOT, "tests/support")]

from eventually import eventually, port_of  # noqa: E402
from reflected import ReflectedClient  # noqa: E402

BIN = os.environ.get("COPPICE_BIN_DIR", os.path.join(ROOT, "build/release/bin"))
PR_SET_PDEATHSIG = 1

STUDIES = "coppice.v1.StudyService"
REPORTS = "coppice.v1.ReportService"
MODELS = "coppice.v1.ModelService"
DATASETS = "coppice.v1.DatasetService"
TRAINING = "coppice.v1.TrainingService"
ADMIN = "coppice.v1.AdminService"
DONE = 3  # of JobState; what is greater has failed


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def make_token(name, roles, resources=()):
    """Returns a new token and its entry for a policy."""
    command = [f"{BIN}/coppiced", "token", "--name", name]
    for role in roles:
        command += ["--role", role]
    for resource in resources:
        command += ["--resource", resource]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    text = told.stdout + told.stderr
    entry = {"name": name, "sha256": re.search(r"\b[0-9a-f]{64}\b", text).group(0), "roles": list(roles)}
    if resources:
        entry["resources"] = list(resources)
    return re.search(r"coppice_[A-Za-z0-9_-]+", text).group(0), entry


def await_job(client, job):
    """Returns once the job has made its model."""

    def has_ended():
        told = client.call(TRAINING, "GetJob", name=f"jobs/{job}").job
        assert told.state <= DONE, f"job {job} ended in state {told.state}: {told.reason}"
        return told.state == DONE

    eventually(has_ended, lambda: f"job {job} does not end")


def outcome_of(call):
    """Returns the response of a call, or the name of the code that it failed with."""
    try:
        return call()
    except grpc.RpcError as error:
        return error.code().name


class Curator:
    """`policy` is the policy's JSON as a dict; without one, everybody on this machine may do everything. "{certs}" in
    a flag is the folder of the certificates."""

    def __init__(self, *flags, policy=None, limits=()):
        self._flags, self._policy, self._limits = list(flags), policy, list(limits)
        self._exit = contextlib.ExitStack()
        self._process = None

    def __enter__(self):
        self.folder = self._exit.enter_context(tempfile.TemporaryDirectory())
        self.certs = f"{self.folder}/certs"
        subprocess.run([f"{ROOT}/deploy/make-certs.sh", self.certs], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        self._log = self._exit.enter_context(open(f"{self.folder}/log", "wb"))
        self.start()
        return self

    def __exit__(self, *error):
        if error[0] is not None:
            sys.stderr.write("the last lines of the daemon's log:\n" + "\n".join(self.log().splitlines()[-30:]) + "\n")
        self.stop()
        self._exit.close()

    def start(self):
        port_file = f"{self.folder}/port"
        with contextlib.suppress(FileNotFoundError):
            os.remove(port_file)
        command = self._limits + [f"{BIN}/coppiced", "--data-dir", f"{self.folder}/store", "--listen", "127.0.0.1:0",
                                  "--port-file", port_file, "--tls-cert", f"{self.certs}/server.crt",
                                  "--tls-key", f"{self.certs}/server.key"]
        if self._policy is not None:
            self._write_policy()
            command += ["--policy", f"{self.folder}/policy.json"]
        command += [flag.format(certs=self.certs) for flag in self._flags]
        self._process = subprocess.Popen(command, stdout=self._log, stderr=self._log, preexec_fn=die_with_parent)
        port = port_of(self._process, pathlib.Path(port_file), pathlib.Path(self.folder, "log"))
        self.address = f"127.0.0.1:{port}"

    def stop(self):
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait()

    def reload(self, policy):
        """Replaces the policy, and returns once it is in force."""
        self._policy = policy
        before = self.log().count("policy")
        self._write_policy()
        self._process.send_signal(signal.SIGHUP)
        eventually(lambda: self.log().count("policy") > before, lambda: "coppiced does not read its policy again")

    def client(self, token=None, certificate=None, options=()):
        everything = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1),
                      ("grpc.use_local_subchannel_pool", 1)]
        return ReflectedClient(self.address, f"{self.certs}/ca.crt", everything + list(options), token=token,
                               certificate=certificate)

    def log(self):
        with open(f"{self.folder}/log", errors="replace") as file:
            return file.read()

    def pid(self):
        return self._process.pid

    def _status(self, field):
        with open(f"/proc/{self._process.pid}/status") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith(field + ":"))

    def memory_mib(self):
        return self._status("VmRSS")

    def peak_mib(self):
        return self._status("VmHWM")

    def processor_seconds(self):
        with open(f"/proc/{self._process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _write_policy(self):
        with open(f"{self.folder}/policy.json", "w") as file:
            json.dump(self._policy, file)


def schema(features=("x", "z"), classes=("no", "yes"), label="y"):
    return {"features": [{"name": name, "numeric": {"min": 0, "max": 1}} for name in features],
            "label": label, "classes": list(classes)}


def cap(epsilon_nanos=10**9):
    return {"epsilon_nanos": epsilon_nanos, "composition": 1, "neighbours": 1}


def fill_dataset(client, name, rows, features=("x", "z"), classes=("no", "yes"), epsilon_nanos=10**9):
    """Makes a dataset of random rows that is ready for training."""
    client.call(DATASETS, "CreateDataset", request_id=f"make-{name}", dataset_id=name,
                schema=schema(features, classes), cap=cap(epsilon_nanos))
    block = {"columns": [{"values": [random.random() for _ in range(rows)]} for _ in features],
             "labels": [random.randrange(len(classes)) for _ in range(rows)]}
    client.call(DATASETS, "AppendRows", dataset=f"datasets/{name}", first_row=0, rows=block, complete=True)
