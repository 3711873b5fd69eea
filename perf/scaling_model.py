#!/usr/bin/env python3
"""Predicts the time of a global (exact) sweep over several devices, from figures of one and two.

    perf/scaling_model.py [--json OUT.json] [--link US] [CPU.json]
    perf/scaling_model.py --slabs RESULT.json... [--json OUT.json]

CPU.json: what perf_distributed --json wrote on one and two processes (default:
perf/results/cpu-distributed.json). Without --json the JSON is not written; the tables are printed
either way. --link: microseconds of a hand-over between devices, such as those of a network, in place of
NVLink's. `perf/plot --scaling OUT.json NAME` draws it. --slabs sets what perf_slabs --json wrote beside the
model, and the bits of several devices beside those of one; it fails where they differ. src/docs/scaling.md has
what it predicts.

Each device has a slab in z, or a box in y and z. It sweeps pencils in the order of their tickets:
pencil (J, K), number J along y and K along z, comes in the order of wj J + K. A pencil
  - takes a place on the device: there are `resident` of them;
  - begins one hop after its neighbours before it, J - 1 and K - 1, have begun, and ends one hop after
    they have ended. A hop is the skew of a pencil, in steps, and a hand-over: through the L2 cache, or
    through the link if the neighbour is on another device;
  - takes a step per point of its lines, or longer if memory is busy. Memory serves the pencils in the
    order of their tickets.
Where the pencils have a shear (D3N27), rows K are dealt out to the devices instead: K mod P. The planes
stay where they are, so other devices read b and write x in the memory of the device that has them. Its link
serves the pencils in the order of their tickets.

The model leaves out launches on many devices one after the other, a network's contention, and exchanges on small grids (64^3).
"""
import argparse
import contextlib
import heapq
import json
import math
import os
import sys
from collections import namedtuple

HERE = os.path.dirname(os.path.abspath(__file__))

Constant = namedtuple("Constant", "value unit device source")

H200 = "NVIDIA H200"
CONSTANTS = {
    "link": Constant(0.72, "us", "two " + H200 + ", NVLink",
                     "flag pushed to the other GPU, one way: 1417 cycles at 1.98 GHz"),
    "flag": Constant(0.51, "us", H200, "flag through the L2 cache, one way: 850 to 1150 cycles"),
    "host": Constant(44.0, "us", H200, "launch and wait as the host sees them: D3N7 at 256^3 took 0.305 ms "
                     "by the host's clock and 0.261 ms between events"),
    "copy": Constant(4267.0, "GB/s", H200, "copy rate, bytes read and written"),
    "link rate": Constant(234.0, "GB/s", "two " + H200 + ", NVLink", "each way, in pieces of 64 bytes: D3N7 at 512^3, "
                          "dealt, with all of its vectors on both sides, took 2.29 ms"),
    "meeting": Constant(8.0, "us", "two " + H200, "a counter set in the other's memory, and a wait for the "
                        "own one: two kernels of 3 us and a hand-over"),
    "D3N7 step": Constant(0.0775, "us", H200, "64^3, a step of a pencil: 148 to 159 cycles"),
    "D3N7 hand-over": Constant(0.69, "us", H200, "64^3: a hop of 1.33 us less its 8 steps"),
    "D3N7 rate": Constant(3770.0, "GB/s", H200, "512^3, moved bytes over the time of 1.707 ms"),
    "D3N7 fixed": Constant(7.0, "us", H200, "64^3: launch and prologue"),
    "D3N27 step": Constant(0.082, "us", H200, "a step of a pencil: 76 to 88 ns"),
    "D3N27 hand-over": Constant(0.93, "us", H200, "a hop beyond its steps"),
    "D3N27 rate": Constant(3980.0, "GB/s", H200, "512^3, moved bytes over the time of 4.316 ms"),
    "D3N27 far step": Constant(0.12, "us", "two " + H200, "a step of a pencil whose planes another device has: 256^3 "
                               "and 384^3 on two"),
    "D3N27 fixed": Constant(11.0, "us", H200, "10 to 12 us beyond the span of the pencils"),
    "CPU message": Constant(6.0, "us", "AMD EPYC, two cores of a virtual machine",
                            "poisson:64^3 and 128^3 on two processes: global less local less the fill, "
                            "per band; 3 to 12 us from run to run"),
}

# What differs on other devices than the H200. Their flags and steps are taken to be the same.
OTHER_DEVICES = {
    "H100": {"copy": Constant(3000.0, "GB/s", "NVIDIA H100", "copy rate, bytes read and written"),
             "D3N7 rate": Constant(2750.0, "GB/s", "NVIDIA H100", "512^3, moved bytes over the time of 2.343 ms"),
             "D3N27 rate": Constant(2749.0, "GB/s", "NVIDIA H100", "512^3, moved bytes over the time of 6.249 ms")}}

# tile: lines of a pencil along y and z. skew: steps of a hop along y and z. shear: by how many lines
# pencils move along y from plane to plane. resident: pencils at once, small grids and others.
Kernel = namedtuple("Kernel", "stencil bytes tile skew shear resident")
KERNELS = {"D3N7": Kernel("D3N7", 48, (8, 8), (8, 8), 0, (132, 264)),
           "D3N27": Kernel("D3N27", 128, (8, 4), (16, 8), 1, (132, 132))}
SMALL = 160 ** 3  # up to here the kernel for D3N7 has one pencil per multiprocessor

HAND_OVER = 10  # in steps, as the library orders its pencils
UNDER_WAY = 2 * 132  # pencils at once, for the rule of the order
SLABS = 4  # the least wj of slabs
DEALT = -1  # orders -wj: the rows of pencils are dealt out, as the library does where there is a shear
ERROR = 0.15  # the largest error of a time on two devices, rounded up

# (stencil, grid, devices) -> {wj: ms}: half of an application that is queued with others. The library's
# orders are of the newer commit, except for 256^3 points per device.
SWEEPS = {("D3N7", (256, 256, 256), 1): {1: 0.2591}, ("D3N7", (512, 512, 512), 1): {1: 1.7072},
          ("D3N7", (768, 768, 768), 1): {1: 5.8071}, ("D3N27", (256, 256, 256), 1): {1: 0.6226},
          ("D3N27", (512, 512, 512), 1): {1: 4.3158},
          ("D3N7", (256, 256, 512), 2): {2: 0.3591, 4: 0.3484},
          ("D3N7", (512, 512, 512), 2): {2: 1.0593, 3: 1.0236, 4: 1.0283, 6: 1.0542, 10: 1.1246},
          ("D3N7", (768, 768, 768), 2): {2: 3.7066, 3: 3.4739, 4: 3.3028, 6: 3.3600, 10: 3.5199},
          ("D3N27", (256, 256, 256), 2): {DEALT: 0.4758},
          ("D3N27", (512, 512, 512), 2): {DEALT: 2.5687, 2: 3.6987, 4: 3.6790, 8: 3.8195, 16: 4.3465}}
SWEEPS_SOURCE = "perf_slabs on two H200s, commits e4953ccc61fa and adc92fbe636e; results of all have the same bits"
# Between events, gridsweep's own kernels at commit 51bec910a28f; 512^3 at e4953ccc61fa.
ONE_DEVICE = {("D3N7", 64): 0.0319, ("D3N7", 128): 0.0706, ("D3N7", 256): 0.261, ("D3N7", 512): 1.707,
              ("D3N27", 64): 0.0721, ("D3N27", 128): 0.161, ("D3N27", 256): 0.625, ("D3N27", 512): 4.316}

STRONG = [(256, 256, 256), (512, 512, 512), (768, 768, 768), (1024, 1024, 512)]
WEAK = [256, 384]
DEVICES = [1, 2, 4, 8, 64]
WEAK_BOXES = {1: (1, 1), 2: (1, 2), 4: (2, 2), 8: (2, 4), 64: (8, 8)}


def value(name):
    return CONSTANTS[name].value


def least_order(stencil, devices):
    """wj of the library when SWEEPS was measured, and the least one now."""
    return 1 if devices == 1 else DEALT if KERNELS[stencil].shear else SLABS


def library_order(stencil, grid, boxes, dealt=True):
    """wj that the library takes: weight_of() in factor.cu. Negative where rows are dealt out."""
    kernel = KERNELS[stencil]
    dealt = dealt and kernel.shear > 0
    if boxes[1] == 1 or (dealt and boxes[1] == 2):
        return DEALT if dealt and boxes[1] > 1 else 1
    rows, steps = math.ceil(grid[2] / boxes[1] / kernel.tile[1]), grid[0] + sum(kernel.skew)
    hand_overs = UNDER_WAY * (kernel.skew[1] + HAND_OVER)
    weight = min(max((3 * rows * steps + 2 * hand_overs) // (4 * hand_overs), 1 if dealt else SLABS), 10)
    return -weight if dealt else weight


def name_of_order(wj):
    return f"{wj}:1" if wj > 0 else "dealt" if wj == DEALT else f"dealt, {-wj}:1"


# ---- One sweep on GPUs ---------------------------------------------------------------------------

def cuts(count, parts):
    return [part * count // parts for part in range(parts + 1)]


class Faces:
    """When the pencils that a device's neighbours wait for began and ended: by J, and by K."""

    def __init__(self):
        self.along_z, self.along_y = {}, {}


def row_of(kernel, ny, k):
    """First and last J of the row K of pencils."""
    first = k * kernel.tile[1] * kernel.shear
    return first // kernel.tile[0], (ny - 1 + first + (kernel.tile[1] - 1) * kernel.shear) // kernel.tile[0]


def tickets(kernel, ny, box, wj):
    (j0, j1), (k0, k1) = box
    pencils = []
    for k in range(k0, k1):
        low, high = row_of(kernel, ny, k) if kernel.shear else (j0, j1 - 1)
        pencils += [(wj * j + k, j, k) for j in range(low, high + 1)]
    return sorted(pencils)


def before(kernel, ny, spans, j, k, box, faces):
    """(began, ended, kind) of the pencils that a pencil waits for; kind 0: along y, 1: along z, +2:
    over the link."""
    (j0, _), (k0, _) = box
    if (j - 1, k) in spans:
        yield (*spans[j - 1, k], 0)
    elif j == j0 and k in faces.along_y:
        yield (*faces.along_y[k], 2)
    above = min(j, row_of(kernel, ny, k - 1)[1]) if kernel.shear else j
    if (above, k - 1) in spans:
        yield (*spans[above, k - 1], 1)
    elif k == k0 and above in faces.along_z:
        yield (*faces.along_z[above], 3)


def sweep_box(kernel, grid, box, wj, faces):
    """Microseconds at which the last pencil of a device ends. Leaves in `faces` what comes next."""
    nx, ny, _ = grid
    name = kernel.stencil
    lines = kernel.tile[0] * kernel.tile[1]
    padding = 1 if kernel.shear == 0 else ny / (ny + kernel.tile[1])  # lines outside the grid move nothing
    step_bytes = lines * kernel.bytes * padding / (value(name + " rate") * 1e3)
    step = value(name + " step")
    points = nx * (box[1][1] - box[1][0]) * (box[0][1] - box[0][0]) * lines
    resident = kernel.resident[0 if points <= SMALL else 1]
    spans, places, memory, last = {}, [], 0.0, 0.0
    for _, j, k in tickets(kernel, ny, box, wj):
        begin = heapq.heappop(places) if len(places) >= resident else 0.0
        pace = max(step, min(len(places) + 1, resident) * step_bytes)
        end = 0.0
        for began, ended, kind in before(kernel, ny, spans, j, k, box, faces):
            hop = value(name + " hand-over") + kernel.skew[kind & 1] * pace
            hop += (value("link") - value("flag")) if kind & 2 else 0
            begin, end = max(begin, began + hop), max(end, ended + hop)
        memory = max(memory, begin) + nx * step_bytes
        end = max(end, begin + nx * step, memory)
        spans[j, k] = (begin, end)
        heapq.heappush(places, end)
        last = max(last, end)
    (_, j1), (_, k1) = box
    faces.along_z = {j: span for (j, k), span in spans.items() if k == k1 - 1}
    faces.along_y = {k: span for (j, k), span in spans.items() if j == j1 - 1}
    return last


def deal_ms(stencil, grid, devices, wj):
    """Milliseconds of a sweep whose rows of pencils are dealt out: row K is on device K mod P. It is half of
    an application, in which each device copies what others sweep of its slab, twice, and meets them
    twice. The link of the device that has a pencil's planes brings its b, or takes its x."""
    kernel = KERNELS[stencil]
    nx, ny, nz = grid
    step_bytes = kernel.tile[0] * kernel.tile[1] * kernel.bytes * ny / (ny + kernel.tile[1]) / (
        value(stencil + " rate") * 1e3)
    spans, places, memory = {}, [[] for _ in range(devices)], [0.0] * devices
    link, slab = [0.0] * devices, math.ceil(nz / kernel.tile[1] / devices)
    remote = nx * kernel.tile[0] * kernel.tile[1] * 8 * ny / (ny + kernel.tile[1]) / (value("link rate") * 1e3)
    resident = kernel.resident[1]
    for _, j, k in tickets(kernel, ny, ((0, 0), (0, math.ceil(nz / kernel.tile[1]))), wj):
        own, home = places[k % devices], k // slab
        far = home != k % devices
        begin = heapq.heappop(own) if len(own) >= resident else 0.0
        step = value(stencil + (" far step" if far else " step"))
        pace = max(step, min(len(own) + 1, resident) * step_bytes)
        end = 0.0
        for began, ended, kind in before(kernel, ny, spans, j, k, ((0, 0), (0, 0)), Faces()):
            hop = value(stencil + " hand-over") + kernel.skew[kind & 1] * pace
            hop += value("link") - value("flag") if kind else 0
            begin, end = max(begin, began + hop), max(end, ended + hop)
        memory[k % devices] = max(memory[k % devices], begin) + nx * step_bytes
        end = max(end, begin + nx * step, memory[k % devices])
        if far:
            link[home] = max(link[home], begin) + remote
            end = max(end, link[home])
        spans[j, k] = (begin, end)
        heapq.heappush(own, end)
    others = nx * ny * nz / devices * (devices - 1) / devices
    copies = 16 * others / (value("copy") * 1e3)
    last = max(end for _, end in spans.values())
    return (last + copies + value("meeting") + value(stencil + " fixed") + value("host")) / 1e3


def sweep_ms(stencil, grid, boxes=(1, 1), wj=1, kernel=None):
    """Milliseconds of a sweep by the host's clock; None if a device would get no pencil. `kernel`: not the
    stencil's usual one."""
    kernel = kernel or KERNELS[stencil]
    if kernel.shear and boxes[0] == 1 and boxes[1] > 1 and wj < 0:
        return deal_ms(stencil, grid, boxes[1], -wj) if boxes[1] * kernel.tile[1] <= grid[2] else None
    rows, planes = math.ceil(grid[1] / kernel.tile[0]), math.ceil(grid[2] / kernel.tile[1])
    if boxes[0] > rows or boxes[1] > planes or (kernel.shear and boxes[0] > 1):
        return None
    cut_j, cut_k = cuts(rows, boxes[0]), cuts(planes, boxes[1])
    last, below = 0.0, [{} for _ in range(boxes[0])]
    for z in range(boxes[1]):
        left = {}
        for y in range(boxes[0]):
            faces = Faces()
            faces.along_z, faces.along_y = below[y], left
            box = ((cut_j[y], cut_j[y + 1]), (cut_k[z], cut_k[z + 1]))
            last = max(last, sweep_box(kernel, grid, box, wj, faces))
            below[y], left = faces.along_z, faces.along_y
    return (last + value(stencil + " fixed") + value("host")) / 1e3


def best_ms(stencil, grid, boxes=(1, 1), dealt=True):
    """(milliseconds, wj) in the library's order; None if a device would get no pencil. Not `dealt`: there is no
    memory for rows that are dealt out."""
    wj = library_order(stencil, grid, boxes, dealt)
    ms = sweep_ms(stencil, grid, boxes, wj)
    return None if ms is None else (ms, wj)


# ---- One application on CPUs ---------------------------------------------------------------------

def cpu_pipeline(grid, shear, processes, message):
    """(length, overlap) of a sweep, over the work of one process. `message`: the time of a message over
    that of a whole band. Overlap: how long two processes work at once."""
    ny, planes = grid[1], grid[2] // processes
    lines = [0] * ((ny + shear * (planes - 1) + 7) // 8)
    for z in range(planes):
        for y in range(ny):
            lines[(y + shear * z) // 8] += 1
    # A band of the next slab needs the last plane of this one, which with a shear is some bands on.
    ahead = (shear * planes + 7) // 8
    full, ends = max(lines), None
    for _ in range(processes):
        now, own = 0.0, []
        for band, count in enumerate(lines):
            wait = 0 if ends is None else ends[min(band + ahead, len(lines) - 1)]
            now = max(now, wait) + count / full + message
            own.append(now)
        ends = own
    work = sum(lines) / full
    return ends[-1] / work, max(0, processes - ends[-1] / work)


def cpu_rows(path):
    """Predictions and measurements of two processes on a CPU. An application is two sweeps."""
    with open(path, encoding="utf-8") as file:
        results = json.load(file)["results"]
    found = {(r["problem"], r["processes"], r["what"]): r for r in results}
    rows = []
    for (problem, processes, what), r in found.items():
        if processes != 2 or what != "global":
            continue
        shear = 1 if problem.startswith("hpcg") else 0
        alone = found[problem, 1, "packed"]["time_ms"]["median"] / 2
        together = found[problem, 2, "local"]["time_ms"]["median"]
        bands = r["grid"][1] / 8
        length, overlap = cpu_pipeline(r["grid"], shear, 2, value("CPU message") * 1e-3 * bands * 2 / together)
        rows.append({"problem": problem, "grid": r["grid"], "device": r["device"], "commit": r["commit"],
                     "one_ms": 2 * alone, "local_ms": together, "measured_ms": r["time_ms"]["median"],
                     "predicted_ms": round(alone * (length - overlap) + together * overlap, 4)})
    return rows


# ---- Runs of perf_slabs --------------------------------------------------------------------------

# Applications and products of an iteration, and passes over a vector besides.
METHODS = {"cg": (1, 13), "bicgstab": (2, 20)}
CACHED_PLANE = 4 << 20  # bytes of x in a plane; on one H100 products of 512^3 move x once, those of 768^3 twice
EXCHANGES = 4  # of ghosts on a level, per cycle: before the residual, both transfers, and the sweep after
LATENCY_ONLY = 64 ** 3  # cycles of grids of so many points have nothing but delays


@contextlib.contextmanager
def constants_of(device):
    """The constants are those of the device with that name."""
    usual = dict(CONSTANTS)
    for name, constants in OTHER_DEVICES.items():
        if name in device:
            CONSTANTS.update(constants)
    try:
        yield
    finally:
        CONSTANTS.update(usual)


def parse_problem(text):
    name, extents = text.split(":")
    return "D3N27" if name == "hpcg" else "D3N7", tuple(int(n) for n in extents.split("x"))


def distance(one, other):
    """The norm of the difference of two vectors over that of the first, estimated by their sketches."""
    square = sum((a - b) ** 2 for a, b in zip(one["sketch"], other["sketch"])) / len(one["sketch"])
    return math.sqrt(square) / one["norm"]


def pass_ms(grid, devices, count):
    """`count` times 8 bytes per point, read or written."""
    return 8 * count * math.prod(grid) / devices / (value("copy") * 1e6)


def product_ms(stencil, grid, devices):
    """Matrix, x and y; x comes from memory once more where its planes are too large for the cache."""
    meeting = value("meeting") / 1e3 if devices > 1 else 0
    again = 8 * grid[0] * grid[1] > CACHED_PLANE
    return pass_ms(grid, devices, int(stencil[3:]) + 2 + again) + meeting


def scope_of(r):
    """Older results do not name it: their multigrid is local, and all else global."""
    return r.get("scope", "local" if r["precond"] == "mg" else "global")


def beyond_slab_ms(kernel, grid, devices):
    """By how much a sweep across all devices takes longer than each device's sweep of its own slab."""
    order = library_order(kernel.stencil, grid, (1, devices))
    return (sweep_ms(kernel.stencil, grid, (1, devices), order, kernel)
            - sweep_ms(kernel.stencil, (grid[0], grid[1], grid[2] // devices), kernel=kernel))


def cycle_ms(r, alone, least):
    """A cycle of several devices, from those of one device, and from the cycle of a grid so small that it has
    nothing but delays. The levels scale as sweeps of slabs do, and exchange ghosts. In fp32 all values take half
    of the bytes, and hops as long as ever. In the scope global the two sweeps of the finest level cross the
    devices; those of the others never do, because the usual smoother sweeps four planes at a time there."""
    stencil, grid = parse_problem(r["problem"])
    devices, scope = r["processes"], scope_of(r)
    one, delays, delays_of_one = alone.get((r["problem"], scope)), least.get((devices, scope)), least.get((1, scope))
    if None in (one, delays, delays_of_one):
        return None
    kernel = KERNELS[stencil]
    if r.get("cycle_type") == "f32":
        kernel = kernel._replace(bytes=kernel.bytes / 2)
    crossing = 2 * beyond_slab_ms(kernel, grid, devices) if devices > 1 and scope == "global" else 0
    whole = slab = levels = 0
    while math.prod(grid) > LATENCY_ONLY:
        whole += sweep_ms(stencil, grid, kernel=kernel) - value("host") / 1e3
        slab += sweep_ms(stencil, (grid[0], grid[1], grid[2] // devices), kernel=kernel) - value("host") / 1e3
        levels += devices > 1
        grid = tuple(n // 2 for n in grid)
    share = slab / whole if whole else 0
    return ((one["apply_alone_ms"] - delays_of_one) * share + delays + crossing
            + levels * EXCHANGES * value("meeting") / 1e3)


def is_dealt(r):
    """Whether rows were dealt out, if the stencil asks for it: the factor is then held twice."""
    stencil, grid = parse_problem(r["problem"])
    once = 8 * int(stencil[3:]) * math.prod(grid) / r["processes"]
    return r.get("dealt", r.get("factor_bytes", 2 * once) > 1.5 * once)


def predictions(r, alone, least):
    """(name, measured, predicted) of what a run measured: milliseconds. Iterations are not predicted: a solve
    takes as many as were measured, and two products more for the residual before and after."""
    stencil, grid = parse_problem(r["problem"])
    devices, product = r["processes"], product_ms(stencil, grid, r["processes"])
    if r["precond"] == "mg":
        application = cycle_ms(r, alone, least)
        yield "cycle", r["apply_alone_ms"], application
    else:
        sweep = best_ms(stencil, grid, (1, devices), is_dealt(r))[0] - value("host") / 1e3
        application = 2 * sweep
        yield "sweep", r["sweep_ms"]["median"], sweep
    yield "product", r["product_ms"], product
    if r["iterations"] > 0:
        applications, passes = METHODS[r["method"]]
        step = applications * ((application or 0) + product) + pass_ms(grid, devices, passes)
        yield "solve", r["solve_ms"], None if application is None else r["iterations"] * step + 2 * product


def read_slabs(paths):
    results = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            results += json.load(file)["results"]
    return results


def same_bits(what, one, other):
    """Whether a sweep, or a solution and its iterations, are equal; None where no bits are known."""
    hashes = {"sweep": "hash", "cycle": "hash", "product": "product_hash", "solve": "solution_hash"}.get(what)
    if hashes not in one or hashes not in other:
        return None
    return one[hashes] == other[hashes] and (what != "solve" or one["iterations"] == other["iterations"])


def slab_rows(results):
    """What was measured, with the model's time, and how it differs from the result of the fewest devices."""
    least = {(r["processes"], scope_of(r)): r["apply_alone_ms"] for r in results
             if r["precond"] == "mg" and math.prod(parse_problem(r["problem"])[1]) <= LATENCY_ONLY}
    local = lambda r: r["precond"] == "mg" and scope_of(r) == "local"  # other bits on each number of devices
    cycles = {(r["problem"], scope_of(r)): r for r in results if r["processes"] == 1 and r["precond"] == "mg"}
    key = lambda r: (r["problem"], r["precond"], r["method"], scope_of(r))
    told = [(r, list(predictions(r, cycles, least))) for r in results]
    alone = {key(r): {what: ms for what, ms, _ in parts} for r, parts in told if r["processes"] == 1}
    first = {key(r): r for r in sorted(results, key=lambda r: -r["processes"])}
    rows = []
    for r, parts in told:
        stencil, grid = parse_problem(r["problem"])
        devices, other, one = r["processes"], alone.get(key(r), {}), first[key(r)]
        several = devices > one["processes"]
        sketched = "solve" if r["iterations"] else parts[0][0]  # what the sketch is of
        for what, ms, model in parts:
            rows.append({"kind": "measured", "scaling": "strong", "what": what, "stencil": stencil, "grid": list(grid),
                         "devices": devices, "boxes": [1, 1, devices], "problem": r["problem"], "ms": round(ms, 4),
                         "model_ms": model and round(model, 4), "error": model and round(model / ms - 1, 3),
                         "speedup": round(other[what] / ms, 3) if what in other else None,
                         "same_bits": same_bits(what, one, r) if several and not local(r) else None,
                         "distance": distance(one, r) if several and what == sketched and "sketch" in r else None,
                         "solution": r.get("solution_hash") if r["iterations"] else None,
                         "iterations": r["iterations"], "setup_ms": r["setup_ms"], "solve_ms": r["solve_ms"],
                         "source": f"perf_slabs, {r['device']}, commit {r['commit']}"})
    return rows


def show_slabs(rows):
    print(f"{'problem':28} {'P':>2} {'what':9} {'ms':>9} {'model':>9} {'error':>6} {'speed':>6} {'bits':>6} "
          f"{'distance':>9} {'it.':>5} {'set-up':>8} {'solve, ms':>10}")
    for r in rows:
        model = f"{r['model_ms']:9.4f} {100 * r['error']:5.0f}%" if r["model_ms"] else f"{'':16}"
        speed = f"{r['speedup']:6.2f}" if r["speedup"] else f"{'':6}"
        bits = {None: "", True: "same", False: "OTHER"}[r["same_bits"]]
        far = "" if r["distance"] is None else f"{r['distance']:.1e}"
        print(f"{r['problem']:28} {r['devices']:2d} {r['what']:9} {r['ms']:9.4f} {model} {speed} {bits:>6} {far:>9} "
              f"{r['iterations']:5d} {r['setup_ms']:8.1f} {r['solve_ms']:10.1f}")


# ---- What is predicted ---------------------------------------------------------------------------

def row(scaling, stencil, grid, boxes, predicted, one):
    ms, wj = predicted
    devices = boxes[0] * boxes[1]
    ideal = one if scaling == "weak" else one / devices
    return {"kind": "predicted", "scaling": scaling, "stencil": stencil, "grid": list(grid),
            "devices": devices, "boxes": [1, *boxes], "order": name_of_order(wj), "ms": round(ms, 4),
            "speedup": round(one / ms * (devices if scaling == "weak" else 1), 3),
            "efficiency": round(ideal / ms, 3)}


def strong(stencils=tuple(KERNELS), grids=tuple(STRONG), devices=tuple(DEVICES)):
    rows = []
    for stencil in stencils:
        for grid in grids:
            one = best_ms(stencil, grid)[0]
            for count in devices:
                predicted = best_ms(stencil, grid, (1, count))
                if predicted is not None:
                    rows.append(row("strong", stencil, grid, (1, count), predicted, one))
    return rows


def weak(stencils=("D3N7",), sizes=tuple(WEAK), devices=tuple(DEVICES)):
    """Slabs in z, and boxes in y and z."""
    rows = []
    for stencil in stencils:
        for n in sizes:
            one = best_ms(stencil, (n, n, n))[0]
            for count in devices:
                for boxes in dict.fromkeys([(1, count), WEAK_BOXES[count]]):
                    grid = (n, n * boxes[0], n * boxes[1])
                    rows.append(row("weak", stencil, grid, boxes, best_ms(stencil, grid, boxes), one))
    return rows


def stops(rows):
    """For each strong case: the most devices with which doubling still gains a tenth, and with which
    half of each device's time is of use."""
    out = []
    for stencil, grid in dict.fromkeys((r["stencil"], tuple(r["grid"])) for r in rows):
        times, count, one = {}, 1, best_ms(stencil, grid)[0]
        while count <= 64 and (predicted := best_ms(stencil, grid, (1, count))) is not None:
            times[count] = predicted[0]
            count *= 2
        pays = max([c for c in times if c == 1 or times[c // 2] / times[c] >= 1.1])
        half = max(c for c in times if one / times[c] / c >= 0.5)
        out.append({"stencil": stencil, "grid": list(grid), "doubling_gains_a_tenth_up_to": pays,
                    "half_efficient_up_to": half, "fastest": min(times, key=times.get),
                    "ms": {str(c): round(t, 4) for c, t in times.items()}})
    return out


def break_even(stencil, devices, gain=1.0):
    """The least cube from which on that many devices are faster than one by that factor: points along an
    edge. Smaller cubes than 8 planes per device are not tried."""
    least = None
    for n in range(512, max(8 * devices, 32) - 1, -16):
        if best_ms(stencil, (n, n, n))[0] < gain * best_ms(stencil, (n, n, n), (1, devices))[0]:
            break
        least = n
    return least


def validation():
    """The model beside what was measured."""
    rows = []
    for (stencil, n), ms in ONE_DEVICE.items():
        model = sweep_ms(stencil, (n, n, n)) - value("host") / 1e3
        rows.append({"what": f"{stencil}, {n}^3, one device, between events", "measured_ms": ms,
                     "model_ms": round(model, 4), "error": round(model / ms - 1, 3)})
    for (stencil, grid, devices), by_order in SWEEPS.items():
        for wj, ms in by_order.items():
            model = sweep_ms(stencil, grid, (1, devices), wj) - value("host") / 1e3
            rows.append({"what": f"{stencil}, {name_of(grid)}, {devices} device{'s' * (devices > 1)}, {name_of_order(wj)}",
                         "measured_ms": ms, "model_ms": round(model, 4), "error": round(model / ms - 1, 3)})
    return rows


def ratios():
    """Speed of two devices over one: measured and by the model."""
    out = []
    for stencil, grid in ((s, g) for s, g, devices in SWEEPS if devices == 2 and (s, g, 1) in SWEEPS):
        order = least_order(stencil, 2)
        measured = SWEEPS[stencil, grid, 1][1] / SWEEPS[stencil, grid, 2][order]
        host = value("host") / 1e3
        model = (sweep_ms(stencil, grid) - host) / (sweep_ms(stencil, grid, (1, 2), order) - host)
        out.append({"stencil": stencil, "n": grid[0], "measured": round(measured, 3), "model": round(model, 3),
                    "error": round(model / measured - 1, 3)})
    return out


def measured_rows():
    out = []
    for (stencil, grid, devices), by_order in SWEEPS.items():
        if (stencil, grid, 1) not in SWEEPS:
            continue
        wj = least_order(stencil, devices)
        ms = by_order[wj]
        out.append({"kind": "measured", "scaling": "strong", "stencil": stencil, "grid": list(grid),
                    "devices": devices, "boxes": [1, 1, devices], "order": name_of_order(wj), "ms": ms,
                    "speedup": round(SWEEPS[stencil, grid, 1][1] / ms, 3), "source": SWEEPS_SOURCE})
    return out


# ---- Output --------------------------------------------------------------------------------------

def name_of(grid):
    return f"{grid[0]}^3" if len(set(grid)) == 1 else "x".join(map(str, grid))


def show(output):
    print("model beside measurements\n" + f"{'':44} {'measured':>9} {'model':>8} {'error':>6}")
    for r in output["validation"]:
        print(f"{r['what']:44} {r['measured_ms']:9.4f} {r['model_ms']:8.4f} {100 * r['error']:5.0f}%")
    print("\ntwo devices over one\n" + f"{'':12} {'measured':>9} {'model':>8} {'error':>6}")
    for r in output["ratios"]:
        print(f"{r['stencil'] + ' ' + str(r['n']) + '^3':12} {r['measured']:9.2f} {r['model']:8.2f} "
              f"{100 * r['error']:5.0f}%")
    print("\ntwo processes on a CPU, ms per application (two sweeps)\n"
          f"{'':24} {'one':>8} {'local':>8} {'measured':>9} {'model':>8} {'error':>6}")
    for r in output["cpu"]:
        print(f"{r['problem']:24} {r['one_ms']:8.3f} {r['local_ms']:8.3f} {r['measured_ms']:9.3f} "
              f"{r['predicted_ms']:8.3f} {100 * (r['predicted_ms'] / r['measured_ms'] - 1):5.0f}%")
    print("\npredictions; no run has confirmed them beyond four devices\n"
          f"{'scaling':8}{'stencil':8}{'grid':16} {'devices':>7} {'boxes':>7} {'order':>6} {'ms':>9} "
          f"{'speed':>7} {'effic.':>6}")
    for r in output["results"]:
        if r["kind"] == "predicted":
            print(f"{r['scaling']:8}{r['stencil']:8}{name_of(r['grid']):16} {r['devices']:7d} "
                  f"{'x'.join(map(str, r['boxes'])):>7} {r['order']:>6} {r['ms']:9.3f} {r['speedup']:7.2f} "
                  f"{r['efficiency']:6.2f}")
    print("\nmost devices, slabs in z\n"
          f"{'':24} {'doubling gains a tenth':>22} {'half efficient':>15} {'fastest':>8}")
    for r in output["stops"]:
        print(f"{r['stencil'] + ' ' + name_of(r['grid']):24} {r['doubling_gains_a_tenth_up_to']:22d} "
              f"{r['half_efficient_up_to']:15d} {r['fastest']:8d}")
    print()
    for r in output["break_even"]:
        print(f"predicted, {r['stencil']}: {r['devices']} devices are slower than 1 below "
              f"{r['n'] ** 3} points ({r['n']}^3), and gain more than the model's error of "
              f"{100 * ERROR:.0f}% from {r['n_beyond_error'] ** 3} points ({r['n_beyond_error']}^3) on")


def predict(cpu):
    predicted = strong()
    return {"note": "predictions of perf/scaling_model.py for H200s; no run has confirmed them beyond four devices",
            "constants": {name: c._asdict() for name, c in CONSTANTS.items()},
            "results": predicted + weak() + measured_rows(), "validation": validation(),
            "ratios": ratios(), "cpu": cpu_rows(cpu), "stops": stops(predicted),
            "break_even": [{"stencil": s, "devices": d, "n": break_even(s, d),
                            "n_beyond_error": break_even(s, d, 1 + ERROR)}
                           for s in KERNELS for d in (2, 4, 8)]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help=argparse.SUPPRESS)
    parser.add_argument("cpu", nargs="?", default=os.path.join(HERE, "results", "cpu-distributed.json"),
                        help=argparse.SUPPRESS)
    parser.add_argument("--slabs", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--link", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.link is not None:
        CONSTANTS["link"] = Constant(options.link, "us", "an assumption", "--link")
    rows = []
    if options.slabs:
        results = read_slabs(options.slabs)
        with constants_of(results[0]["device"]):
            rows = slab_rows(results)
            output = {"results": strong() + [r for r in rows if r["speedup"]]}
        show_slabs(rows)
    else:
        output = predict(options.cpu)
        show(output)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(output, file, indent=1)
            file.write("\n")
    return int(any(r["same_bits"] is False for r in rows))


if __name__ == "__main__":
    sys.exit(main())
