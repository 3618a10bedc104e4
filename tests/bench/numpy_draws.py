#!/usr/bin/env python3
"""NumPy's time for a draw of Laplace noise, in blocks as device_bench draws: floating point and a
generator that is not cryptographic, so no substitute, but what people compare with. Needs NumPy."""
import time

import numpy

DRAWS, BLOCKS = 512, 20000
generator = numpy.random.default_rng()
start = time.perf_counter()
for _ in range(BLOCKS):
    generator.laplace(0.0, 4.0, DRAWS)
print(f"NumPy {numpy.__version__}: {(time.perf_counter() - start) / DRAWS / BLOCKS * 1e9:.1f} ns a draw")
