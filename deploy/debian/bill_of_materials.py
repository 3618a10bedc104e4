#!/usr/bin/env python3
"""Lists what programs and archives are made of, as SPDX 2.3 in JSON:

  bill_of_materials.py BUILD_DIR PACKAGE VERSION FILE... > PACKAGE.spdx.json

Each FILE is a program or an archive that was built in BUILD_DIR by Ninja, or the package-lock.json of a bundle, whose materials
are the packages of npm that it does not only build with (STATIC_LINK), or a file of /usr/share that was copied. Of the others the materials are read off the build, not off a
list of what should be in it: the Debian packages whose shared libraries a program loads (DYNAMIC_LINK), and those
whose headers were compiled into it or into the archives that it links (STATIC_LINK).
"""

import datetime
import glob
import json
import os
import re
import subprocess
import sys
import urllib.parse
import uuid


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def packages_of(files):
    """Returns the Debian packages of these files. A file of no package is an error: it would be missing from the list."""
    names = {os.path.realpath(file) for file in files}
    wanted = names | {name.removeprefix("/usr") for name in names}  # dpkg may know /usr/lib as /lib
    found = {}
    for path in glob.glob("/var/lib/dpkg/info/*.list"):
        with open(path, encoding="utf-8") as listed:
            for line in listed:
                if line.rstrip("\n") in wanted:
                    found[line.rstrip("\n")] = os.path.basename(path).removesuffix(".list").split(":")[0]
    homeless = [name for name in names if name not in found and name.removeprefix("/usr") not in found]
    if homeless:
        sys.exit(f"bill_of_materials.py: {homeless[0]} is of no Debian package")
    return set(found.values())


def loaded_libraries(program):
    return set(re.findall(r"=> (/\S+)", output("ldd", program)))


def headers_outside(build, files):
    """Returns the headers outside our folders that were compiled into the objects of these files."""
    names = {os.path.basename(file) for file in files}
    if not names:
        return set()
    made = (line.split(": ")[0] for line in output("ninja", "-C", build, "-t", "targets", "all").splitlines()
            if "_LINKER__" in line or ".a: " in line)  # the archive for C has a command of its own
    linked = [target for target in made if os.path.basename(target) in names]
    inputs = output("ninja", "-C", build, "-t", "inputs", *linked)
    objects = {line for line in inputs.splitlines() if line.endswith(".o")}
    headers, counted = set(), False
    for line in output("ninja", "-C", build, "-t", "deps").splitlines():
        if not line.startswith(" "):
            counted = line.split(": ")[0] in objects
        elif counted and line.startswith("    /usr/"):
            headers.add(line.strip())
    return headers


def spdx_id(name):
    return "SPDXRef-Package-" + re.sub(r"[^A-Za-z0-9.-]", lambda found: f"-{ord(found[0]):x}-", name)


def described(name, version, supplier, **more):
    return {"SPDXID": spdx_id(name), "name": name, "versionInfo": version, "supplier": supplier,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
            "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION"} | more


def described_debian_package(name):
    version, source, architecture = output(
        "dpkg-query", "-W", "-f=${Version} ${source:Package} ${Architecture}\n", name).splitlines()[0].split(" ")
    locator = f"pkg:deb/debian/{urllib.parse.quote(name)}@{urllib.parse.quote(version, safe='')}?arch={architecture}"
    return described(name, version, "Organization: Debian", sourceInfo=f"Debian source package {source}", externalRefs=[
        {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}])


def bundled_packages(lock):
    """Returns npm's packages that are part of what browsers get, as (name, entry of the lock file)."""
    with open(lock, encoding="utf-8") as file:
        listed = json.load(file)["packages"]
    return sorted((path.rpartition("node_modules/")[2], entry) for path, entry in listed.items()
                  if path and not entry.get("dev") and not entry.get("devOptional"))


def described_npm_package(name, entry):
    locator = f"pkg:npm/{urllib.parse.quote(name, safe='/')}@{urllib.parse.quote(entry['version'], safe='')}"
    return described("npm:" + name, entry["version"], "NOASSERTION", licenseDeclared=entry["license"].strip("()"),
                     externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                    "referenceLocator": locator}])


def main():
    build, package, version, *named = sys.argv[1:]
    locks = [file for file in named if os.path.basename(file) == "package-lock.json"]
    copied = [file for file in named if file.startswith("/usr/share/")]
    files = [file for file in named if file not in locks + copied]
    programs = [file for file in files if not file.endswith(".a")]
    loaded = packages_of(set().union(*map(loaded_libraries, programs)))
    compiled_in = packages_of(headers_outside(build, files) | set(copied))

    packages = [described(package, version, "NOASSERTION", licenseDeclared="Apache-2.0")]
    packages += map(described_debian_package, sorted(loaded | compiled_in))
    bundled = [bundle for lock in locks for bundle in bundled_packages(lock)]
    packages += [described_npm_package(name, entry) for name, entry in bundled]
    links = [("DYNAMIC_LINK", name) for name in sorted(loaded)] + [("STATIC_LINK", name) for name in sorted(compiled_in)]
    links += [("STATIC_LINK", "npm:" + name) for name, _ in bundled]
    relationships = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                      "relatedSpdxElement": spdx_id(package)}]
    relationships += [{"spdxElementId": spdx_id(package), "relationshipType": kind, "relatedSpdxElement": spdx_id(name)}
                      for kind, name in links]
    moment = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    content = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([packages, relationships]))
    json.dump({"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
               "name": f"{package}-{version}", "documentNamespace": f"urn:uuid:{content}",
               "creationInfo": {"created": f"{moment:%Y-%m-%dT%H:%M:%SZ}", "creators": ["Tool: coppice-bill-of-materials"]},
               "packages": packages, "relationships": relationships}, sys.stdout, indent=1)
    print()


main()
