"""The mechanisms of docs/research/mechanisms.md, written again with whole numbers of any size.

A device's draws come from a Stream, as docs/protocol.md#test-vectors lays it out. That is for checking only: a real
device takes its bytes from the system's private generator, and the curator cannot tell how it uses them.
"""

import functools
import hashlib

WORDS_OF_A_BLOCK = 8192
MOST_STEPS = 62


class Stream:
    def __init__(self, prefix, seed):
        self.pending, self.seed, self.counter = prefix, seed, 0
        self.block, self.at = b"", WORDS_OF_A_BLOCK

    def left(self):
        """Returns the words left in the block; starts a new block if there would be none."""
        if self.at == WORDS_OF_A_BLOCK:
            while len(self.pending) < 2 * WORDS_OF_A_BLOCK:
                self.pending += hashlib.sha256(self.seed + self.counter.to_bytes(8, "big")).digest()
                self.counter += 1
            self.block, self.pending = (self.pending[: 2 * WORDS_OF_A_BLOCK], self.pending[2 * WORDS_OF_A_BLOCK :])
            self.at = 0
        return WORDS_OF_A_BLOCK - self.at

    def word(self):
        self.left()
        self.at += 1
        return int.from_bytes(self.block[2 * self.at - 2 : 2 * self.at], "little")

    def bits(self, count):
        if count == 0:
            return 0
        if self.left() < 4:
            self.at = WORDS_OF_A_BLOCK
            self.left()
        value = int.from_bytes(self.block[2 * self.at : 2 * self.at + 8], "little")
        self.at += (count + 15) // 16
        return value & (1 << count) - 1

    def below(self, bound):
        while True:
            value = self.bits((bound - 1).bit_length())
            if value < bound:
                return value

    def geometric(self, ratio, count):
        """Returns pairs of steps and whether negative, with the ratio in units of 2^-32."""
        draws = []
        while len(draws) < count:
            firsts = [self.word() for _ in range(min(count - len(draws), self.left()))]
            draws += [(self.steps(first & 0x7FFF, ratio), first >= 0x8000) for first in firsts]
        return draws

    def steps(self, first, ratio):
        uniform = [first]  # the known binary digits of U: 15, then 16 at a time
        for steps, power in enumerate(halved_powers(ratio)):
            if not self.is_less(uniform, power):
                return steps
        return MOST_STEPS

    def is_less(self, uniform, power):
        for at, digit in enumerate(power):
            if at == len(uniform):
                uniform.append(self.word())
            if uniform[at] != digit:
                return uniform[at] < digit
        return False

    def more_steps(self, ratio):
        """Draws without a cut at MOST_STEPS."""
        total = 0
        while True:
            ((steps, _),) = self.geometric(ratio, 1)
            total += steps
            if steps < MOST_STEPS:
                return total


@functools.lru_cache(maxsize=None)
def halved_powers(ratio):
    """Returns ratio^i / 2 for i = 1 to MOST_STEPS, as words after the binary point, 2 i + 1 of them."""
    powers = []
    for i in range(1, MOST_STEPS + 1):
        data = (ratio**i << 15).to_bytes(2 * (2 * i + 1), "big")
        powers.append([int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)])
    return powers


@functools.lru_cache(maxsize=None)
def exp_lower_bound(nanos, divisor):
    """Returns e with e / 2^60 <= exp(epsilon / divisor)."""
    unit = 10**9 * divisor
    nanos = min(nanos, 20 * unit)
    term = total = 1 << 60
    k = 1
    while term:
        term = term * nanos // (unit * k)
        total += term
        k += 1
    return total


def decay_ratio(nanos, divisor):
    return -(-(1 << 92) // exp_lower_bound(nanos, divisor))


def lie_rate(nanos, divisor):
    return -(-(1 << 92) // ((1 << 60) + exp_lower_bound(nanos, divisor)))


def keep_rate(nanos, kept, symbols):
    x = (exp_lower_bound(nanos, 1) - (1 << 60)) * kept
    return (x << 62) // (x + (symbols << 60))


def round_to_a_step(place, steps, stream):
    """Returns one of the two whole numbers nearest to place * steps, which is the mean."""
    step, rest = divmod(int(place * 2**53) * steps, 1 << 53)
    return step + (stream.below(1 << 53) < rest)


def power_of_two_from(number):
    return 1 << (number - 1).bit_length()


class Mechanism:
    """One mechanism for one domain. Cells are leaf * classes + label."""

    columns = 1

    def __init__(self, nanos, leaves, classes):
        self.nanos, self.leaves, self.classes = nanos, leaves, classes
        self.cells = leaves * classes
        self.prepare()

    def prepare(self):
        pass

    def randomize_number(self, leaf, place, column, stream):
        """A number by its place between the ends of its range, 0 to 1: rounded to an end, which is the label."""
        return self.randomize(leaf, round_to_a_step(place, 1, stream), column, stream)

    def bitmap(self, ones):
        return sum(1 << one for one in ones).to_bytes((self.cells + 7) // 8, "little")


class Laplace(Mechanism):
    def randomize(self, leaf, label, column, stream):
        ratio = decay_ratio(self.nanos, self.sensitivity)
        entries = []
        while len(entries) < self.cells:
            for steps, negative in stream.geometric(ratio, min(512, self.cells - len(entries))):
                if steps == MOST_STEPS:
                    steps += stream.more_steps(ratio)
                if steps or not negative:
                    entries.append(-steps if negative else steps)
        for one in self.ones(leaf, label):
            entries[one] += 1
        return b"".join(varint(2 * entry if entry >= 0 else -2 * entry - 1) for entry in entries)


class LaplaceSplit(Laplace):
    sensitivity = 4

    def ones(self, leaf, label):
        return [leaf] + ([label * self.leaves + leaf] if label else [])


class LaplaceJoint(Laplace):
    sensitivity = 2

    def ones(self, leaf, label):
        return [leaf * self.classes + label]


class Unary(Mechanism):
    def randomize(self, leaf, label, column, stream):
        truth, lie = self.rates()
        cell = leaf * self.classes + label
        ones = [one for one in self.lies(stream, lie) if one != cell]
        if stream.below(1 << 32) < truth:
            ones.append(cell)
        return self.bitmap(ones)

    def lies(self, stream, rate):
        batch = min(32, (self.cells * rate >> 32) + 1)
        position, found = 0, []
        while True:
            for steps, _ in stream.geometric((1 << 32) - rate, batch):
                position += steps
                if position >= self.cells:
                    return found
                if steps < MOST_STEPS:
                    found.append(position)
                    position += 1


class SymmetricUnary(Unary):
    def rates(self):
        lie = lie_rate(self.nanos, 2)
        return (1 << 32) - lie, lie


class OptimizedUnary(Unary):
    def rates(self):
        return 1 << 31, lie_rate(self.nanos, 1)


class SubsetSelection(Mechanism):
    def randomize(self, leaf, label, column, stream):
        e, cell, others = exp_lower_bound(self.nanos, 1), leaf * self.classes + label, self.cells - 1
        size = max(1, (2 * (self.cells << 60) + (1 << 60) + e) // (2 * ((1 << 60) + e)))
        rate = (size * e << 32) // (size * e + (self.cells - size << 60))
        truth = stream.below(1 << 32) < rate
        chosen = set()
        for last in range(others - size + truth, others):
            any_one = stream.below(last + 1)
            chosen.add(last if any_one in chosen else any_one)
        members = {other + (other >= cell) for other in chosen} | ({cell} if truth else set())
        width = others.bit_length()
        if size * width >= self.cells:
            return self.bitmap(members)
        number = sum(member << width * i for i, member in enumerate(sorted(members)))
        return number.to_bytes((size * width + 7) // 8, "little")


class Symbols(Mechanism):
    def randomize(self, leaf, label, column, stream):
        rate = keep_rate(self.nanos, 1, self.symbols)
        symbol = self.symbol(column, leaf * self.classes + label)
        kept, anything = stream.below(1 << 62) < rate, stream.below(self.symbols)
        symbol = symbol if kept else anything
        return symbol.to_bytes(((self.symbols - 1).bit_length() + 7) // 8, "little")


class Direct(Symbols):
    def prepare(self):
        self.symbols = self.cells

    def symbol(self, column, cell):
        return cell


class HadamardResponse(Symbols):
    def prepare(self):
        gain = (exp_lower_bound(self.nanos, 1) >> 30) - (1 << 30)
        self.blocks = 1
        while self.blocks < power_of_two_from(self.cells) and 8 * self.blocks**2 << 60 < gain**2:
            self.blocks *= 2
        self.columns = power_of_two_from(-(-self.cells // self.blocks))
        self.symbols = 2 * self.blocks

    def symbol(self, column, cell):
        return 2 * (cell % self.blocks) + (column & cell // self.blocks).bit_count() % 2


class LocalHashing(Symbols):
    def prepare(self):
        x, most = (exp_lower_bound(self.nanos, 1) >> 40) - (1 << 20), max(32 * self.cells, 4096)
        least = None
        for g in range(2, int(most**0.5) + 2):
            vectors = g
            while vectors < self.cells:
                vectors *= g
            if vectors * g > most or any(g % factor == 0 for factor in range(2, int(g**0.5) + 1)):
                continue
            spread = g * (vectors - 1) << 20
            noise = ((vectors - g) * x + spread) // vectors * ((vectors * x + spread) // vectors) // (g - 1)
            if least is None or noise < least:
                least, self.symbols, self.columns = noise, g, vectors - 1

    def symbol(self, column, cell):
        product, a = 0, column + 1
        while a and cell:
            product += a % self.symbols * (cell % self.symbols)
            a, cell = a // self.symbols, cell // self.symbols
        return product % self.symbols


class SignedHadamard(Symbols):
    symbols = 2

    def prepare(self):
        self.columns = power_of_two_from(self.leaves)

    def symbol(self, column, cell):
        return (cell % 2 == 0) ^ (column & cell // 2).bit_count() % 2


class WindowResponse(Mechanism):
    window = (0, 0)  # reach and half width, as the terms state them

    def randomize_number(self, leaf, place, column, stream):
        reach, half_width = self.window
        kept, symbols = 2 * half_width + 1, 2 * reach + 1
        step = round_to_a_step(place, 2 * (reach - half_width), stream)
        is_kept = stream.below(1 << 62) < keep_rate(self.nanos, kept, symbols)
        near, anywhere = stream.below(kept), stream.below(symbols)
        return bytes([step + near if is_kept else anywhere])


# In the order of their numbers on the wire, from 1.
NAMES = ["laplace_split", "laplace_joint", "symmetric_unary", "optimized_unary", "subset_selection",
         "direct", "hadamard_response", "local_hashing", "signed_hadamard", "window_response"]  # fmt: skip
MECHANISMS = dict(zip(NAMES, [LaplaceSplit, LaplaceJoint, SymmetricUnary, OptimizedUnary, SubsetSelection,
                              Direct, HadamardResponse, LocalHashing, SignedHadamard, WindowResponse]))  # fmt: skip


def varint(number):
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(data + bytes([number]))
