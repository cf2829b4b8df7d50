"""Random choices as TVM makes them: the same seed gives the same decisions."""

import bisect
import math

_MODULUS = 2147483647


def normalized(seed):
    """The state for a seed."""
    if seed in (None, -1):
        import random

        seed = random.randrange(_MODULUS)
    if seed < 0:
        raise ValueError("Random seed must be non-negative")
    return seed % _MODULUS or 1


class Random:
    """A linear congruential generator and what TVM's standard library makes of it."""

    def __init__(self, seed):
        self.state = normalized(seed)

    def next(self):
        """The next state."""
        self.state = self.state * 48271 % _MODULUS
        return self.state

    def fork_seed(self):
        """A seed for another generator."""
        return self.next() * 32767 % 1999999973

    def integer(self, low, high):
        """A number from the first to before the second."""
        if low >= high:
            raise ValueError("max_exclusive must be greater than min_inclusive.")
        if low + 1 == high:
            return low
        scaling = (_MODULUS - 1) // (high - low)
        past = (high - low) * scaling
        value = self.next()
        while value >= past:
            value = self.next()
        return low + value // scaling

    def real(self):
        """A number of at least 0 and below 1, from two states."""
        first, second = self.next(), self.next()
        value = (first + second * float(_MODULUS)) / (float(_MODULUS) * float(_MODULUS))
        return value if value < 1.0 else math.nextafter(1.0, 0.0)

    def categorical(self, probs):
        """The place of one of several, with these chances."""
        if len(probs) < 2:
            return 0
        total, sums, at = sum(probs), [], 0.0
        for prob in probs:
            at += prob / total
            sums.append(at)
        sums[-1] = 1.0
        return bisect.bisect_left(sums, self.real())

    def _without_replacement(self, n, k):
        if k == 1:
            return [self.integer(0, n)]
        if k == 2:
            first, second = self.integer(0, n), self.integer(0, n - 1)
            return [first, second + (second >= first)]
        order = list(range(n))
        for at in range(k):
            other = self.integer(at, n)
            order[at], order[other] = order[other], order[at]
        return order[:k]

    def perfect_tile(self, extent, n, most=-1):
        """Factors of a number, of which the last is not above `most`."""
        if most != -1:
            if n < 2:
                raise ValueError(f"Check failed: n_splits >= 2 ({n} vs. 2) : Cannot tile a loop into {n} splits")
            while (made := self.perfect_tile(extent, n))[-1] > most:
                pass
            return made
        if n == 1:
            return [extent]
        made = [1] * n
        for prime, power in _factorized(extent):
            if n == 2:
                if prime >= 65536:
                    made[1 if self.integer(0, 2) else 0] *= prime
                    continue
                first = self.integer(0, power + 1)
                made[0] *= prime**first
                made[1] *= prime ** (power - first)
            elif power == 1:
                made[self.integer(0, n)] *= prime
            else:
                cuts = [*sorted(self._without_replacement(power + n - 1, n - 1)), power + n - 1]
                last = -1
                for at, cut in enumerate(cuts):
                    made[at] *= prime ** (cut - last - 1)
                    last = cut
        return made

    def partitioned_tile(self, extent, n, partition_pos, innerpart_factor):
        """Factors of a number, of which those from a place on are together a multiple of another."""
        if partition_pos == 0 and innerpart_factor == 1:
            return self.perfect_tile(extent, n)
        while math.prod((made := self.perfect_tile(extent, n))[partition_pos:]) % innerpart_factor:
            pass
        return made


def _factorized(number):
    """Primes and their powers, from the smallest one."""
    found, prime = [], 2
    while number > 1:
        if prime * prime > number:
            prime = number
        power = 0
        while number % prime == 0:
            number //= prime
            power += 1
        if power:
            found.append((prime, power))
        prime += 1
    return found


def kept_tile(decision, extent):
    """An earlier decision about factors, which are mended if they do not fit the extent any more."""
    made, left = [int(item) for item in decision], extent
    for at in range(len(made) - 1, 0, -1):
        if left % made[at]:
            made[at] = left
        left //= made[at]
    made[0] = left
    return made


def kept_partition(decision, extent, partition_pos, innerpart_factor):
    """An earlier decision about factors of which the inner ones are a multiple of a number."""
    if math.prod(int(item) for item in decision[partition_pos:]) % innerpart_factor == 0:
        return kept_tile(decision, extent)
    made = [1] * len(decision)
    made[0] = extent // innerpart_factor
    made[partition_pos] = innerpart_factor
    return made


def compute_locations(schedule, block):
    """The loops that a block can be computed at, as their places around its first consumer; -1 is its own place, -2 none."""
    from .schedule import ScheduleError

    def can(method, *args, **kwargs):
        try:
            getattr(schedule._clone(), method)(*args, **kwargs)
        except (ScheduleError, ValueError):
            return False
        return True

    found = [-2] if can("compute_inline", block) else []
    found.append(-1)
    here = schedule._clone()
    consumers = here.get_consumers(block)
    if not consumers:
        return found
    nests = [[here.get(loop) for loop in here.get_loops(consumer)] for consumer in consumers]
    common = min(len(nest) for nest in nests)
    while common and any(nest[common - 1] is not nests[0][common - 1] for nest in nests):
        common -= 1
    kinds = [_is_data_parallel(loop) for loop in nests[0][:common]]
    last = max((at for at, parallel in enumerate(kinds) if parallel), default=-1)
    reduced = False
    for at, loop in enumerate(nests[0][:common]):
        if getattr(loop.extent, "value", None) == 1:
            continue
        if kinds[at] and reduced or not kinds[at] and at > last:
            break
        reduced = reduced or not kinds[at]
        trial = schedule._clone()
        target = trial.get_loops(trial.get_consumers(block)[0])[at]
        try:
            trial.compute_at(block, target, preserve_unit_loops=True)
        except (ScheduleError, ValueError):
            continue
        found.append(at)
    return found


def _is_data_parallel(loop):
    """True if only spatial variables of the blocks inside depend on a loop, and some do."""
    from ...tirx.functor import parts, pre_order_visit
    from ...tirx.stmt import SBlock, SBlockRealize

    kinds, todo = set(), [loop.body]

    def uses(value):
        seen = []
        pre_order_visit(value, lambda part: seen.append(part) if part is loop.loop_var else None)
        return bool(seen)

    while todo:
        node = todo.pop()
        if isinstance(node, SBlockRealize):
            pairs = zip(node.block.iter_vars, node.iter_values)
            kinds |= {int(item.iter_type) for item, value in pairs if uses(value)}
        elif not isinstance(node, SBlock):
            todo.extend(parts(node))
    return kinds == {0}
