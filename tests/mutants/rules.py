"""Why a mutant that the executor does not notice makes no difference: rules, each with a condition that is checked for every
such mutant, and its argument from the PTX ISA (sections by their titles). Conditions look at the text (flow.py, pairs.py), or
run another text in the mutant's place that traps where the condition does not hold (probe.py); none asks whether a race is seen.

What happens before what is causality order: base causality follows from program order, from synchronisation (a
release pattern that an acquire pattern observes, or a barrier) and from chains of these. Two accesses that conflict and are
ordered give one value in each execution; what orders no such pair can go."""
import re

import flow
import waits
from operators import COMMENT
from pairs import Pairs


class Look:
    """A survivor, its surroundings, and a way to run another text."""

    def __init__(self, mutant, run, modes):
        self.m, self.at, self.what, self.text = mutant, mutant.at, mutant.what, mutant.subject.text
        self.run, self.has_isa = run, any(races == "isa" for races, _ in modes)
        self.flow = flow.of(mutant.subject, self.at.start)
        self.pairs = Pairs(self)

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


# ---- conditions ----

def is_never_run(look):
    """`trap` in its place is not noticed."""
    return look.run(look.instead(look.at.guard + " trap;")) is None


def is_next_to_barrier(look):
    here = look.flow.at[look.flow.here]
    if not (look.what == "deleted" and look.flow.is_known and (flow.is_cta_barrier(here) or here.op.startswith("bar.warp.sync"))):
        return False

    def is_end(s):
        return flow.is_cta_barrier(s) or (here.op.startswith("bar.warp.sync") and s.op.startswith("barrier.cluster.arrive"))

    return not acts(look.before(is_end)) or not acts(look.behind(is_end))


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
    is_alone = not flow.OTHER_CTA.search(COMMENT.sub("", look.text))
    is_warp = look.flow.n_threads in range(1, 33)
    is_relaxed = any(s.op.startswith("barrier.cluster.arrive.relaxed") for s in look.flow.at)

    def is_barrier(s):
        of_warp = is_warp and s.op == "bar.warp.sync" and flow.is_of_all_lanes(s)
        of_cluster = not is_relaxed and s.op.startswith("barrier.cluster.wait")
        return not s.guard and (of_cluster or (is_alone and (of_warp or flow.is_cta_barrier(s))))

    own = {s.number for s in straight(look) if s.op.startswith("mbarrier.")}  # in order for the thread itself
    return not any(is_use(s.op) and s.number not in own for s in look.behind(is_barrier))


RULES = [
    Rule("never run", "not executed at these sizes", is_never_run,
         "A thread that does not execute a statement is not affected by it."),
    Rule("next to a barrier", "bar.sync with nothing between it and the barrier, entry or exit beside it", is_next_to_barrier,
         "bar.sync, Causality Order: a barrier of all threads orders what each did before it before what each does after it. Where a "
         "thread does nothing between two of them, both order the same pairs; before the first and behind the last access "
         "there is no pair."),
    Rule("no pair", "a barrier of the CTA, of some warps or of a warp, and no access before it conflicts with one between it and "
         "the next by another thread", lambda look: look.what in ("deleted", "does not wait") and look.pairs.needed() is None,
         "Barrier instructions, Causality Order, Conflict and Data-races: a barrier orders what each thread did before it, or knew to "
         "have happened, before what the others do behind it. Accesses that conflict have one location, and one is a write. Pairs that "
         "lie further apart have the barriers around this one between them. What a thread only issued, asynchronously, no barrier "
         "orders; a wait that the second thread itself passes, since the last barrier or just as often as the first, orders for it; "
         "arrivals of one phase, and the bytes that copies count there, come in any order, since the phase ends when none is missing. Without a fence between "
         "proxies, accesses by two proxies do not conflict, else the kernel itself would be wrong."),
    Rule("copies that nobody reads", "a wait or commit of cp.async behind which shared memory is not touched", is_dead_copy,
         "cp.async: it writes shared memory of the CTA, and its waits only say when. Nobody reads there any more, and "
         "the memory ends with the CTA."),
    Rule("weak, and ordered", "a volatile access made weak, without a race", is_ordered_weak,
         "Conflict and Data-races: strength matters where two accesses race, and a weak one that does is reported. One that is ordered "
         "against every write reads the same value."),
    Rule("released twice", "a fence directly before a release of the same scope, or the release behind it", is_released_twice,
         "Release and Acquire Patterns: a release pattern is a release, or a fence and then a strong write. With both, each of the two is one."),
    Rule("empty group", "commit_group or wait_group of bulk copies, and the thread has issued none", waits.is_empty_group,
         "9.7.9.27: bulk groups hold the copies that the thread issued with .bulk_group; of none, all are complete."),
    Rule("nothing to publish", "relaxed arrival, and nothing that the thread did or knew since the last barrier conflicts with what "
         "those do who wait there, but copies; or each thread has memory of its own there", waits.publishes_nothing,
         "Release and Acquire Patterns: a release orders what the thread did and knew. What copies wrote they signal themselves "
         "(Tracking asynchronous operations by the mbarrier object), whatever order the arrival has."),
    Rule("not read again", "wait_group.read instead of wait_group, and the thread reads no global memory behind it",
         waits.is_never_read_again,
         "cp.async.bulk.wait_group: the two differ in whether the writes are made visible to the thread, which asks for none of "
         "them; the end of the grid makes them visible to the host."),
    Rule("same products", "wgmma.fence behind another one, with nothing between that touches the registers of its products but "
         "products of the same shape into the same accumulators", is_between_products,
         "wgmma.fence: it orders accesses to the accumulators and to A's registers before products that use them. The "
         "first product of a warp needs it, and one whose registers were accessed since the last; accumulators that products "
         "of one shape share are excepted. Shared memory is none of its business: that takes a fence of the proxies."),
    Rule("initialised before a barrier", "fence.mbarrier_init, and a barrier of all who can name the mbarrier lies between it and "
         "each use: of the cluster, or of the CTA where none can name another's", is_init_behind_barrier,
         "fence.mbarrier_init: it makes the thread's mbarrier.init known to the cluster. So does a barrier of the cluster that "
         "releases and acquires, and within the CTA a barrier of it. By the ISA's letter copies, which signal "
         "through the async proxy, want a fence besides: the executor reports that in kernels that keep to the ISA. In those "
         "that need the rules of practice the barrier does; no instruction is made of the fence."),
    Rule("waited for elsewhere", "a wait_group, and on each way another one covers as much before anything conflicts with what is under "
         "way or tells others that it is done; or one before it did, and nothing was issued since", waits.is_waited_elsewhere,
         "cp.async.wait_group, cp.async.bulk.wait_group, wgmma.wait_group: groups are complete in order, and a wait is for all but "
         "the newest N. What nobody touches between two waits may be complete at the second."),
    Rule("joins the next group", "a commit_group, and no wait leaves just as many groups as are committed behind it, or nobody "
         "touches its data until the next wait", waits.joins_the_next,
         "cp.async.commit_group, cp.async.bulk.commit_group, wgmma.commit_group: what is not committed belongs to the next group. A wait "
         "that covers that one covers it too."),
    Rule("nobody waits", "an arrival without which its phase never ends, and nobody hangs", waits.nobody_waits,
         "Phase of the mbarrier object, mbarrier.test_wait: a phase ends when all arrivals have come, and a wait for it returns then. A "
         "thread may only ask for the current phase or the one before, so it waits for each in turn. Without the arrival a waiter "
         "would wait forever; nobody does, so no order comes from this phase or later ones, and their arrivals do not count."),
    Rule("an mbarrier that is not used", "mbarrier.init of an object that is not used: without it and its inval no misuse is found",
         waits.is_unused, "mbarrier.init: it touches its object alone."),
    Rule("the phase before the first", "a wait with parity 1 that no other wait for the object comes before, executed once",
         waits.is_first_phase,
         "mbarrier.test_wait: parity 1 of a new object names the phase before the first, which counts as over. Nobody arrived in it, "
         "so there is nothing to acquire."),
    Rule("in step with another", "a wait, or a relaxed arrival, of an mbarrier beside another one of the same phases: the same threads "
         "arrive at both, and who waits here has waited there, or does before anything else", waits.is_in_step,
         "Release and Acquire Patterns: what the threads did before they arrived here they did before they arrived there. The other "
         "wait orders all of it."),
    Rule("fenced elsewhere", "fence.proxy.async, and each pair by two proxies has another one: of who accessed first, before he tells "
         "anybody, or of who issues, after he was told", waits.is_fenced_elsewhere,
         "Causality Order (proxy-preserved base causality): two accesses through different proxies are ordered if a proxy fence lies "
         "anywhere on the way between them. One is enough."),
    Rule("atomics alone", "order or scope of an atomic, and behind the atomics on its array nothing is accessed but by such atomics",
         waits.is_alone,
         "Release and Acquire Patterns, Atomicity: atomics on one location are single-copy atomic in any order. What an acquire would "
         "order lies behind it, and there is nothing."),
    Rule("a fence without a pair", "a fence of the scope of the CTA: who observes a write behind it accesses nothing that conflicts with what "
         "was done since the last barrier before it, and what it could acquire conflicts with nothing behind it", waits.orders_nothing,
         "Release and Acquire Patterns, Causality Order: a fence and a strong write behind it release, a strong read and a fence behind it "
         "acquire; both are for accesses that conflict. A barrier orders those before it already. fence.sc besides orders strong accesses "
         "before it and behind it: where no way leads back from these to those, no two threads go through them the other way round."),
    Rule("under another number", "a barrier with another number, where all who meet at it meet at this statement or one like it",
         waits.is_renamed,
         "bar.sync: the number only says who meets whom. All barriers of the old number have this count and wait; if threads had met "
         "from two statements, they would wait for each other forever under two numbers."),
    Rule("nothing to tell the cluster", "a relaxed arrival at the barrier of the cluster, and no access before it conflicts with one "
         "behind the wait; mbarriers that were initialised before it have been fenced for", waits.is_alone_in_cluster,
         "barrier.cluster: the release orders accesses before the arrival before those behind the wait. Where no pair conflicts it "
         "orders nothing. fence.mbarrier_init is for a relaxed arrival behind it. Before the end of a CTA what others did in its memory must "
         "be ordered: none did, or another barrier follows that does it; copies that were waited for are over."),
    Rule("counts for nobody", "mbarrier.init with another count, and without all arrivals at the object nobody hangs",
         waits.counts_for_nobody,
         "Phase of the mbarrier object: the count says when a phase ends. Nobody waits for the end of one."),
    Rule("a lane less", "mbarrier.init with one arrival less than the threads of whole warps that arrive behind a wait for products",
         waits.is_a_lane_less,
         "wgmma.wait_group: the lanes of a warp wait together, and what they say by arriving is that the products have read their "
         "matrices. With fewer missing lanes than a warp has, over all phases, some lane of each warp has arrived."),
    Rule("one warp", "bar.sync between what threads of one warp do, which meet in elect.sync or the like; only where the kernel needs the "
         "rules of practice", waits.is_one_warp,
         "elect.sync: the lanes wait for one another. That they then see what the others did is practice (docs/executor.md, Races), "
         "no word of the ISA."),
]
