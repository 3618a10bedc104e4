#!/usr/bin/env python3
"""The Debian packages in an empty Debian 12: packages_test.py BUILD_DIR SOURCE_DIR [QuickTest | LongTest]

Building them twice from BUILD_DIR gives the same bytes; lintian finds nothing; the main job runs from them alone, in
a root made by debootstrap; a purge leaves what the daemon wrote; devices are built from their packages, the one in C
with a C compiler alone; the last stage of the container's recipe, executed line by line, starts the daemon. Only
root can make such systems; other users skip the test (exit code 77).
"""

import atexit
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = map(os.path.abspath, sys.argv[1:3])
sys.path.insert(0, os.path.join(SOURCE, "tests/support"))
import missing_package  # noqa: E402

PACKAGES = {"coppice", "coppiced", "coppice-relay", "libcoppice-dev", "libcoppice-device-dev", "libcoppice-device1", "python3-coppice", "coppice-doc"}
WORK = tempfile.mkdtemp(prefix="coppice-packages-")
atexit.register(shutil.rmtree, WORK, ignore_errors=True)
DOWNLOADS = os.path.join(WORK, "downloads")  # apt's downloads for one system serve the next
BUILT = {}  # the packages and their bills of materials, by name
EMPTY = os.path.join(BUILD, "debian12")  # kept: another run saves a minute
PARTIAL = EMPTY + ".partial"


def read(*path, mode="r"):
    with open(os.path.join(*path), mode) as file:
        return file.read()


def skip(reason):
    print("packages_test: skipped:", reason, file=sys.stderr)
    sys.exit(77)


def run(*command, **settings):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **settings)


def checked(*command, **settings):
    done = run(*command, **settings)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-6000:]}")
    return done.stdout


def start_empty_system():
    """Starts debootstrap in the background; does nothing if the system is there."""
    if os.path.exists(EMPTY):
        return subprocess.Popen(["true"], stdout=subprocess.PIPE, text=True)
    shutil.rmtree(PARTIAL, ignore_errors=True)
    return subprocess.Popen(["debootstrap", "--variant=minbase", "bookworm", PARTIAL],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish_empty_system(process):
    log = process.communicate()[0]
    if process.returncode != 0:
        skip("debootstrap cannot make a Debian here: " + (log.strip().splitlines() or ["no word from it"])[-1])
    if not os.path.exists(EMPTY):
        with open(PARTIAL + "/etc/hosts", "w", encoding="utf-8") as hosts:  # Debian's installer writes it
            hosts.write("127.0.0.1 localhost\n::1 localhost\n")
        with open(PARTIAL + "/etc/dpkg/dpkg.cfg.d/fast", "w", encoding="utf-8") as settings:
            settings.write("force-unsafe-io\n")  # a crash of the machine may cost these systems
        os.rename(PARTIAL, EMPTY)
    System(EMPTY).checked("apt-get update -qq", network=True)


class System:
    """A Debian in a folder. Processes and mounts of a call end with it."""

    def __init__(self, root):
        self.root = root

    @classmethod
    def copied(cls, name):
        system = cls(os.path.join(WORK, name))
        checked("cp", "-a", EMPTY, system.root)
        shutil.copytree(os.path.join(WORK, "debs"), system.path("packages"))
        return system

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def run(self, script, network=False, user=None):
        """Without a network it has only the loopback of its own namespace, so no port clashes."""
        inside = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "HOME=/root"]
        enter = f'mount -t proc proc "$0/proc"; mount --bind {DOWNLOADS} "$0/var/cache/apt/archives"; '
        enter += "" if network else "ip link set lo up; "
        enter += "exec chroot " + (f"--userspec={user} " if user else "") + "\"$0\" \"$@\""
        return run("unshare", "--mount", "--pid", "--fork", "--kill-child", *([] if network else ["--net"]),
                   "sh", "-euc", enter, self.root, *inside, "sh", "-euc", script)

    def checked(self, script, **settings):
        done = self.run(script, **settings)
        if done.returncode != 0:
            raise AssertionError(f"{script}: exit code {done.returncode}\n{done.stdout[-6000:]}")
        return done.stdout

    def install(self, arguments):
        return self.checked(f"apt-get install -y -qq --no-install-recommends {arguments}", network=True)


def built_packages(folder, **environment):
    checked(os.path.join(SOURCE, "deploy", "packages.sh"), "--build-dir", BUILD, folder, env=os.environ | environment)
    return {name: read(folder, name, mode="rb") for name in os.listdir(folder)}


def deb(name):
    return glob.glob(os.path.join(WORK, "debs", f"{name}_*.deb"))[0]


def files(name):
    """Returns what a package installs, except its documents and lintian's files."""
    listed = checked("sh", "-c", f"dpkg-deb --fsys-tarfile {deb(name)} | tar -t").splitlines()
    return {path.removeprefix("./usr/") for path in listed if not path.endswith("/") and "/share/" not in path}


class QuickTest(unittest.TestCase):
    def test_lintian_has_nothing_against_them(self):
        judged = run("lintian", "--allow-root", "--fail-on", "error,warning", *map(deb, PACKAGES))
        self.assertEqual((judged.returncode, judged.stdout), (0, ""))
        for overrides in glob.glob(os.path.join(SOURCE, "deploy/debian/*/lintian-overrides")):
            self.assertTrue(read(overrides).startswith("# "), overrides + " gives no reason")

    def test_a_second_build_under_other_circumstances_makes_the_same_bytes(self):
        self.addCleanup(os.umask, os.umask(0o077))
        second = built_packages(os.path.join(WORK, "again"), TZ="Pacific/Auckland", LC_ALL="C.UTF-8")
        self.assertEqual(sorted(BUILT), sorted(second))
        for name, content in BUILT.items():
            self.assertTrue(content == second[name], name)

    def test_no_file_names_the_folder_it_was_built_in(self):
        for name in PACKAGES:
            content = os.path.join(WORK, "content-" + name)
            checked("dpkg-deb", "-R", deb(name), content)
            self.assertEqual(run("grep", "-rlF", "-e", SOURCE, "-e", BUILD, content).stdout, "")

    def test_the_bills_of_materials_have_spdx_shape_and_name_what_is_linked(self):
        expected = {"coppice": {"libgrpc++1.51": "DYNAMIC_LINK", "libcli11-dev": "STATIC_LINK"},
                    "coppiced": {"libssl3": "DYNAMIC_LINK", "librocksdb-dev": "STATIC_LINK"},
                    "coppice-relay": {"libssl3": "DYNAMIC_LINK", "libcli11-dev": "STATIC_LINK"},
                    "libcoppice-dev": {"libabsl-dev": "STATIC_LINK"},
                    "libcoppice-device-dev": {"libabsl-dev": "STATIC_LINK"},
                    "libcoppice-device1": {"libssl3": "DYNAMIC_LINK"},
                    "python3-coppice": {"libssl3": "DYNAMIC_LINK", "pybind11-dev": "STATIC_LINK"},
                    "coppice-doc": {"libjs-sphinxdoc": "STATIC_LINK"}}
        self.assertEqual(set(expected), PACKAGES)
        for name, materials in expected.items():
            with self.subTest(name):
                bill = json.loads(read(deb(name).removesuffix(".deb") + ".spdx.json"))
                self.assertEqual((bill["spdxVersion"], bill["dataLicense"], bill["SPDXID"]),
                                 ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"))
                self.assertRegex(bill["documentNamespace"], r"^urn:uuid:[0-9a-f-]{36}$")
                self.assertRegex(bill["creationInfo"]["created"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
                ids = {package["SPDXID"]: package for package in bill["packages"]}
                self.assertEqual(len(ids), len(bill["packages"]))
                for spdx_id, package in ids.items():
                    self.assertRegex(spdx_id, r"^SPDXRef-[A-Za-z0-9.-]+$")
                    self.assertLessEqual({"name", "versionInfo", "downloadLocation"}, set(package))
                links = {}
                for relationship in bill["relationships"]:
                    self.assertIn(relationship["spdxElementId"], {"SPDXRef-DOCUMENT", *ids})
                    links[ids[relationship["relatedSpdxElement"]]["name"]] = relationship["relationshipType"]
                self.assertEqual(links.pop(name), "DESCRIBES")
                self.assertLessEqual(materials.items(), links.items())
                self.assertFalse(name.endswith("-dev") and "DYNAMIC_LINK" in links.values())

    def test_the_main_job_runs_from_packages_alone_and_a_purge_leaves_its_state(self):
        system = System.copied("curator")
        said = system.install("/packages/coppice_*.deb /packages/coppiced_*.deb openssl")
        self.assertIn("README.Debian has the steps to the first start", said)
        for program, package in (("coppice", "coppice"), ("coppice-lab", "coppice"), ("coppiced", "coppiced")):
            version = system.checked(f"dpkg-query -W -f '${{Version}}' {package}")
            self.assertEqual(system.checked(f"{program} --version"), f"{program} {version}\n")

        shutil.copy(os.path.join(SOURCE, "tests/deploy/packaged_job.sh"), system.path("root"))
        job = system.checked("sh /root/packaged_job.sh")
        self.assertGreater(float(re.search(r"accuracy +(0\.\d+)", job).group(1)), 0.6, job)

        state = lambda: system.checked("find /var/lib/coppice* /root/first.journal /etc/coppice/ops.token -type f | sort | xargs sha256sum")
        before = state()
        self.assertIn("/var/lib/coppice/", before)
        purged = system.checked("dpkg --purge coppiced")
        self.assertIn("kept /var/lib/coppice,", purged)
        self.assertEqual(state(), before)
        self.assertFalse(os.path.exists(system.path("usr/bin/coppiced")))
        self.assertFalse(os.path.exists(system.path("etc/coppice/coppiced.toml")))

    def test_a_relay_runs_from_its_package_alone_and_a_purge_leaves_its_key(self):
        self.assertEqual(files("coppice-relay"), {"bin/coppice-relay", "lib/systemd/system/coppice-relay.service",
                                                  "./etc/coppice/relay.toml"})
        system = System.copied("relay")
        said = system.install("/packages/coppice-relay_*.deb openssl")
        self.assertIn("README.Debian has the steps to the first start", said)
        self.assertNotIn("coppiced", system.checked("dpkg-query -W -f '${Package}\n'").splitlines())
        key = system.checked("umask 077; coppice-relay keygen --data-dir /var/lib/coppice-relay").strip()
        self.assertRegex(key, r"^ed25519:\S+$")
        system.checked(
            "coppice-relay --data-dir /var/lib/coppice-relay --insecure --admit-all --port-file /tmp/port --listen 127.0.0.1:0 "
            f"--curator 127.0.0.1:1 --curator-insecure --curator-key {key} --study wells --tickets 2000 2> /tmp/log & "
            "until [ -s /tmp/port ]; do kill -0 $!; sleep 0.1; done; kill -TERM $!; wait $!")
        purged = system.checked("dpkg --purge coppice-relay")
        self.assertIn("kept /var/lib/coppice-relay,", purged)
        self.assertTrue(os.path.exists(system.path("var/lib/coppice-relay/relay.key")))
        self.assertFalse(os.path.exists(system.path("etc/coppice/relay.toml")))

    def test_the_console_comes_with_the_daemon_and_is_served(self):
        built = os.path.join(BUILD, "share/coppice/console")
        if not os.path.exists(built):
            missing_package.skip("no console is built here: deploy/build.sh release console")
        system = System.copied("console")
        system.install("/packages/coppiced_*.deb")
        packed = system.path("usr/share/coppice/console")
        checked("diff", "-r", built, packed)
        bill = json.loads(read(deb("coppiced").removesuffix(".deb") + ".spdx.json"))
        bundled = {package["name"] for package in bill["packages"] if package["name"].startswith("npm:")}
        self.assertLessEqual({"npm:preact", "npm:@bufbuild/protobuf"}, bundled)
        self.assertNotIn("npm:esbuild", bundled)
        for name in bundled:  # their licences must come with them
            self.assertIn(name.removeprefix("npm:"), read(SOURCE, "deploy/debian/copyright"))
        answer = system.checked(
            "coppiced --data-dir /tmp/store --insecure --port-file /tmp/port --http-listen 127.0.0.1:8080 2>/tmp/log & "
            "until [ -s /tmp/port ]; do kill -0 $!; sleep 0.1; done; bash -euc 'exec 3<>/dev/tcp/127.0.0.1/8080; "
            "printf \"GET / HTTP/1.1\\r\\nHost: 127.0.0.1:8080\\r\\nConnection: close\\r\\n\\r\\n\" >&3; cat <&3'; kill $!")
        self.assertIn("HTTP/1.1 200 OK", answer)
        self.assertIn(read(packed, "index.html"), answer)

    def test_the_documentation_is_served_beside_the_console(self):
        system = System.copied("documentation")
        system.install("/packages/coppiced_*.deb /packages/coppice-doc_*.deb")
        packed = system.path("usr/share/doc/coppice/html")
        checked("diff", "-r", os.path.join(BUILD, "share/doc/coppice/html"), packed)
        self.assertIn("Sphinx team", read(system.path("usr/share/doc/coppice-doc/copyright")))
        answer = system.checked(
            "coppiced --data-dir /tmp/store --insecure --port-file /tmp/port --http-listen 127.0.0.1:8080 2>/tmp/log & "
            "until [ -s /tmp/port ]; do kill -0 $!; sleep 0.1; done; bash -euc 'exec 3<>/dev/tcp/127.0.0.1/8080; "
            "printf \"GET /docs/ HTTP/1.1\\r\\nHost: 127.0.0.1:8080\\r\\nConnection: close\\r\\n\\r\\n\" >&3; cat <&3'; kill $!")
        self.assertIn("HTTP/1.1 200 OK", answer)
        self.assertIn(read(packed, "index.html"), answer)

    def follow(self, stage, system):
        """Executes the lines of a stage; returns its command and its user."""
        shutil.move(system.path("packages"), system.path("made"))
        user = None
        for line in filter(None, stage.splitlines()):
            with self.subTest(line):
                instruction, arguments = line.split(" ", 1)
                if instruction == "COPY":
                    self.assertTrue(arguments.startswith("--from=build "), arguments)
                    *sources, target = arguments.split()[1:]
                    system.checked(f"mkdir -p {target}; cp {' '.join('/made' + s.removeprefix('/packages') for s in sources)} {target}")
                elif instruction == "RUN":
                    system.checked(arguments, network=True)
                elif instruction == "USER":
                    user = arguments
                elif instruction == "VOLUME":
                    self.assertEqual(system.checked(f"stat -c %u:%g {arguments}").strip(), user)
                elif instruction == "CMD":
                    command = json.loads(arguments)
                else:
                    self.assertIn(instruction, ("EXPOSE", "STOPSIGNAL"))
        return command, user

    def test_the_relays_stage_of_the_container_runs_step_by_step(self):
        text = read(SOURCE, "deploy/container/Dockerfile").replace("\\\n", " ")
        system = System.copied("relay_container")
        command, user = self.follow(re.search(r"FROM debian:12-slim AS relay\n((?:[A-Z].*\n)+)", text).group(1), system)
        refused = system.run(" ".join(command), user=user)
        self.assertEqual(refused.returncode, 1, refused.stdout)
        self.assertIn("coppice-relay keygen", refused.stdout)
        system.checked("coppice-relay keygen --data-dir /var/lib/coppice-relay", user=user)

    def test_the_last_stage_of_the_container_runs_step_by_step(self):
        text = read(SOURCE, "deploy/container/Dockerfile").replace("\\\n", " ")
        build, _, final = re.split(r"FROM debian:12-slim(?: AS relay)?\n", text)
        # The stage before it runs what made the packages here, from the compilers on.
        self.assertEqual(build.strip().splitlines()[-1], "RUN deploy/packages.sh /packages")
        system = System.copied("container")
        command, user = self.follow(final, system)
        # Without a certificate it says which one it needs; told to do without, it serves.
        refused = system.run(" ".join(command), user=user)
        self.assertEqual(refused.returncode, 1, refused.stdout)
        self.assertIn("--tls-cert /etc/coppice/server.crt: cannot be read", refused.stdout)
        served = system.checked(
            "coppiced --data-dir /var/lib/coppice --insecure 2> /tmp/log & "
            "until coppice health --server localhost:8443 --insecure; do kill -0 $!; sleep 0.1; done; kill -TERM $!; wait $!",
            user=user)
        self.assertIn("ready", served)


class LongTest(unittest.TestCase):
    """What takes compilers or scikit-learn from the network, of packages whose contents c_device, installed_client and the
    tests of Python use from the build."""

    def test_a_device_is_built_from_the_package_and_with_a_curator_to_talk_to_from_what_it_recommends(self):
        system = System.copied("device")
        system.install("/packages/libcoppice-dev_*.deb cmake g++ make pkgconf")
        program = os.path.join(SOURCE, "tests/architecture/installed_client")
        shutil.copytree(program, system.path("root/device"))
        shutil.copy(os.path.join(SOURCE, "client/device/examples/device.cc"), system.path("root/example.cc"))
        system.checked("cd /root/device; c++ -std=c++20 device.cc $(pkg-config --cflags --libs coppice) -o device; ./device")
        self.assertNotIn("grpc", system.checked("dpkg-query -W -f '${Package}\n'"))

        recommended = system.checked("dpkg-query -W -f '${Recommends}' libcoppice-dev")
        system.install(re.sub(r" \([^)]*\)|,", "", recommended))
        system.checked("cmake -S /root/device -B /root/build -DEXAMPLE=/root/example.cc; cmake --build /root/build --target example")
        self.assertIn("usage: ", system.run("/root/build/example").stdout)

    def test_a_device_in_C_is_built_from_its_package_by_a_C_compiler_alone(self):
        self.assertEqual(files("libcoppice-device-dev"), {"include/coppice_device.h", "lib/libcoppice_device.a",
                                                          "lib/libcoppice_device.so", "lib/pkgconfig/coppice-device.pc"})
        self.assertEqual(files("libcoppice-device1"), {"lib/libcoppice_device.so.1", "lib/libcoppice_device.so.1.0.0"})
        system = System.copied("c_device")
        system.install("/packages/libcoppice-device-dev_*.deb /packages/libcoppice-device1_*.deb gcc pkgconf")
        installed = system.checked("dpkg-query -W -f '${Package}\n'").splitlines()
        for package in ("g++", "g++-12", "libabsl-dev", "libgrpc-dev"):
            self.assertNotIn(package, installed)

        # The commands of docs/device.md: for a device without a transport, then for the sample with the extras.
        examples = "/usr/share/doc/libcoppice-device-dev/examples"
        shared, static = re.findall(r"^    (cc device\.c .*) -o device$", read(system.path(), examples[1:], "device.md"), re.M)
        shutil.copy(os.path.join(SOURCE, "tests/client/device/c/piped_device.c"), system.path("root"))
        for name, command in (("shared", shared), ("static", static)):
            command = command.replace(" device.c grpc_call.c", " -std=c11 piped_device.c").replace("$(pkg-config --libs grpc)", "")
            system.checked(f"cd /root; {command} -o {name}")
            self.assertIn("usage: ", system.run(f"/root/{name}").stdout)
        self.assertIn("libcoppice_device.so.1 => /", system.checked("ldd /root/shared"))
        self.assertNotRegex(system.checked("ldd /root/static"), "libcoppice|libabsl")

        recommended = system.checked("dpkg-query -W -f '${Recommends}' libcoppice-device-dev")
        system.install(re.sub(r" \([^)]*\)|,", "", recommended))
        for command in (shared, static):
            system.checked(f"cd {examples}; {command} -o /root/device")
            self.assertIn("usage: ", system.run("/root/device").stdout)

    def test_python_trains_and_simulates_from_its_package_and_what_that_recommends(self):
        system = System.copied("python")
        system.install("/packages/python3-coppice_*.deb")
        self.assertNotIn("python3-sklearn", system.checked("dpkg-query -W -f '${Package}\n'"))
        self.assertRegex(system.checked("cd /; python3 -c 'import coppice; print(coppice.__version__)'"), r"^\d+\.\d+\.\d+$")
        recommended = system.checked("dpkg-query -W -f '${Recommends}' python3-coppice")
        system.install(re.sub(r" \([^)]*\)|,", "", recommended))
        shutil.copy(os.path.join(SOURCE, "tests/deploy/packaged_fit.py"), system.path("root"))
        self.assertIn("fitted and simulated", system.checked("cd /root; python3 packaged_fit.py"))


def main():
    if "COPPICE_PYTHON:BOOL=ON" not in read(BUILD, "CMakeCache.txt"):
        skip("the Python package is not built here: deploy/build.sh release python")
    if os.geteuid() != 0:
        skip("only root can make a system of its own")
    if shutil.which("debootstrap") is None or shutil.which("lintian") is None:
        skip("debootstrap and lintian are not installed: tests/deploy/packages.txt")
    if run("unshare", "--mount", "--pid", "--net", "--fork", "true").returncode != 0:
        skip("no namespaces of mounts, processes and networks here")
    os.mkdir(DOWNLOADS)
    empty = start_empty_system()
    try:
        BUILT.update(built_packages(os.path.join(WORK, "debs")))
    except BaseException:
        empty.kill()
        raise
    finish_empty_system(empty)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])


main()
