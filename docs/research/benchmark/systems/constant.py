#!/usr/bin/env python3
"""The same answer for every row: the shares of the classes, or the mean, of the training rows. Not private."""

import protocol


def keep(table: protocol.Table, schema: dict) -> list[list[str]]:
    return table.rows


def run(request: dict) -> float:
    schema, _, labels, test = protocol.load(request, keep)
    with protocol.Stopwatch() as watch:
        if "classes" in schema:
            answer = [labels.count(name) / len(labels) for name in schema["classes"]]
        else:
            answer = [sum(map(float, labels)) / len(labels)]
    if "classes" in schema:
        protocol.write_probabilities(request["output"], schema, schema["classes"], [answer] * len(test))
    else:
        protocol.write_numbers(request["output"], schema, answer * len(test))
    return watch.seconds


if __name__ == "__main__":
    protocol.serve(run)
