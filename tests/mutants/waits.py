"""Waits, commits, arrivals and fences that something else makes up for: conditions of rules.py, on the text (pairs.py), or by a
text that traps (probe.py)."""
import re

import flow
import probe
from pairs import ACQUIRES, COPY, PUBLISHES, STRONG, is_own
from places import number

WAIT = re.compile(r"mbarrier\.(try_wait|test_wait)")
WORD = re.compile(r"%[\w$]+")


# ---- groups of asynchronous operations ----

class Kind:
    """One of the three: what belongs to its groups, and what closes and waits for them."""

    def __init__(self, op):
        name = next(x for x in ("wgmma.", "cp.async.bulk.", "cp.async.") if op.startswith(x))
        self.name = name
        self.commit, self.wait = name + "commit_group", (name + "wait_group", name + "wait_all")

    def is_op(self, s):
        if self.name == "wgmma.":
            return s.op.startswith("wgmma.mma_async")
        return ".bulk_group" in s.op if "bulk" in self.name else COPY.match(s.op) is not None and not COPY.match(s.op).group(2)

    def is_wait(self, s):
        return s.op.startswith(self.wait)

    @staticmethod
    def left(s):
        """Groups that a wait leaves under way."""
        return number(s.args[0]) if s.args and "wait_all" not in s.op else 0


def is_strong_enough(wait, other):
    """`other` waits for as much of each group, and in as many threads."""
    return (not other.guard or other.guard == wait.guard) and (".read" in wait.op or ".read" not in other.op)


def goes_on(pairs, kind, start, n_left):
    """Statements on ways from `start` up to waits that cover what a wait there that leaves n_left groups would; commits between
    count."""
    at, todo, seen, out = pairs.flow.at, [(k, 0) for k in start.next], set(), {}
    while todo:
        k, d = todo.pop()
        s = at[k]
        if (k, d) in seen or (kind.is_wait(s) and is_strong_enough(start, s) and kind.left(s) <= n_left + d):
            continue
        seen.add((k, d))
        out[k] = s
        d = min(d + (s.op.startswith(kind.commit) and not s.guard), 9)
        todo += [(n, d) for n in s.next]
    return [out[k] for k in sorted(out)]


def is_harmless(pairs, kind, statements):
    """None of these conflicts with what is under way, or says that it is done."""
    ops = [s for s in pairs.flow.at if kind.is_op(s)]
    way = [p for s in ops for p in pairs.places(s) if p.is_async or kind.name == "cp.async."]
    registers = {r for s in ops if kind.name == "wgmma." for a in s.args[:2] if a.startswith("{") for r in WORD.findall(a)}
    for s in statements:
        if kind.is_op(s):
            continue
        if registers & {r for a in [s.guard, *s.args] for r in WORD.findall(a)}:
            return False
        if any(p.may_meet(q) for p in way for q in pairs.places(s)):
            return False
        if pairs.tells(way, s) and not (s.op.startswith("mbarrier.arrive") and is_needless(pairs.look, s)):
            return False
    return True


def is_waited_elsewhere(look):
    if not (look.what in ("deleted", "one group more in flight") and look.flow.is_known and look.is_op(
            r"(wgmma|cp\.async(\.bulk)?)\.(wait_group|wait_all)")):
        return False
    pairs, here = look.pairs, look.flow.at[look.flow.here]
    kind = Kind(here.op)
    before = look.flow.walk(lambda s: kind.is_wait(s) and is_strong_enough(here, s) and kind.left(s) <= kind.left(here), is_back=True)
    if not any(kind.is_op(s) or s.op.startswith(kind.commit) for s in before):
        return True
    return is_harmless(pairs, kind, goes_on(pairs, kind, here, kind.left(here)))


def joins_the_next(look):
    """commit_group: its copies join the next group. That differs for waits that leave as many groups as were committed since."""
    if not (look.what == "deleted" and look.flow.is_known and look.is_op(r"(wgmma|cp\.async(\.bulk)?)\.commit_group")):
        return False
    pairs, here = look.pairs, look.flow.at[look.flow.here]
    kind, at = Kind(here.op), look.flow.at
    todo, seen, lost = [(k, 0) for k in here.next], set(), {}
    while todo:
        k, d = todo.pop()
        s = at[k]
        if (k, d) in seen:
            continue
        seen.add((k, d))
        if kind.is_wait(s) and "wait_all" not in s.op:
            if kind.left(s) == d:
                lost[k, d] = s
            elif kind.left(s) < d:
                continue  # it covers them
        todo += [(n, min(d + s.op.startswith(kind.commit), 9)) for n in s.next]
    # From such a wait on the copies are under way until a wait covers the next group.
    return all(is_harmless(pairs, kind, goes_on(pairs, kind, s, kind.left(s) - 1 if d else -1)) for (_, d), s in lost.items())


def is_empty_group(look):
    """By the text, or by a run: no thread gets here after a copy of a bulk group."""
    if not (look.is_op(r"cp\.async\.bulk\.(commit|wait)_group") and look.flow.is_known):
        return False
    copies = [s for s in look.before() if re.match(r"cp\.(reduce\.)?async\.bulk\S*bulk_group", s.op)]
    return not copies or probe.is_silent(look, probe.follows(look, copies, [look.flow.at[look.flow.here]]))


def is_never_read_again(look):
    if not (look.what == "waits for the reads only" and look.flow.is_known):
        return False
    reads = [s for s in look.behind() if any(p.space != "shared" and p.is_read and not p.is_map for p in look.pairs.places(s))]
    return not reads or probe.is_silent(look, probe.follows(look, [look.flow.at[look.flow.here]], reads))


# ---- mbarriers ----

def is_needless(look, s):
    """Without the arrival its phase never ends, and nobody hangs."""
    return probe.is_silent(look, probe.without(look, [s]))


def nobody_waits(look):
    return (look.is_op(r"mbarrier\.(arrive|complete_tx|expect_tx)|cp\.async\.mbarrier") and
            (look.what == "deleted" or is_needless(look, look.flow.at[look.flow.here])))


def is_unused(look):
    """mbarrier.init of an object that nothing but inval names."""
    here = look.flow.at[look.flow.here]
    if not look.is_op(r"mbarrier\.init"):
        return False
    mine = look.pairs.object_of(here)
    if mine.at[0] is None or mine.at[1] != mine.at[2]:
        return False
    ends = [s for s in look.flow.at if s.op.startswith("mbarrier.inval") and look.pairs.object_of(s).at == mine.at]
    return probe.is_silent(look, probe.without(look, [here, *ends]))


def is_first_phase(look):
    """A wait for the phase before the first, once."""
    here, at = look.flow.at[look.flow.here], look.flow.at
    if not (WAIT.match(here.op) and ".parity" in here.op and look.flow.is_known and look.what in ("waits for nothing", "relaxed")):
        return False
    if look.pairs.values.of(here.args[2]) != (None, 1, 1):
        return False
    mine = look.pairs.object_of(here)
    before = look.flow.walk(lambda s: s is here, is_back=True)
    if any(WAIT.match(s.op) and look.pairs.is_same(look.pairs.object_of(s), mine) for s in before):
        return False
    spins = [s for s in at if s.op.startswith("bra") and here.number in s.next and s.number - here.number in range(1, 3)]
    behind = look.flow.walk(lambda s: s is here, begin=spins[0].number) if spins else []
    return not any(here.number in s.next and s is not spins[0] for s in behind) and bool(spins)


def steps(look, a, b):
    """Nothing is accessed on the ways from statement a to b."""
    way = look.flow.walk(lambda s: s is b, begin=a.number)
    back = look.flow.walk(lambda s: s is a, is_back=True, begin=b.number)
    between = {s.number for s in way} & {s.number for s in back}
    return bool(way or b.number in a.next) and not any(look.pairs.happens(look.flow.at[k]) for k in between)


def pair_up(look, mine, find):
    """Statements `find` about mbarrier `mine` and, for each, partners about one other mbarrier: {array: [(statement, partner)]}."""
    pairs = look.pairs
    all_of = [s for s in look.flow.at if find.match(s.op) and pairs.object_of(s)]
    own = [s for s in all_of if pairs.is_same(pairs.object_of(s), mine)]
    out = {}
    for other in {pairs.array_of(pairs.object_of(s)): s for s in all_of if s not in own}.values():
        theirs = [s for s in all_of if pairs.is_same(pairs.object_of(s), pairs.object_of(other))]
        out[pairs.array_of(pairs.object_of(other))] = [(s, [t for t in theirs if t.guard == s.guard and t.op == s.op]) for s in own]
    return out


def is_in_step(look):
    """Another mbarrier of the same phases is arrived at and waited for beside this one, by the same threads."""
    here, pairs = look.flow.at[look.flow.here], look.pairs
    is_wait = WAIT.match(here.op) is not None
    if not look.flow.is_known or not (is_wait and look.what in ("waits for nothing", "relaxed") or (
            look.what == "relaxed" and here.op.startswith("mbarrier.arrive.shared"))):
        return False
    mine = pairs.object_of(here)
    waits, arrivals = pair_up(look, mine, WAIT), pair_up(look, mine, re.compile(r"mbarrier\.arrive"))
    for other in waits.keys() & arrivals.keys():
        # who waits here has waited there, or does before it does anything
        is_waited = all(any(t.args[2:3] == s.args[2:3] and (pairs.passes_it(t, s, pairs.is_whole) or steps(look, s, t))
                            for t in ts) for s, ts in waits[other])
        # who arrives here arrives there, and does nothing between the two
        is_told = all(any(steps(look, s, t) or steps(look, t, s) for t in ts) for s, ts in arrivals[other])
        if waits[other] and arrivals[other] and is_waited and is_told:
            return True
    return False


def publishes_nothing(look):
    """A relaxed arrival. What the thread did, or knows that others did, since the last barrier of all: nothing of it conflicts
    with what those do who wait there."""
    if not (look.what == "relaxed" and look.is_op(r"mbarrier\.arrive") and look.flow.is_known):
        return False
    before = look.before(look.pairs.is_whole)
    happened = [p for s in before for p in look.pairs.happens(s) if not (p.is_async and p.is_write and p.space == "shared")]
    if any(STRONG.match(s.op) for s in before):
        return False
    here = look.flow.at[look.flow.here]
    told = [p for p in happened if look.pairs.tells([p], here)]
    if not told or "shared::cluster" in here.op:
        return not told
    # or it is the thread that arrives which does what would conflict
    theirs = [z for w in look.flow.at if WAIT.match(w.op) and look.pairs.is_same(look.pairs.object_of(w), look.pairs.object_of(here))
              for z in look.flow.walk(look.pairs.is_whole, begin=w.number)
              if any(p.may_meet(q) and not is_own(p, q) and not look.pairs.is_barred(p, z) for p in told for q in look.pairs.places(z))]
    if probe.is_silent(look, probe.only_first(look, [here, *theirs], 1)):
        return True
    # or each thread has memory of its own there
    own = {s.number: s for s in [*theirs, *(look.flow.at[p.by] for p in told)]}.values()
    return not any(p.is_async for p in told) and look.pairs.is_each_its_own(own)


# ---- fences ----

def is_fenced_elsewhere(look):
    """fence.proxy.async: each pair of accesses by two proxies, the first before it, has another such fence on its way."""
    here, pairs = look.flow.at[look.flow.here], look.pairs
    if not (look.what == "deleted" and here.op.startswith("fence.proxy.async") and look.flow.is_known):
        return False

    def is_other(s):
        return s is not here and not s.guard and s.op.startswith("fence.proxy.async") and (s.op in (here.op, "fence.proxy.async"))

    behind = {s.number: s for s in look.behind()}
    for a in look.flow.at:
        if ACQUIRES.match(a.op) and not pairs.is_whole(a):
            behind |= {s.number: s for s in look.flow.walk(lambda s: False, begin=a.number)}
    async_ones = [s for s in behind.values() if any(p.is_async for p in pairs.places(s))]
    for x in look.flow.at:
        theirs = [y for y in async_ones if any(p.may_meet(q) for p in pairs.places(x) for q in pairs.places(y) if q.is_async)]
        if not theirs:
            continue
        # who accessed it fences before he tells anybody
        if not any(PUBLISHES.match(s.op) or s is here for s in look.flow.walk(is_other, begin=x.number)):
            continue
        # or who issues the other one fences after he was told
        if not all(not any(ACQUIRES.match(s.op) or s is here or s.number == 0 for s in look.flow.walk(is_other, is_back=True, begin=y.number))
                   for y in theirs):
            return False
    return True


def orders_nothing(look):
    """A fence of the scope of the CTA. Who observes a write behind it accesses nothing that conflicts with what was done since the
    last barrier before it; what it could acquire conflicts with nothing behind it; and strong accesses stand before it or behind."""
    here, pairs, at = look.flow.at[look.flow.here], look.pairs, look.flow.at
    if not (look.what == "deleted" and look.flow.is_known and re.match(r"(fence\.(sc|acq_rel|acquire|release)|membar)\.cta", here.op)):
        return False

    def do_meet(x, y):
        mine, its = pairs.object_of(x), pairs.object_of(y)
        is_object = mine and its and pairs.is_same(mine, its) and any(re.match(r"mbarrier\.(init|inval)", s.op) for s in (x, y))
        return is_object or any(p.may_meet(q) for p in pairs.happens(x) for q in pairs.places(y))

    def observe(writes, reads):
        """(write, read) at one place."""
        of = [[s for s in ss if STRONG.match(s.op) and any(p.is_write if k == 0 else p.is_read for p in pairs.places(s))]
              for k, ss in enumerate((writes, reads))]
        return [(w, r) for w in of[0] for r in of[1] if any(p.may_meet(q) for p in pairs.places(w) for q in pairs.places(r))]

    before, behind = look.before(), look.behind()
    since, until = look.before(pairs.is_whole), look.behind(pairs.is_whole)
    is_released = any(do_meet(x, z) for _, r in observe(behind, at) for z in look.flow.walk(pairs.is_whole, begin=r.number) for x in since)
    is_acquired = any(do_meet(x, y) for w, _ in observe(at, before) for x in look.flow.walk(pairs.is_whole, is_back=True, begin=w.number)
                      for y in until)
    is_between = "acq" not in here.op and {s.number for s in before if STRONG.match(s.op)} & {s.number for s in behind}
    return not (is_released or is_acquired or is_between)


def is_alone(look):
    """An atomic or fence whose order nobody uses: behind the atomics of its array nothing is accessed but by such atomics."""
    here = look.flow.at[look.flow.here]
    if look.m.operator not in ("to_relaxed", "scope") or not re.match(r"(atom|red)\.", here.op) or not look.flow.is_known:
        return False
    base = look.pairs.places(here)[0].at[0]
    same = [s for s in look.flow.at if re.match(r"(atom|red)\.", s.op) and look.pairs.places(s)[0].at[0] == base]
    behind = {s.number: s for a in same for s in look.flow.walk(lambda s: False, begin=a.number)}
    return base is not None and not any(look.pairs.places(s) for s in behind.values() if s not in same)


def is_renamed(look):
    """All who meet at this barrier meet at this statement: under another number they meet as well."""
    here, pairs = look.flow.at[look.flow.here], look.pairs
    if look.what != "another barrier" or ".sync" not in here.op or here.guard:
        return False
    mine = pairs.barriers[here.number]
    numbers = {k: pairs.values.of(look.flow.at[k].args[".red" in look.flow.at[k].op]) for k in pairs.barriers}
    _, first, last = numbers[here.number]
    same = [look.flow.at[k] for k, (_, low, high) in numbers.items() if low <= last and first <= high]
    is_one = first == last or len(pairs.values.sets.get(here.args[0], [])) == 1  # a number of each thread
    if all(high < 8 for _, _, high in numbers.values()) and all(".sync" in s.op and s.args == here.args and is_one
                                                                or pairs.barriers[s.number] == mine and mine[0] is not None for s in same):
        return True
    everyone = [look.flow.at[k] for k in pairs.barriers]
    if not is_one or any(".red" in s.op for s in everyone):
        return False
    own = [s for s in everyone if ".sync" in s.op and s.args == here.args and not s.guard]
    return probe.is_silent(look, probe.numbers_apart(look, own, [s for s in everyone if s not in own]))


# ---- clusters, and what is left ----

def is_alone_in_cluster(look):
    """A relaxed arrival at the barrier of the cluster, and no access before it conflicts with one behind the wait. mbarriers
    that were initialised before it have been fenced for."""
    if not (look.what == "relaxed" and look.is_op(r"barrier\.cluster\.arrive") and look.flow.is_known):
        return False
    pairs = look.pairs

    def is_wait(s):
        return s.op.startswith("barrier.cluster.wait")

    waits = [s for s in look.flow.walk(lambda s: False) if is_wait(s)]
    there = [x for x in look.before(is_wait) if "complete_tx" not in x.op and (
        "shared::cluster" in x.op and not x.op.startswith("mapa") or any(p.space == "generic" for p in pairs.places(x)))]
    if there and not any(s.op.startswith("barrier.cluster.arrive") and "relaxed" not in s.op for s in look.behind()):
        return False  # the CTA may end; for what signals there it waits
    behind = [s for w in waits[:1] for s in look.flow.walk(lambda s: s.op.startswith("barrier.cluster.arrive"), begin=w.number)]
    for x in look.before(is_wait):
        if x.op.startswith("mbarrier.init"):
            way = look.flow.walk(lambda s: s.op.startswith("fence.mbarrier_init"), begin=x.number)
            if look.flow.here in {s.number for s in way} | {n for s in way for n in s.next}:
                return False
            continue
        for y in behind:
            if any(p.may_meet(q) for p in pairs.happens(x) for q in pairs.places(y)):
                return False
            mine, its = pairs.object_of(x), pairs.object_of(y)
            if pairs.tells(pairs.happens(x), y) or (mine and its and x.op.startswith("mbarrier.inval") and pairs.is_same(mine, its)):
                return False
    return bool(waits)


def counts_for_nobody(look):
    """mbarrier.init with another count: no thread arrives at the object, or nobody waits for the end of a phase."""
    here = look.flow.at[look.flow.here]
    if not (look.is_op(r"mbarrier\.init") and look.what != "deleted"):
        return False
    mine = look.pairs.object_of(here)
    if mine.at[0] is None or mine.at[1] != mine.at[2]:
        return False
    arrivals = [s for s in look.flow.at if re.match(r"mbarrier\.(arrive|complete_tx|expect_tx)|cp\.async\.mbarrier", s.op)
                and look.pairs.is_same(look.pairs.object_of(s), mine)]
    return probe.is_silent(look, probe.without_at(look, arrivals, *mine.at[:2]))


def is_a_lane_less(look):
    """mbarrier.init with one arrival less than the threads of whole warps that arrive, each behind the wait of its warp for a
    product: other lanes of the warp arrive for it."""
    here, pairs = look.flow.at[look.flow.here], look.pairs
    if not (look.is_op(r"mbarrier\.init") and look.what == "one arrival less"):
        return False
    count = pairs.values.of(here.args[1])
    mine = pairs.object_of(here)
    arrivals = [s for s in look.flow.at if re.match(r"mbarrier\.arrive", s.op) and pairs.is_same(pairs.object_of(s), mine)]
    if count[0] is not None or count[1] != count[2] or count[1] % 32 or not count[1] or not arrivals or len(arrivals) > 15:
        return False  # so many phases at most, and so many lanes that are not waited for
    for s in arrivals:
        back = look.flow.walk(lambda x: x.op.startswith("wgmma.wait_group") and not x.guard, is_back=True, begin=s.number)
        if s.guard or len(s.args) > 2 or any(x.number == 0 or any(not p.is_async for p in pairs.places(x)) for x in back):
            return False
        if look.flow.walk(lambda x: x is s, begin=s.number) and any(s.number in x.next for x in look.flow.walk(
                lambda x: x is s, begin=s.number)):
            return False  # it is executed once
    return True


def is_one_warp(look):
    """bar.sync between what threads of one warp do, which meet in elect.sync or the like: in practice that orders them."""
    here, pairs = look.flow.at[look.flow.here], look.pairs
    is_end = pairs.ends_for(here)
    if not (look.what == "deleted" and look.is_op("bar") and look.flow.is_known and is_end) or look.has_isa:
        return False
    pairs.between = look.before(is_end) + look.behind(is_end)
    found = [(x, y) for x in look.before(is_end) for y in look.behind(is_end) if pairs.needs(x, y, is_end)]
    ends = {s.number: s for pair in found for s in pair}.values()

    def meets(s):
        return not s.guard and re.match(r"(elect|shfl|vote|redux|match)\.\S*sync", s.op) is not None and flow.is_of_all_lanes(s)

    for x, y in found:
        # x first executes no such meeting behind it, then y none before it: one way without
        if any(y is s for s in look.flow.walk(meets, begin=x.number)):
            return False
    return probe.is_silent(look, probe.only_first(look, ends, 32))
