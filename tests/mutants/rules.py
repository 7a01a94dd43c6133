"""Why a mutant that the executor does not notice makes no difference: rules, each with a condition that is checked for every
such mutant, and its argument from the PTX ISA (sections of version 9.0). Conditions look at the text (flow.py), or run another
text in the mutant's place.

What happens before what is causality order (8.9.5): base causality follows from program order, from synchronisation (8.9.4: a
release pattern that an acquire pattern observes, or a barrier) and from chains of these. Two accesses that conflict and are
ordered give one value in each execution; what orders no such pair can go."""
import re

import flow
from operators import COMMENT


class Look:
    """A survivor, its surroundings, and a way to run another text."""

    def __init__(self, mutant, run, modes):
        self.m, self.at, self.what, self.text = mutant, mutant.at, mutant.what, mutant.subject.text
        self.run, self.has_isa = run, any(races == "isa" for races, _ in modes)
        self.flow = flow.Flow(self.text, self.at.start)

    def instead(self, statement):
        return self.text[:self.at.start] + statement + self.text[self.at.end:]

    def is_op(self, pattern):
        return re.match(pattern, self.at.op) is not None

    def before(self, is_end=lambda s: False):
        return self.flow.walk(is_end, is_back=True)

    def behind(self, is_end=lambda s: False):
        return self.flow.walk(is_end)


class Rule:
    def __init__(self, name, what, holds, why):
        self.name, self.what, self.holds, self.why = name, what, holds, why


# ---- what statements do ----

ORDERS = re.compile(r"mbarrier\.|bar\.|barrier\.|fence|membar|cp\.async|wgmma|elect|tensormap")


def acts(statements):
    """Those that access memory or order something."""
    return [s for s in statements if s.touches() or ORDERS.match(s.op)]


def meets(statements, space):
    """(is read, is written) of a space by any of them; generic addresses are of every space."""
    t = [x for s in statements for x in s.touches() if x[0] in (space, "generic")]
    return any(x[1] for x in t), any(x[2] for x in t)


REGISTER = re.compile(r"%[\w$]+")


def sources(s):
    """Registers that a statement reads: all but its first operand, and those in brackets."""
    first = s.args[0] if s.args else ""
    rest = " ".join(s.args[1:]) + (" " + first if first.startswith("[") or s.op.startswith(("st", "red", "bra")) else "")
    return set(REGISTER.findall(rest))


def results(s):
    first = s.args[0] if s.args else ""
    is_result = not first.startswith("[") and not s.op.startswith(("st", "red", "bra", "bar.", "ret"))
    return set(REGISTER.findall(first)) if is_result else set()


def closure(look, start):
    """Registers that what `start(statement)` names flows into, wherever they stand: {register: names}."""
    known = {}
    changed = True
    while changed:
        changed = False
        for s in look.flow.at:
            names = set(start(s))
            for r in sources(s):
                names |= known.get(r, set())
            for r in results(s):
                if not names <= known.get(r, set()):
                    known[r] = known.get(r, set()) | names
                    changed = True
    return known


def arrays(look, statements):
    """[(parameters that the address comes from, is read, is written)] of accesses to global memory; None if one is unknown."""
    known = closure(look, lambda s: {s.args[1]} if s.op.startswith("ld.param") and len(s.args) > 1 else set())
    out = []
    for s in statements:
        for space, reads, writes, is_async in s.touches():
            if space == "shared":
                continue
            at = [a for a in s.args if a.startswith("[")]
            k = 1 if is_async and reads or s.op.startswith("cp.async.c") else 0
            names = set().union(*(known.get(r, set()) for r in REGISTER.findall(at[min(k, len(at) - 1)])), set()) if at else set()
            if not names or space == "generic":
                return None
            out.append((names, reads, writes))
    return out


# ---- conditions ----

def is_never_run(look):
    """`trap` in its place is not noticed."""
    return look.run(look.instead(look.at.guard + " trap;")) is None


def is_next_to_barrier(look):
    if not (look.what == "deleted" and look.flow.is_known and flow.is_cta_barrier(look.flow.at[look.flow.here])):
        return False
    return not acts(look.before(flow.is_cta_barrier)) or not acts(look.behind(flow.is_cta_barrier))


def has_no_pair(look):
    if not (look.what == "deleted" and look.flow.is_known and flow.is_cta_barrier(look.flow.at[look.flow.here])):
        return False
    before, behind = look.before(flow.is_cta_barrier), look.behind(flow.is_cta_barrier)
    if any(ORDERS.match(s.op) for s in before) and any(ORDERS.match(s.op) for s in behind):
        return False
    if any(re.match(r"(atom|red|fence|membar)\.|(ld|st)\.(volatile|relaxed|acquire|release|mmio)", s.op)
           for s in before + behind):
        return False  # what other CTAs see may hang on it
    (r1, w1), (r2, w2) = meets(before, "shared"), meets(behind, "shared")
    if (w1 and (r2 or w2)) or (w2 and r1):
        return False
    first, then = arrays(look, before), arrays(look, behind)
    if first is None or then is None:
        return False
    return not any((w or v) and names & others for names, _, w in first for others, _, v in then if names != others or not (
        w and v))


def is_dead_copy(look):
    return (look.is_op(r"cp\.async\.(wait|commit)") and look.flow.is_known and not any(meets(look.behind(), "shared"))
            and not any(s.op.startswith("mbarrier") for s in look.behind()))


def is_ordered_weak(look):
    return look.m.operator == "to_weak"


def is_released_twice(look):
    """A fence directly before a release, either of them as strong as needed."""
    s = look.flow.at[look.flow.here]
    if s.op.startswith(("fence.acq_rel", "membar", "fence.sc")):
        after = look.flow.at[s.number + 1:s.number + 2]
        reads = [x for x in look.before(flow.is_cta_barrier) if re.match(r"(ld|atom)\.", x.op) and re.search(
            r"relaxed|volatile|^atom", x.op)]
        return bool(after) and re.search(r"\.(release|acq_rel)\.gpu", after[0].op) is not None and not reads
    before = look.flow.at[max(0, s.number - 1):s.number]
    return (re.match(r"st\.release\.gpu", s.op) is not None and look.what == "relaxed" and bool(before)
            and re.match(r"fence\.(acq_rel|sc)\.(gpu|sys)", before[0].op) is not None)


def is_empty_group(look):
    return (look.is_op(r"cp\.async\.bulk\.(commit|wait)_group") and look.flow.is_known
            and not any(re.match(r"cp\.(reduce\.)?async\.bulk\S*bulk_group", s.op) for s in look.before()))


def publishes_nothing(look):
    if not (look.what == "relaxed" and look.is_op(r"mbarrier\.arrive") and look.flow.is_known):
        return False
    return not any(not is_async for s in look.before(flow.is_cta_barrier) for _, _, _, is_async in s.touches())


def is_never_read_again(look):
    return (look.what == "waits for the reads only" and look.flow.is_known
            and not any(meets(look.behind(), "global")))


WORD = re.compile(r"[%\w$]+")


def is_between_products(look):
    """Each way here comes from another wgmma.fence, and what lies between touches no register of a product behind, but products
    of the same shape into the same accumulators."""
    if not (look.what == "deleted" and look.is_op(r"wgmma\.fence") and look.flow.is_known):
        return False

    def is_fence(s):
        return not s.guard and s.op.startswith("wgmma.fence")

    before = look.before(is_fence)
    if look.flow.here == 0 or any(s.number == 0 for s in before):
        return False  # it may be the warp's first
    for p in look.behind(is_fence):
        if not p.op.startswith("wgmma.mma_async"):
            continue
        mine = set(WORD.findall(p.args[0] + (p.args[1] if p.args[1].startswith("{") else "")))
        for s in before:
            is_same = s.op == p.op and s.args[0] == p.args[0]
            if mine & set(WORD.findall(" ".join([s.guard, *s.args[1 if is_same else 0:]]))):
                return False
    return True


OTHER_CTA = re.compile(r"%\w*cluster|\b(mapa|getctarank|barrier\.cluster)\b|\.(reqnctapercluster|explicitcluster)\b"
                       r"|multicast::cluster")


def straight(look):
    """Statements behind this one that a thread executes if it executes this one, and only then."""
    at, k = look.flow.at, look.flow.here
    while at[k].next == [k + 1] and look.flow.previous[k + 1] == [k]:
        k += 1
        yield at[k]


def is_init_behind_barrier(look):
    """A barrier of all who can name the mbarrier lies before each use: of the cluster, or, where no CTA can name another's, of
    the CTA, be it one warp."""
    if not (look.what == "deleted" and look.is_op(r"fence\.mbarrier_init") and look.flow.is_known):
        return False
    is_use = re.compile(r"mbarrier\.(?!init)|cp\.(reduce\.)?async|(st|red)\.async").match
    is_alone = not OTHER_CTA.search(COMMENT.sub("", look.text))
    is_warp = look.flow.n_threads in range(1, 33)
    is_relaxed = any(s.op.startswith("barrier.cluster.arrive.relaxed") for s in look.flow.at)

    def is_barrier(s):
        of_warp = is_warp and s.op == "bar.warp.sync" and s.args[0] in ("-1", "0xffffffff")
        of_cluster = not is_relaxed and s.op.startswith("barrier.cluster.wait")
        return not s.guard and (of_cluster or (is_alone and (of_warp or flow.is_cta_barrier(s))))

    own = {s.number for s in straight(look) if s.op.startswith("mbarrier.")}  # in order for the thread itself
    return not any(is_use(s.op) and s.number not in own for s in look.behind(is_barrier))


def is_ordered_anyway(look):
    """No address, guard or branch depends on data, and every pair is ordered by the ISA's rules without it. Not for what orders more
    than accesses of memory."""
    if not look.flow.is_known or look.is_op(r"wgmma\.fence|fence\.mbarrier_init"):
        return False
    known = closure(look, lambda s: {"data"} if s.touches() and not s.op.startswith(("st", "red")) or s.op.startswith(
        "wgmma") else set())
    for s in look.flow.at:
        used = set(REGISTER.findall(s.guard))
        if s.touches():
            used |= {r for a in s.args if a.startswith("[") for r in REGISTER.findall(a)}
        if any(known.get(r) for r in used):
            return False
    return look.run(look.m.text, [("isa" if look.has_isa else "practice", look.m.subject.more_seeds // 2)]) is None


RULES = [
    Rule("never run", "not executed at these sizes", is_never_run,
         "A thread that does not execute a statement is not affected by it."),
    Rule("next to a barrier", "bar.sync with nothing between it and the barrier, entry or exit beside it", is_next_to_barrier,
         "9.7.13.1, 8.9.4: a barrier of all threads orders what each did before it before what each does after it. Where a "
         "thread does nothing between two of them, both order the same pairs; before the first and behind the last access "
         "there is no pair."),
    Rule("no pair", "bar.sync between accesses that cannot conflict: shared memory is only read, or touched on one side alone, "
         "and arrays of global memory are not the same, or each thread's own", has_no_pair,
         "8.7.1: only accesses of one location conflict, one of them a write. Pairs that lie further apart have the barriers "
         "around this one between them. Stores to one array on both sides are each thread's own elements: a thread that met "
         "another's would be reported."),
    Rule("copies that nobody reads", "a wait or commit of cp.async behind which shared memory is not touched", is_dead_copy,
         "9.7.9.25.3: cp.async writes shared memory of the CTA, and its waits only say when. Nobody reads there any more, and "
         "the memory ends with the CTA."),
    Rule("weak, and ordered", "a volatile access made weak, without a race", is_ordered_weak,
         "8.4, 8.7: strength matters where two accesses race, and a weak one that does is reported. One that is ordered "
         "against every write reads the same value."),
    Rule("released twice", "a fence directly before a release of the same scope, or the release behind it", is_released_twice,
         "8.8: a release pattern is a release, or a fence and then a strong write. With both, each of the two is one."),
    Rule("empty group", "commit_group or wait_group where no copy of a bulk group can have been issued", is_empty_group,
         "9.7.9.27: bulk groups hold the copies that the thread issued with .bulk_group; of none, all are complete."),
    Rule("nothing to publish", "relaxed arrival of a thread that accessed nothing since the last barrier, but through the async "
         "proxy", publishes_nothing,
         "8.8: a release orders the thread's own earlier accesses. Those of copies complete at the mbarrier themselves "
         "(9.7.13.15.1: complete_tx), whatever order the arrival has."),
    Rule("not read again", "wait_group.read instead of wait_group, global memory not touched behind it", is_never_read_again,
         "9.7.9.27.2: the two differ in whether the writes are made visible to the thread, which asks for none of them; the "
         "end of the grid makes them visible to the host."),
    Rule("same products", "wgmma.fence behind another one, with nothing between that touches the registers of its products but "
         "products of the same shape into the same accumulators", is_between_products,
         "9.7.15 (wgmma.fence): it orders accesses to the accumulators and to A's registers before products that use them. The "
         "first product of a warp needs it, and one whose registers were accessed since the last; accumulators that products "
         "of one shape share are excepted. Shared memory is none of its business: that takes a fence of the proxies."),
    Rule("initialised before a barrier", "fence.mbarrier_init, and a barrier of all who can name the mbarrier lies between it and "
         "each use: of the cluster, or of the CTA where none can name another's", is_init_behind_barrier,
         "9.7.13.4 (fence): it makes the thread's mbarrier.init known to the cluster. So does a barrier of the cluster that "
         "releases and acquires, and within the CTA a barrier of it (9.7.13.1, 8.9.4). By the ISA's letter copies, which signal "
         "through the async proxy, want a fence besides: the executor reports that in kernels that keep to the ISA. In those "
         "that need the rules of practice the barrier does; no instruction is made of the fence."),
    Rule("ordered anyway", "no address, guard or branch depends on loaded data, and the rules of the ISA (of practice, where "
         "the kernel itself needs those) order every pair without it", is_ordered_anyway,
         "8.9.5: the accesses are the same in each execution then, and the detector looks at every pair of them: what it "
         "reports in no schedule is ordered by other barriers, waits and fences."),
]
