#!/usr/bin/python3
"""A device's owner lets a coarse feature be sent in the clear: the first digit of a postcode. A curator makes a study
that is joined by a column of that name, so that its text would be sent as it is, and then one that is joined by the
text of a feature that nobody may see."""

import json
import subprocess

from curator import BIN, Curator

OWN = {"features": [{"name": "postcode", "type": "categorical", "values": ["1", "2"]},
                    {"name": "age", "type": "numeric", "min": 18, "max": 90}],
       "label": "status", "classes": ["no", "yes"]}
ADDRESS = "10115 Berlin, Invalidenstr. 5"


class Owner:
    """Whose rows are asked for, and what the terminal says of it."""

    def __init__(self, curator):
        self.folder = curator.folder
        self.at = ["--server", curator.address, "--ca", f"{curator.certs}/ca.crt"]
        self.write("own.json", json.dumps(OWN))
        self.write("rows.csv", f'postcode,age,status,customer\n"{ADDRESS}",47,yes,c7\n')
        self.journals = 0

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w") as file:
            file.write(text)

    def run(self, *command):
        return subprocess.run([f"{BIN}/coppice", *command, *self.at, "--json"], capture_output=True, text=True)

    def must(self, *command):
        done = self.run(*command)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def answer(self, study, *flags):
        self.journals += 1
        return self.run("collect", "simulate", "--study", study, "--data", f"{self.folder}/rows.csv", "--journal",
                        f"{self.folder}/journal{self.journals}", *flags)

    def received(self, study):
        return self.must("study", "show", "--study", study)["received"]


def make_studies(owner):
    """An honest one, and some that call a column an id."""
    public = json.loads(json.dumps(OWN))
    public["features"][0]["public"] = True
    owner.write("public.json", json.dumps(public))
    owner.write("public.csv", "postcode,age,status\n" + "".join(
        f"{1 + i % 2},{20 + i},{'yes' if i % 3 else 'no'}\n" for i in range(40)))
    owner.must("study", "create", "--study", "honest", "--public", f"{owner.folder}/public.csv", "--schema",
               f"{owner.folder}/public.json", "--epsilon", "1")
    labels = {"features": [{"name": "z", "type": "numeric", "min": 0, "max": 1, "public": True}],
              "label": "status", "classes": ["no", "yes"]}
    owner.write("labels.json", json.dumps(labels))
    owner.write("labels.csv", "z,status\n" + "".join(f"0.{i % 10},{'yes' if i % 3 else 'no'}\n" for i in range(40)))
    for column in ("postcode", "age", "customer"):
        owner.must("study", "create", "--study", column, "--public", f"{owner.folder}/labels.csv", "--schema",
                   f"{owner.folder}/labels.json", "--epsilon", "1", "--joined-by", column)
        owner.write("ids.csv", f"{column},z\nnobody,0.5\n")
        owner.must("study", "join", "--study", column, "--data", f"{owner.folder}/ids.csv")


def main():
    with Curator() as curator:
        owner = Owner(curator)
        make_studies(owner)
        own = ("--schema", f"{owner.folder}/own.json")
        honest = owner.answer("honest", *own, "--allow-in-clear", "postcode", "--id-column", "customer")
        assert honest.returncode == 0, honest.stderr
        assert owner.received("honest") == 1

        # Whether the owner declared a schema, and whatever the list of ids says by mistake.
        for study in ("postcode", "age"):
            for flags in (("--allow-in-clear", "postcode,age"), (*own, "--allow-in-clear", "postcode,age"),
                          ("--show", "postcode,age"), (*own, "--allow-join-id", "postcode,age"),
                          (*own, "--show", "postcode,age"), (*own, "--show", "postcode")):
                declined = owner.answer(study, *flags)
                assert declined.returncode == 1, (study, flags, declined.stdout)
                assert "FAILED_PRECONDITION" in declined.stdout, declined.stdout
                assert ADDRESS not in declined.stdout + declined.stderr
            assert owner.received(study) == 0, study

        # No list of features is a list of ids too.
        both = owner.answer("postcode", "--allow-in-clear", "postcode", "--allow-join-id", "postcode")
        assert both.returncode == 2 and "leave it out of one" in both.stderr, (both.returncode, both.stderr)

        # An id that the owner lists still joins.
        joined = owner.answer("customer", *own, "--allow-join-id", "customer")
        assert owner.received("customer") == 1, joined.stderr
    print("no curator gets a feature's text by calling it an id")


main()
