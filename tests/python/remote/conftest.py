"""One curator for all tests, and connections to it by role."""

import pytest


import coppice
from curator import Curator


@pytest.fixture(scope="session")
def curator():
    started = Curator()
    yield started
    started.end()


def client_of(curator, name):
    return coppice.connect(curator.server, ca=curator.ca, token=curator.tokens[name])


@pytest.fixture(scope="session")
def client(curator):
    with client_of(curator, "ops") as connected:
        yield connected


@pytest.fixture(scope="session")
def owner(curator):
    with client_of(curator, "owner") as connected:
        yield connected


@pytest.fixture(scope="session")
def reader(curator):
    with client_of(curator, "reader") as connected:
        yield connected
