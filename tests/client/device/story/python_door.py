#!/usr/bin/python3
"""One visit of a device in Python, for the device's story: python_door.py FILE, which says what to do."""

import json
import sys

import coppice


def make_device(asked, journal):
    policy = coppice.Policy(asked["max_epsilon"], allow_in_clear=["x"] if asked["shows_x"] else [])
    if asked["relayed"]:
        return coppice.RelayedDevice(
            asked["server"], policy, journal, relay_key=asked["relay_key"], curator_key=asked["curator_key"],
            max_send_delay=0, subject="me", insecure=True)
    return coppice.Device(
        asked["server"], policy, journal, curator_key=asked["curator_key"], subject="me", insecure=True)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        asked = json.load(file)
    device = make_device(asked, coppice.Journal(asked["journal"]))
    told = {"answered": False, "delivered": 0, "refused": 0}
    if asked["study"] is not None:
        try:
            device.answer(asked["study"], asked["row"])
            told["answered"] = True
        except coppice.CoppiceError as error:
            print(error, file=sys.stderr)
    try:
        sent = device.deliver()
        told["delivered"] = sent["stored" if asked["relayed"] else "delivered"]
        told["refused"] = len(sent["lost" if asked["relayed"] else "refused"])
    except coppice.CoppiceError as error:
        print(error, file=sys.stderr)
    print(json.dumps(told))


main()
