"""Which accesses an instruction that orders stands between, and whether something else stands there too.

A barrier, a wait or a fence is needed for pairs of accesses that conflict (places.py), the first before it, the second behind
it. What has an effect at a moment of its own is no access of the statement that issues it: an asynchronous copy or product has
happened where it was waited for. So a barrier orders such a thing only if a wait for it lies before the barrier."""
import math
import re

import flow
import probe
from operators import COMMENT
from places import ANY, TENSOR, Place, Places, number, width

ORDERS = re.compile(r"mbarrier\.|fence\.proxy|cp\.|wgmma|tensormap")
WORD = re.compile(r"%[\w$]+")
COPY = re.compile(r"cp\.(reduce\.)?async\.(bulk\.)?(tensor\.\w+\.)?(shared\S*?|global)\.(shared|global)")
STRONG = re.compile(r"(atom|red|multimem)\.|(ld|st)\.(volatile|relaxed|acquire|release|mmio)|(fence|membar)\b(?!\.proxy|\.mbarrier_init)")
PUBLISHES = re.compile(r"(bar|barrier)\.|mbarrier\.(arrive|complete)|(st|red|atom)\.\S*(release|acq_rel)|fence\.(?!proxy|mbarrier)|membar|cp\.async\.mbarrier"
                       r"|griddepcontrol\.launch|call|tensormap\.cp_fenceproxy")
ACQUIRES = re.compile(r"(bar|barrier)\.|mbarrier\.(try|test)|(ld|atom)\.\S*(acquire|acq_rel)|(ld|atom)\.(volatile|relaxed)|griddepcontrol\.wait|call")


WAITED = re.compile(r"mbarrier\.(try_wait|test_wait)|wgmma\.wait_group")


def brackets(s):
    return [a for a in s.args if a.startswith("[")]


class Pairs:
    def __init__(self, look):
        self.look, self.flow, self.between, self.is_local = look, look.flow, [], False
        self.as_often = {}
        if self.flow.notes:  # the same function, seen from elsewhere
            self.__dict__.update(self.flow.notes)
            return
        known = set(self.__dict__)
        self.values = Places(self.flow.at, self.flow.n_threads or probe.n_threads(look))
        self.cache, self.published, self.issued, self.ways = {}, {}, {}, {}
        self.barriers = {s.number: self.barrier_at(s) for s in self.flow.at if re.match(r"(bar|barrier)(\.cta)?\.(sync|red|arrive)", s.op)}
        self.starts = set()
        for s in self.flow.at:
            self.starts |= self.starts_of(s)
        objects = [self.object_of(s) for s in self.flow.at if self.object_of(s)]
        self.labels = sorted({x.label for x in objects if x.at[1] != x.at[2]})
        self.flow.notes.update({k: v for k, v in self.__dict__.items() if k not in known})

    def starts_of(self, s):
        """Offsets in shared memory where something may begin."""
        at = brackets(s)
        if re.match(r"(st|ld|stmatrix|ldmatrix|tensormap|mbarrier)\.", s.op) and ".shared" in s.op and at:
            low = self.values.address(at[-1])[1]
            return {low} if math.isfinite(low) else set()
        if re.match(r"cp\.\S*tensor.*\.shared", s.op) and at:
            return {self.values.label(at[0 if s.op.index("shared") < s.op.rindex("global") else 1])}
        if s.op.startswith("wgmma.mma"):
            return {self.values.label(r) for r in map(self.values.of_descriptor, s.args[1:3]) if r}
        return set()

    # ---- what statements do ----

    def object_of(self, s):
        """The mbarrier that a statement is about, or signals; None: it has none."""
        if s.op.startswith("mbarrier.") or s.op.startswith("cp.async.mbarrier"):
            return self.object_at(brackets(s)[0]) if brackets(s) else self.object_at("[?]")
        if "mbarrier::complete_tx" in s.op:
            return self.object_at(brackets(s)[-1])
        return None

    def object_at(self, bracket):
        place = Place("shared", self.values.address(bracket), 8, True, True, False)
        place.label = self.values.label(bracket)
        return place

    def is_same(self, a, b):
        """Whether two mbarriers may be one. Elements of arrays are told apart by where the array begins."""
        if a.at[0] != b.at[0] and None not in (a.at[0], b.at[0]):
            return False
        known = [x.at[0] is not None and x.at[1] == x.at[2] for x in (a, b)]
        if all(known):
            return a.may_meet(b)
        return self.array_of(a) == self.array_of(b)

    def array_of(self, x):
        return max((n for n in self.labels if n <= x.label), default=0) if x.at[1] == x.at[2] else x.label

    def places(self, s):
        """What it accesses, by itself or asynchronously; mbarriers apart."""
        if s.number not in self.cache:
            self.cache[s.number] = list(self.find_places(s))
            for p in self.cache[s.number]:
                p.by = s.number
        return self.cache[s.number]

    def find_places(self, s):
        op, at = s.op, brackets(s)
        copy = COPY.match(op)
        if op.startswith(("cp.async.bulk.prefetch", "prefetch", "applypriority", "discard")):
            return
        if copy:
            bulk, is_tensor = copy.group(2) is not None, copy.group(3) is not None
            to_shared = copy.group(4).startswith("shared")
            n = number(s.args[2]) if len(s.args) > 2 and not is_tensor else None
            n = n if n is not None else 128 if not bulk else float("inf")
            is_add = copy.group(1) is not None
            if is_tensor:
                yield self.map_at(at[1 if to_shared else 0], False)
            for k, space in enumerate((copy.group(4)[:6], copy.group(5))):
                of_map = is_tensor and space == "global"
                where = TENSOR if of_map else ANY if (k == 0 and to_shared and "multicast" in op) else self.values.address(at[k])
                place = Place(space, where, n, k == 1 or is_add, k == 0, bulk or (k == 0 and to_shared))
                yield self.in_array(place, self.values.label(at[k])) if is_tensor and space == "shared" else place
        elif op.startswith("wgmma.mma_async"):
            for text in s.args[1:3]:
                if not text.startswith("{"):
                    yield self.matrix(self.values.of_descriptor(text))
        elif op.startswith(("st.async", "red.async")):
            yield Place("shared", self.values.address(at[0]), 16, op[0] == "r", True, True)
        elif op.startswith(("ldmatrix", "stmatrix")):
            yield Place("shared", self.values.address(at[0]), 16, op[0] == "l", op[0] == "s", False)
        elif op.startswith("tensormap.cp_fenceproxy"):
            yield self.map_at(at[0], True)
            yield Place("shared", self.values.address(at[1]), 128, True, False, False)
        else:
            kind = re.match(r"(ld|ldu|st|atom|red|wmma\.load|wmma\.store|tensormap\.replace)\b", op)
            if kind and at and not re.search(r"\.(param|const|local)\b", op):
                space = next((x for x in ("shared", "global") if re.search(rf"\.{x}\b", op)), "generic")
                reads = not kind.group(1).startswith(("st", "wmma.store", "tensormap"))
                writes = not kind.group(1).startswith(("ld", "wmma.load"))
                n = 128 if op.startswith("tensormap") else 4096 if op.startswith("wmma") else width(op)
                yield Place(space, self.values.under(s.guard).address(at[0]), n, reads, writes, False)

    def matrix(self, register):
        """Of a product."""
        at, label = (self.values.of(register), self.values.label(register)) if register else (ANY, 0)
        return self.in_array(Place("shared", at, 8192, True, False, True), label)

    def map_at(self, bracket, is_write):
        place = Place("global", self.values.address(bracket), 128, not is_write, is_write, not is_write)
        place.label, place.is_map = self.values.label(bracket), True
        return place

    def in_array(self, place, label):
        """A tile of an array of tiles: they lie between the constant that is added last and the next place that is known."""
        if place.at[0] is not None and place.at[1] != place.at[2]:
            end = min((n for n in self.starts if n > label), default=math.inf)
            place.at, place.size = (place.at[0], label, label), end - label
        elif place.at[0] is not None and math.isinf(place.size):
            place.size = min((n for n in self.starts if n > place.at[2]), default=math.inf) - place.at[2]
        return place

    def copies_to(self, mbarrier):
        """What copies write that may signal at an mbarrier."""
        return [p for s in self.flow.at if "mbarrier::complete_tx" in s.op and self.is_same(self.object_of(s), mbarrier)
                for p in self.places(s) if p.is_write and p.is_async]

    def happens(self, s):
        """Accesses that have happened when this statement has: its own, and what it waits for."""
        out = [p for p in self.places(s) if not p.is_async]
        if re.match(r"mbarrier\.(try_wait|test_wait)", s.op):
            out += self.copies_to(self.object_of(s)) + self.published_to(self.object_of(s))
        elif re.match(r"cp\.async\.wait", s.op):
            out += [p for x in self.flow.at if COPY.match(x.op) and not COPY.match(x.op).group(2) for p in self.places(x) if p.is_async]
        elif re.match(r"cp\.async\.bulk\.wait_group", s.op):
            out += [p for x in self.issued_before(s) for p in self.places(x) if p.is_read or ".read" not in s.op]
        elif s.op.startswith("wgmma.wait_group"):
            out += [p for x in self.flow.at if x.op.startswith("wgmma.mma_async") for p in self.places(x)]
        return out

    def issued_before(self, wait):
        """Copies of bulk groups that a thread may have issued before it waits."""
        if wait.number not in self.issued:
            copies = [x for x in self.flow.walk(lambda s: False, is_back=True, begin=wait.number) if ".bulk_group" in x.op]
            is_none = not copies or probe.is_silent(self.look, probe.follows(self.look, copies, [wait]))
            self.issued[wait.number] = [] if is_none else copies
        return self.issued[wait.number]

    def published_to(self, mbarrier):
        """What arrivals at an mbarrier tell to have happened: also what those who arrive were told at others."""
        out, todo, seen = [], [mbarrier], set()
        while todo:
            m = todo.pop()
            key = m.label, m.at
            if key in seen:
                continue
            seen.add(key)
            if key not in self.published:
                self.published[key] = self.told_at(m)
            out += self.published[key][0]
            todo += self.published[key][1]
        return out

    def told_at(self, mbarrier):
        """(accesses, other mbarriers that were waited for) before the arrivals at it."""
        before = {x.number: x for s in self.flow.at if re.match(r"(mbarrier|cp\.async\.mbarrier)\.arrive", s.op)
                  and self.is_same(self.object_of(s), mbarrier)
                  for x in self.flow.walk(self.is_whole, is_back=True, begin=s.number)}.values()
        waits = [self.object_of(x) for x in before if re.match(r"mbarrier\.(try_wait|test_wait)", x.op)]
        done = [p for x in before if not re.match(r"mbarrier\.(try_wait|test_wait)", x.op) for p in self.happens(x)]
        return done + [p for m in waits for p in self.copies_to(m)], waits

    # ---- barriers ----

    def barrier_at(self, s):
        """(number, threads or None for all) of a barrier, if they are known."""
        values = [self.values.of(a) for a in s.args[:2]] if ".red" not in s.op else [(None, -1, -1)]
        if any(v[0] is not None or v[1] != v[2] for v in values) or ".red" in s.op:
            return (None, None) if not flow.is_cta_barrier(s) else (0, None)
        return values[0][1], values[1][1] if len(values) > 1 and values[1][1] != self.flow.n_threads else None

    def is_whole(self, s):
        """All threads of the CTA meet here, be it one warp."""
        if s.op.startswith("bar.warp.sync"):
            return not s.guard and self.flow.n_threads in range(1, 33) and flow.is_of_all_lanes(s)
        return s.number in self.barriers and not s.guard and ".arrive" not in s.op and self.barriers[s.number][1] is None and (
            self.barriers[s.number][0] is not None)

    def ends_for(self, here):
        """What the threads that meet at `here` meet at, too; None if it is not known who they are."""
        if here.op.startswith("bar.warp"):
            return lambda s: not s.guard and (s.op.startswith(("bar.warp.sync", "tensormap.cp_fenceproxy")) or (
                s.number in self.barriers and ".arrive" not in s.op)) or s.op.startswith("tensormap.cp_fenceproxy")
        mine = self.barriers.get(here.number, (None, None))
        same = [self.flow.at[k] for k, x in self.barriers.items() if x[0] == mine[0]]
        if here.guard or mine[0] is None or ".arrive" in here.op:
            return None
        if mine[1] is None:
            return self.is_whole
        if any(".arrive" in s.op or s.guard or self.barriers[s.number] != mine for s in same):
            return None
        return lambda s: self.is_whole(s) or self.barriers.get(s.number) == mine

    def passes_it(self, wait, y, is_end):
        """Who gets to y from the last barrier comes by this wait: it is ordered by it anyway."""
        if wait.guard or wait.number == y.number:
            return wait.number == y.number
        def ends(s):
            return is_end(s) and s.number != self.flow.here
        if self.is_on_each_way(wait, y, ends):
            return True
        # or who comes by the barrier does
        here = self.flow.at[self.flow.here]
        return self.is_on_each_way(wait, here, is_end)

    def is_on_each_way(self, wait, y, ends):
        """From the last of `ends` to y."""
        before = self.flow.walk(lambda s: s.number == wait.number or ends(s), is_back=True, begin=y.number)
        return all(s.number != 0 and not any(ends(self.flow.at[k]) for k in self.flow.previous[s.number])
                   for s in [*before, y])

    def is_waited_as_often(self, wait, here):
        """All who meet here have waited there as often as the others, each time: for the same phases."""
        if not WAITED.match(wait.op) or wait.guard or here.guard or self.barriers.get(here.number, (None, None))[0] is None:
            return False
        if wait.number not in self.as_often:
            self.as_often[wait.number] = probe.is_silent(self.look, probe.as_often(self.look, wait, here))
        return self.as_often[wait.number]

    def needs(self, x, y, is_end):
        """Why y by one thread must come behind x by another; None: it need not."""
        mine, its = self.object_of(x), self.object_of(y)
        if mine and its and self.is_same(mine, its) and any(
                re.match(r"mbarrier\.(init|inval)", a.op) and not b.op.startswith("cp.") for a, b in ((x, y), (y, x))):
            return "an mbarrier begins or ends"
        if x.op.startswith(("mbarrier.init", "mbarrier.inval")) and any(mine.may_meet(p) for p in self.places(y)):
            return "an mbarrier's bytes"
        if y.op.startswith(("mbarrier.init", "mbarrier.inval")) and any(its.may_meet(p) for p in self.places(x) if not p.is_async):
            return "an mbarrier's bytes"
        if x.op.startswith(("fence.proxy", "tensormap.cp_fenceproxy")) and any(p.is_async for p in self.places(y)) and (
                ".async" in x.op or ".tensor" in y.op):
            return None if self.passes_it(x, y, is_end) else "a fence between proxies for it"
        happened = self.happens(x)
        if not happened or (WAITED.match(x.op) and self.passes_it(x, y, is_end)):
            return None
        no_fence = not any(z.op.startswith("fence.proxy.async") for z in self.between)
        for p in happened:
            for q in self.places(y):
                is_apart = no_fence and q.is_async and p.is_write and not p.is_async  # else the kernel itself lacked the fence
                if p.may_meet(q) and not is_own(p, q) and not is_apart and not self.is_own_word(x, y, p, q) and not (
                        self.is_through_product(x, y)):
                    return "they meet"
        return self.tells(happened, y)

    def is_own_word(self, x, y, p, q):
        """Both access the same words, each thread its own."""
        if p.by != x.number or p.is_async or q.is_async or brackets(x) != brackets(y) or len(brackets(x)) != 1:
            return False
        text = brackets(x)[0].strip("[] ").split("+")[0].strip()
        return abs(self.values.stride(text)) >= max(p.size, q.size)

    def is_through_product(self, x, y):
        """A warp's store of a product's results, whose operands were loaded by x: all its lanes have loaded them by then. Or its
        load of the accumulators that it stored, as they lie: each lane's own."""
        if x.op.startswith("wmma.store.d") and y.op == x.op.replace("store.d", "load.c"):
            return brackets(x) == brackets(y) and x.args[2:] == y.args[2:]
        if not (x.op.startswith("wmma.load") and y.op.startswith("wmma.store")):
            return False
        parts, stored = set(WORD.findall(x.args[0])), set(WORD.findall(y.args[1]))
        way = self.flow.walk(lambda s: s.op.startswith("wmma.mma") and parts & set(WORD.findall(" ".join(s.args[1:])))
                             and stored & set(WORD.findall(s.args[0])), begin=x.number)
        return all(s is not y for s in way)

    def tells(self, happened, y):
        """Whether y lets others know of accesses that they conflict with."""
        if self.is_local and not y.op.startswith("mbarrier"):
            happened = [p for p in happened if p.space != "shared"]
        if not happened or not PUBLISHES.match(y.op):
            return None
        if not y.op.startswith("mbarrier.arrive") or "shared::cluster" in y.op:
            return "it says that the first has happened"
        for w in self.flow.at:
            if re.match(r"mbarrier\.(try_wait|test_wait)", w.op) and self.is_same(self.object_of(w), self.object_of(y)):
                for z in self.flow.walk(self.is_whole, begin=w.number):
                    if any(p.may_meet(q) and not is_own(p, q) and not self.is_barred(p, z) for p in happened for q in self.places(z)):
                        return f"it tells who goes on at {z.op}"
        return None

    def is_barred(self, p, z):
        """Threads of one role accessed p and come to z, past a barrier of theirs."""
        if p.by not in self.ways:
            way = [{s.number for s in self.flow.walk(end, begin=p.by)}
                   for end in (self.is_whole, lambda s: not s.guard and (s.op.startswith("barrier.cluster.wait") or (
                       s.number in self.barriers and ".arrive" not in s.op)))]
            self.ways[p.by] = way
        all_of, barless = self.ways[p.by]
        return z.number in all_of and z.number not in barless

    def needed(self):
        """What the barrier here is needed for, in words; None if there is nothing."""
        here = self.flow.at[self.flow.here]
        is_end = self.ends_for(here)
        if is_end is None or not self.flow.is_known:
            return "it is not known who meets here"
        before, behind = self.look.before(is_end), self.look.behind(is_end)
        # What a strong read has been told by others is not known here; who tells others stands in `tells`.
        if any(STRONG.match(s.op) for s in before) or any(re.match(r"barrier\.cluster|multimem", s.op) for s in before + behind):
            return "strong accesses"
        self.between = before + behind
        # Who is told of accesses to shared memory is in this CTA, and comes by this barrier himself: what he does behind it is
        # among what is looked at.
        self.is_local = self.is_whole(here) and not flow.OTHER_CTA.search(COMMENT.sub("", self.look.text))
        found = [(x, y, why) for x in before if x.touches() or ORDERS.match(x.op) for y in behind
                 for why in [self.needs(x, y, is_end)] if why]
        found = [(x, y, why) for x, y, why in found if not self.is_waited_as_often(x, here)]
        if not found or self.is_not_run(here, is_end, found):
            return None
        x, y, why = found[0]
        return f"{len(found)}: {x.op} {x.args[:1]}, {y.op} {y.args[:1]}: {why}"

    def is_not_run(self, here, is_end, found):
        """One thread executes all of these; or none executes one of them behind this barrier and before the next, or before it
        and behind the last one: ways through the text that are not gone at these sizes."""
        ends = [s for s in self.flow.at if is_end(s) and s is not here]
        return (probe.is_silent(self.look, probe.only_first(self.look, [s for x, y, _ in found for s in (x, y)], 1))
                or probe.is_silent(self.look, probe.follows(self.look, [here], {y.number: y for _, y, _ in found}.values(), ends))
                or probe.is_silent(self.look, probe.follows(self.look, {x.number: x for x, _, _ in found}.values(), [here], ends)))

    def is_each_its_own(self, statements):
        """Shared memory that different threads touch by these is different memory."""
        of = [(s, self.places(s)) for s in statements]
        if any(len(ps) != 1 or ps[0].is_async for _, ps in of):
            return False
        text = probe.each_its_own(self.look, [(s, ps[0].size) for s, ps in of])
        return text is not None and probe.is_silent(self.look, text)


def is_own(p, q):
    """Stores to one array of global memory on both sides: each thread's own elements, else a thread would be reported that met
    another's."""
    return p.space == q.space == "global" and p.at[0] is not None and p.at[0] == q.at[0] and not p.is_read and not q.is_read
