#!/usr/bin/env python3
"""The files of deploy/ agree with the programs: deploy_test.py BIN_DIR SOURCE_DIR

The full configuration has every setting of coppiced, and nothing else; both configurations, the sample policy, the
unit and the Kubernetes manifest pass `coppiced --check-config`; an unknown setting does not. The same holds for
coppice-relay and its configuration. What `cmake --install` puts under a prefix names paths under that prefix.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN, SOURCE = sys.argv[1:3]
sys.path.insert(0, os.path.join(SOURCE, "tests/support"))
import missing_package  # noqa: E402

DEPLOY = os.path.join(SOURCE, "deploy")
COPPICED = os.path.join(BIN, "coppiced")
RELAY = os.path.join(BIN, "coppice-relay")

# Command-line only, as a file cannot sensibly set them.
NOT_IN_FILES = {"help", "version", "config", "check-config", "self-test"}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def read(*path):
    with open(os.path.join(DEPLOY, *path), encoding="utf-8") as file:
        return file.read()


def flags_of_help(program=COPPICED):
    text = run(program, "--help").stdout
    options = text[text.index("Options:"):]
    for end in ("Subcommands:", "Examples:"):
        options = options.split(end)[0]
    return set(re.findall(r"^\s+(?:-\w,)?--([a-z-]+)", options, re.MULTILINE)) - NOT_IN_FILES - {"check"}


def keys_of(toml):
    """Returns the settings, also those commented out, which show a default."""
    return re.findall(r"^(?:# ?)?([a-z-]+) = ", toml, re.MULTILINE)


class Place:
    """A folder with certificates, like a machine that the samples are made for."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="coppice-deploy-")
        self.certs = os.path.join(self.folder, "certs")
        made = run(os.path.join(DEPLOY, "make-certs.sh"), self.certs)
        assert made.returncode == 0, made.stderr
        shutil.copy(os.path.join(DEPLOY, "config", "policy.json"), self.folder)
        made = run(COPPICED, "key-file", "--out", os.path.join(self.folder, "store.key"))
        assert made.returncode == 0, made.stderr
        console = os.path.join(self.folder, "console")
        os.makedirs(os.path.join(console, "assets"))
        with open(os.path.join(console, "index.html"), "w", encoding="utf-8") as file:
            file.write("<!doctype html>")
        os.makedirs(os.path.join(self.folder, "site"))
        for name in ("index.html", "searchindex.js"):
            with open(os.path.join(self.folder, "site", name), "w", encoding="utf-8") as file:
                file.write("a site")
        password = os.path.join(self.folder, "metrics.password")
        with open(os.open(password, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write("a password of the sample\n")

    def close(self):
        shutil.rmtree(self.folder)

    def path_here(self, path):
        for pattern, file in ((r"/(server|tls)\.(crt|key)", "certs/server."),
                              (r"/(clients|ca)\.crt", "certs/ca.crt"),
                              (r"/(policy\.json|store\.key|metrics\.password)", ""),
                              (r"/usr/share/coppice/console", "console"),
                              (r"/usr/share/doc/coppice/html", "site"),
                              (r"/var/lib/coppice-backups", "backups"),
                              (r"/var/lib/coppice", "data")):
            found = re.search(pattern + "$", path)
            if found:
                return os.path.join(self.folder, file + (found.groups()[-1] if file[-1:] in ("", ".") else ""))
        return path

    def check(self, toml, *flags):
        """Runs `coppiced --check-config` on a configuration with its paths moved into this folder, with more flags."""
        moved = re.sub(r"/[\w/.-]+", lambda path: self.path_here(path.group()), toml)
        path = os.path.join(self.folder, "coppiced.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(moved)
        return run(COPPICED, "--config", path, *flags, "--check-config")


def install(component, prefix):
    return run("cmake", "--install", os.path.dirname(BIN), "--component", component, "--prefix", prefix)


def files_under(folder):
    return {os.path.relpath(os.path.join(parent, name), folder)
            for parent, _, names in os.walk(folder) for name in names}


class InstallTest(unittest.TestCase):
    def setUp(self):
        self.prefix = tempfile.mkdtemp(prefix="coppice-install-")
        self.addCleanup(shutil.rmtree, self.prefix)

    def installed(self, *path):
        with open(os.path.join(self.prefix, *path), encoding="utf-8") as file:
            return file.read()

    def test_tools_are_the_two_programs(self):
        self.assertEqual(install("tools", self.prefix).returncode, 0)
        self.assertLessEqual({"bin/coppice", "bin/coppice-lab"}, files_under(self.prefix))
        for program in ("coppice", "coppice-lab"):
            version = run(os.path.join(self.prefix, "bin", program), "--version").stdout
            self.assertRegex(version, rf"^{program} 0\.2\.\d+\n$")

    def test_the_server_is_the_daemon_with_paths_that_follow_the_prefix(self):
        self.assertEqual(install("server", self.prefix).returncode, 0)
        unit = self.installed("lib", "systemd", "system", "coppiced.service")
        paths = re.findall(r"^\w+=(?:file:|server\.key:)?(/\S+)|--config (\S+)", unit, re.MULTILINE)
        paths = {first or second for first, second in paths} - {"/bin/kill"}
        self.assertEqual(paths, {self.prefix + path for path in (
            "/bin/coppiced", "/etc/coppice/coppiced.toml", "/etc/coppice/server.key",
            "/share/doc/coppiced/operating.md")})
        for path in paths - {self.prefix + "/etc/coppice/server.key"}:  # the operator adds it
            self.assertTrue(os.path.exists(path), path)
        self.assertIn(f'policy = "{self.prefix}/etc/coppice/policy.json"', self.installed("etc/coppice/coppiced.toml"))

    def test_the_relay_is_a_program_with_paths_that_follow_the_prefix(self):
        self.assertEqual(install("relay", self.prefix).returncode, 0)
        unit = self.installed("lib", "systemd", "system", "coppice-relay.service")
        self.assertIn(f"ExecStart={self.prefix}/bin/coppice-relay --config {self.prefix}/etc/coppice/relay.toml", unit)
        self.assertIn(f"LoadCredential=server.key:{self.prefix}/etc/coppice/relay-server.key", unit)
        installed = files_under(self.prefix)
        self.assertLessEqual({"bin/coppice-relay", "etc/coppice/relay.toml", "share/doc/coppice-relay/relay.md"}, installed)
        self.assertNotIn("bin/coppiced", installed)
        self.assertIn(f'curator-key = "{self.prefix}/etc/coppice/curator.pem"', self.installed("etc/coppice/relay.toml"))

    def test_configuration_that_is_there_stays(self):
        self.assertEqual(install("server", self.prefix).returncode, 0)
        path = os.path.join(self.prefix, "etc", "coppice", "coppiced.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("mine")
        again = install("server", self.prefix)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("Kept: " + path, again.stdout)
        self.assertEqual(self.installed("etc", "coppice", "coppiced.toml"), "mine")

    def test_a_prefix_that_the_unit_cannot_name_is_refused_before_anything_is_written(self):
        refused = install("server", os.path.join(self.prefix, "with space"))
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("the unit of systemd cannot name it", " ".join(refused.stderr.split()))
        self.assertEqual(files_under(self.prefix), set())


class CertificatesTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="coppice-certs-")
        self.addCleanup(shutil.rmtree, self.folder)

    def make(self, *flags):
        return run(os.path.join(DEPLOY, "make-certs.sh"), *flags, os.path.join(self.folder, "certs"))

    def verified(self, *checks):
        path = os.path.join(self.folder, "certs", "")
        return run("openssl", "verify", "-x509_strict", *checks, "-CAfile", path + "ca.crt", path + "server.crt").returncode

    def test_the_server_is_what_host_says_too(self):
        self.assertEqual(self.make("--host", "10.77.0.21", "--host", "a.example").returncode, 0)
        self.assertEqual(self.verified("-purpose", "sslserver", "-verify_ip", "10.77.0.21"), 0)
        self.assertEqual(self.verified("-purpose", "sslserver", "-verify_hostname", "a.example"), 0)
        self.assertEqual(self.verified("-purpose", "sslserver", "-verify_hostname", "localhost"), 0)
        self.assertNotEqual(self.verified("-verify_hostname", "b.example"), 0)
        self.assertNotEqual(self.verified("-purpose", "sslclient"), 0)

    def test_a_host_with_a_port_is_refused_before_anything_is_made(self):
        refused = self.make("--host", "a.example:8443")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--host needs", refused.stderr)
        self.assertEqual(os.listdir(self.folder), [])


class DeployTest(unittest.TestCase):
    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.close)

    def assert_good(self, toml, *flags):
        checked = self.place.check(toml, *flags)
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_the_full_configuration_has_every_setting_once(self):
        keys = keys_of(read("config", "full.toml"))
        self.assertEqual(len(keys), len(set(keys)), keys)
        self.assertEqual(set(keys), flags_of_help())

    def test_both_configurations_are_good(self):
        for name in ("basic.toml", "full.toml"):
            with self.subTest(name):
                self.assert_good(read("config", name))

    def test_what_is_commented_out_is_good_too(self):
        toml = re.sub(r"^# ?(?=[a-z-]+ = )", "", read("config", "full.toml"), flags=re.MULTILINE)
        for alone in ("insecure", "signing-key", "next-signing-key", "port-file"):
            toml = re.sub(rf"^{alone} = .*\n", "", toml, flags=re.MULTILINE)
        # It takes either folders or a fleet.
        for other in (r"store|fleet-address|lease-seconds", r"data-dir|backup-dir"):
            with self.subTest("without " + other):
                self.assert_good(re.sub(rf"^(?:{other}) = .*\n", "", toml, flags=re.MULTILINE))

    def test_an_unknown_setting_is_refused(self):
        checked = self.place.check(read("config", "basic.toml") + "\nlisten-on = 1\n")
        self.assertEqual(checked.returncode, 2)
        self.assertIn("listen-on", checked.stderr)

    def test_the_configurations_in_the_kubernetes_manifests_are_good(self):
        for name in ("coppice.yaml", "fleet.yaml"):
            with self.subTest(name):
                manifest = read("kubernetes", name)
                block = re.search(r"coppiced\.toml: \|\n((?:    .*\n)+)", manifest).group(1)
                arguments = re.findall(r'"([^"]+)"', re.search(r"args: \[([^]]+)\]", manifest).group(1))
                flags = [re.sub(r"\$\(\w+\)", "pod-0", flag) for flag in arguments[3:]]  # after coppiced --config FILE
                self.assert_good(re.sub(r"^    ", "", block, flags=re.MULTILINE), *flags)

    def test_the_manifests_name_what_they_mount_and_what_they_ask_to_be_made(self):
        for name in ("coppice.yaml", "fleet.yaml"):
            with self.subTest(name):
                manifest = read("kubernetes", name)
                volumes = set(re.findall(r"- \{name: ([\w-]+), (?:secret|configMap|emptyDir)", manifest))
                claims = set(re.findall(r"volumeClaimTemplates:\n\s+- metadata: \{name: (\w+)\}", manifest))
                self.assertEqual(set(re.findall(r"name: ([\w-]+), mountPath", manifest)), volumes | claims)
                used = set(re.findall(r"secretName: ([\w-]+)", manifest))
                self.assertEqual(used, set(re.findall(r"create secret (?:tls|generic) ([\w-]+)", manifest)))

    def test_standbys_which_are_never_ready_keep_neither_an_update_nor_a_node(self):
        manifest = read("kubernetes", "fleet.yaml")
        self.assertRegex(manifest, r"updateStrategy: \{type: OnDelete\}")
        budget = manifest[manifest.index("kind: PodDisruptionBudget"):].split("\n---")[0]
        self.assertIn("unhealthyPodEvictionPolicy: AlwaysAllow", budget)
        # The leader is the one healthy pod, and healthy pods may go down to replicas - maxUnavailable.
        replicas, unavailable = (int(re.search(rf"{key}: (\d+)", text).group(1))
                                 for key, text in (("replicas", manifest), ("maxUnavailable", budget)))
        self.assertGreaterEqual(1 - (replicas - unavailable), 1)
        readiness = manifest[manifest.index("readinessProbe:"):manifest.index("livenessProbe:")]
        self.assertIn("periodSeconds: 1\n", readiness)
        self.assertNotIn("--alive", readiness)

    def test_flags_in_compose_and_probes_exist(self):
        command = re.search(r"coppiced (--(?:.|\n)*?)\n    ports:", read("container", "compose.yaml")).group(1)
        for flag in re.findall(r"--([a-z-]+)", command):
            self.assertIn(flag, flags_of_help())
        for manifest in ("coppice.yaml", "fleet.yaml"):
            for flag in re.findall(r'"--([a-z-]+)"', read("kubernetes", manifest)):
                self.assertIn(flag, flags_of_help() | {"config"})
            probe = re.search(r"command: \[coppice, (.*)\]", read("kubernetes", manifest)).group(1)
            arguments = [part.strip().strip('"') for part in probe.split(",")]
            outcome = run(os.path.join(BIN, "coppice"), *arguments[:-1], self.place.certs + "/ca.crt")
            self.assertEqual(outcome.returncode, 1, outcome.stderr)  # nobody listens, but it was understood

    def test_the_unit_is_understood_and_hardened(self):
        if shutil.which("systemd-analyze") is None:
            missing_package.skip("systemd-analyze is not installed: tests/packages.txt")
        unit = os.path.join(self.place.folder, "coppiced.service")
        with open(unit, "w", encoding="utf-8") as file:
            file.write(read("systemd", "coppiced.service").replace("/usr/bin/coppiced", COPPICED))
        os.mkdir(unit + ".d")
        shutil.copy(os.path.join(DEPLOY, "systemd", "fleet.conf"), unit + ".d")
        verified = run("systemd-analyze", "verify", "--man=no", unit)
        self.assertNotRegex(verified.stderr, r"(coppiced\.service|fleet\.conf):\d+: ", verified.stderr)
        rated = run("systemd-analyze", "security", "--offline=true", "--threshold=20", unit)
        self.assertEqual(rated.returncode, 0, rated.stdout)

    def test_the_unit_lets_the_daemon_write_where_the_full_configuration_says(self):
        unit = read("systemd", "coppiced.service")
        self.assertIn("ProtectSystem=strict", unit)  # so it can write nothing else
        states = re.search(r"^StateDirectory=(.*)$", unit, re.MULTILINE).group(1).split()
        writable = {"/var/lib/" + state for state in states}
        toml = read("config", "full.toml")
        for key in ("data-dir", "backup-dir"):
            with self.subTest(key):
                self.assertIn(re.search(rf'^{key} = "(.*)"$', toml, re.MULTILINE).group(1), writable)
        journal = re.search(r'^# spending-journal = "(.*)"$', toml, re.MULTILINE).group(1)
        self.assertIn(os.path.dirname(journal), writable)


class AlertsTest(unittest.TestCase):
    """Reads deploy/prometheus/alerts.yml rule by rule, as text, so that Debian's Prometheus is not needed."""

    def setUp(self):
        rules = re.split(r"^      - alert: ", read("prometheus", "alerts.yml"), flags=re.MULTILINE)[1:]
        self.rules = dict(rule.split("\n", 1) for rule in rules)

    def test_every_rule_says_what_it_looks_at_and_whom_it_wakes(self):
        for name, rule in self.rules.items():
            with self.subTest(name):
                self.assertRegex(rule, r"(?m)^        expr: \S")
                self.assertRegex(rule, r"(?m)^        labels: \{severity: (page|ticket)\}$")
                self.assertRegex(rule, r'(?m)^          summary: "')

    def test_alerts_that_the_pages_name_are_there(self):
        docs = os.path.join(SOURCE, "docs")
        for page in ("fleet.md", "operating.md", "postgresql.md"):
            with open(os.path.join(docs, page), encoding="utf-8") as file:
                named = set(re.findall(r"`(Coppice[A-Z][A-Za-z]+)`", file.read()))
            self.assertLessEqual(named, set(self.rules), page)

    def test_reports_that_wait_for_long_are_told(self):
        rule = self.rules["CoppiceSealedReportsWait"]
        self.assertIn("coppice_sealed_reports_waiting > 0", rule)
        self.assertIn("for: 1h", rule)


class RelayTest(unittest.TestCase):
    """The relay's configuration on a machine with all the files that it names."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="coppice-relay-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.assertEqual(run(os.path.join(DEPLOY, "make-certs.sh"), self.path("certs")).returncode, 0)
        key = run(RELAY, "keygen", "--data-dir", self.path("data"))
        self.assertEqual(key.returncode, 0, key.stderr)
        token, line = run(RELAY, "token", "--name", "device-1").stdout.splitlines()
        for name, text in (("devices", line), ("curator.token", token), ("curator.pem", key.stdout),
                           ("metrics.password", "a password of the sample")):
            with open(os.open(self.path(name), os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
                file.write(text + "\n")

    def path(self, name):
        return os.path.join(self.folder, name)

    def path_here(self, path):
        for pattern, name in ((r"server\.(crt|key)$", "certs/server."), (r"relay-client\.(crt|key)$", "certs/client."),
                              (r"(?:relay-clients|curator-ca)\.crt$", "certs/ca.crt"), (r"/var/lib/coppice-relay$", "data"),
                              (r"relay-(devices)\.txt$", ""), (r"/(curator\.token|curator\.pem|metrics\.password)$", "")):
            found = re.search(pattern, path)
            if found:
                return self.path(name + (found.groups()[-1] if found.groups() else ""))
        return path

    def check(self, toml):
        moved = re.sub(r"(?<=\")/[\w/.-]+", lambda path: self.path_here(path.group()), toml)
        with open(self.path("relay.toml"), "w", encoding="utf-8") as file:
            file.write(moved)
        return run(RELAY, "--config", self.path("relay.toml"), "--check-config")

    def test_the_configuration_has_every_setting_once_and_is_good(self):
        toml = read("config", "relay.toml")
        keys = keys_of(toml)
        self.assertEqual(len(keys), len(set(keys)), keys)
        self.assertEqual(set(keys), flags_of_help(RELAY))
        checked = self.check(toml)
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_what_is_commented_out_is_good_too(self):
        toml = re.sub(r"^# ?(?=[a-z-]+ = )", "", read("config", "relay.toml"), flags=re.MULTILINE)
        for alone in ("insecure", "curator-insecure", "admit-all"):
            toml = re.sub(rf"^{alone} = .*\n", "", toml, flags=re.MULTILINE)
        checked = self.check(toml)
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_an_unknown_setting_is_refused(self):
        checked = self.check(read("config", "relay.toml") + "\ntikets = 1\n")
        self.assertEqual(checked.returncode, 2)
        self.assertIn("tikets", checked.stderr)

    def test_the_unit_is_understood_and_hardened(self):
        unit = read("systemd", "coppice-relay.service")
        self.assertIn("ProtectSystem=strict", unit)
        state = re.search(r"^StateDirectory=(.*)$", unit, re.MULTILINE).group(1)
        toml = read("config", "relay.toml")
        self.assertIn(f'data-dir = "/var/lib/{state}"', toml)
        for name in re.findall(r"^LoadCredential=([\w.]+):", unit, re.MULTILINE):
            self.assertIn(f"/run/credentials/coppice-relay.service/{name}", toml)
        # A credential is a copy that never changes: a removed device would stay admitted.
        devices = re.search(r'^admission = "(.*)"$', toml, re.MULTILINE).group(1)
        self.assertFalse(devices.startswith("/run/credentials/"), devices)
        group = re.search(r"^SupplementaryGroups=(.*)$", unit, re.MULTILINE).group(1)
        for told in (toml, read("debian", "coppice-relay", "README.Debian")):
            self.assertIn(group, told)
        if shutil.which("systemd-analyze") is None:
            missing_package.skip("systemd-analyze is not installed: tests/packages.txt")
        path = self.path("coppice-relay.service")
        with open(path, "w", encoding="utf-8") as file:
            file.write(unit.replace("/usr/bin/coppice-relay", RELAY))
        verified = run("systemd-analyze", "verify", "--man=no", path)
        self.assertNotRegex(verified.stderr, r"coppice-relay\.service:\d+: ", verified.stderr)
        rated = run("systemd-analyze", "security", "--offline=true", "--threshold=20", path)
        self.assertEqual(rated.returncode, 0, rated.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
