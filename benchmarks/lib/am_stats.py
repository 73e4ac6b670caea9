"""Medians, bootstrap intervals and comparisons.

Owns every statistical choice of the tools.  Pure functions: the seed of the
bootstrap is fixed, so the same data gives the same answer.
"""

import math
import random
import statistics

SEED = 20140207
RESAMPLES = 1000
RUNS_MIN = 5  # with fewer, no comparison is made
TURNS_MIN = 10  # pairs from which on their order alone says enough

SLOWER, FASTER, UNKNOWN = "slower", "faster", "cannot tell"


def median(values):
    return statistics.median(values)


def quantile(ordered, part):
    """Linear interpolation in a sorted list."""
    place = part * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def median_interval(values, confidence=0.95):
    """Bootstrap interval of the median; of one value, that value twice."""
    if len(values) < 2:
        return values[0], values[0]
    draw = random.Random(SEED)
    medians = sorted(median(draw.choices(values, k=len(values)))
                     for _ in range(RESAMPLES))
    rest = (1.0 - confidence) / 2
    return quantile(medians, rest), quantile(medians, 1.0 - rest)


def shift(a, b):
    """How much b lies above a: the median of all differences.

    Hodges and Lehmann's estimate: about as good as the difference of means
    when the noise is even, and not upset by single slow runs.
    """
    return median([y - x for x in a for y in b])


class Comparison:
    """Verdict on b against a; ratios are of cost, above 1 for slower."""

    def __init__(self, verdict, ratio, low, high, reason=""):
        self.verdict = verdict
        self.ratio = ratio
        self.low = low
        self.high = high
        self.reason = reason

    def sentence(self):
        if self.ratio is None:
            return f"{UNKNOWN}: {self.reason}"
        change = f"{percent(self.low)} to {percent(self.high)}"
        if self.verdict == UNKNOWN:
            return f"{UNKNOWN} ({change})"
        return f"{abs(self.ratio - 1) * 100:.1f}% {self.verdict} ({change})"


def percent(ratio):
    return f"{(ratio - 1) * 100:+.1f}%"


def student_quantile(part, freedom):
    """Quantile of Student's distribution (Cornish and Fisher's series)."""
    z = statistics.NormalDist().inv_cdf(part)
    return (z + (z ** 3 + z) / (4 * freedom) +
            (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * freedom ** 2))


def _widening(runs, freedom, confidence):
    """How much too narrow a bootstrap interval of few runs is.

    A resample has less spread than the runs' population, and a few runs
    know little of their own spread (Hesterberg, "What teachers should know
    about the bootstrap", 2015: the expanded percentile interval).
    """
    part = 1.0 - (1.0 - confidence) / 2
    z = statistics.NormalDist().inv_cdf(part)
    return (student_quantile(part, freedom) / z *
            math.sqrt(runs / (runs - 1)))


def _memory(values):
    """Correlation of each value with the next one, from 0 to 0.9.

    Runs that follow one another on a machine whose load changes slowly are
    alike, and so many of them say less than their number.
    """
    middle = statistics.fmean(values)
    spread = sum((x - middle) ** 2 for x in values)
    if spread == 0:
        return 0.0
    together = sum((x - middle) * (y - middle)
                   for x, y in zip(values, values[1:]))
    return min(max(together / spread, 0.0), 0.9)


def _judge(estimate, shifts, widening, least, confidence):
    """The verdict from an estimate and its resamples, all logarithms."""
    shifts.sort()
    rest = (1.0 - confidence) / 2
    low = estimate + widening * (quantile(shifts, rest) - estimate)
    high = estimate + widening * (quantile(shifts, 1.0 - rest) - estimate)
    return _verdict(estimate, low, high, least)


def _verdict(estimate, low, high, least):
    """The verdict from an estimate and its interval, all logarithms."""
    verdict = UNKNOWN
    if low > 0 and estimate >= math.log(1.0 + least):
        verdict = SLOWER
    elif high < 0 and estimate <= -math.log(1.0 + least):
        verdict = FASTER
    return Comparison(verdict, math.exp(estimate), math.exp(low),
                      math.exp(high))


def _unfit(a, b):
    """Why nothing can be said of two lists of costs, or None."""
    if len(a) < RUNS_MIN or len(b) < RUNS_MIN:
        return f"fewer than {RUNS_MIN} good runs"
    if min(a) <= 0 or min(b) <= 0 or max(*a, *b) == math.inf:
        return "a measured value is not positive"
    return None


def compare(a, b, least=0.02, confidence=0.99):
    """Compares costs (positive, lower is better) of two sets of runs.

    b is slower or faster if the interval of the ratio leaves out 1 and the
    estimate is at least "least" away from it: less than that is not told
    apart from the drift of a machine between two sets of runs.  Both lists
    are in the order of running.
    """
    reason = _unfit(a, b)
    if reason is not None:
        return Comparison(UNKNOWN, None, None, None, reason)
    a = [math.log(x) for x in a]
    b = [math.log(x) for x in b]
    draw = random.Random(SEED)
    shifts = [shift(draw.choices(a, k=len(a)), draw.choices(b, k=len(b)))
              for _ in range(RESAMPLES)]
    widening = _widening(min(len(a), len(b)), len(a) + len(b) - 2,
                         confidence)
    memory = max(_memory(a), _memory(b))
    widening *= math.sqrt((1.0 + memory) / (1.0 - memory))
    return _judge(shift(a, b), shifts, widening, least, confidence)


def centre(values):
    """The median of the means of all pairs (Hodges and Lehmann)."""
    return median([(values[i] + values[j]) / 2
                   for i in range(len(values)) for j in range(i + 1)])


def compare_pairs(a, b, least=0.02, confidence=0.99):
    """The same where a[i] and b[i] ran one after the other."""
    reason = _unfit(a, b)
    if reason is not None:
        return Comparison(UNKNOWN, None, None, None, reason)
    ratios = [math.log(y / x) for x, y in zip(a, b)]
    draw = random.Random(SEED)
    shifts = [centre(draw.choices(ratios, k=len(ratios)))
              for _ in range(RESAMPLES)]
    widening = _widening(len(ratios), len(ratios) - 1, confidence)
    return _judge(centre(ratios), shifts, widening, least, confidence)


def _sign_rank(runs, confidence):
    """Which of the ordered values, from each end, bounds their median.

    The sign test turned round: it asks of the noise only that it favours
    neither side, so that a few wild runs do not widen the interval.  None if
    there are too few runs for that confidence.
    """
    rank, part = 0, 0.0
    while rank < runs:
        part += math.comb(runs, rank) / 2 ** runs
        if part > (1.0 - confidence) / 2:
            break
        rank += 1
    return rank - 1 if rank > 0 else None


def compare_turns(a, b, least=0.02, confidence=0.99):
    """The same for many pairs on a machine whose noise is wild.

    On a virtual machine most pairs differ by little and some by a lot, so
    what counts is how many pairs favour one side, not by how much.  Of two
    equal builds the interval leaves out 1 in one comparison of a hundred;
    the estimate must be "least" away from 1 as well.
    """
    reason = _unfit(a, b)
    if reason is not None:
        return Comparison(UNKNOWN, None, None, None, reason)
    rank = _sign_rank(len(a), confidence)
    if len(a) < TURNS_MIN or rank is None:
        return compare_pairs(a, b, least, confidence)
    ratios = sorted(math.log(y / x) for x, y in zip(a, b))
    return _verdict(median(ratios), ratios[rank], ratios[-1 - rank], least)
