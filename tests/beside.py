"""gridsweep beside NumPy's BLAS and PyTorch in one process, each with several threads and with a runtime of its own for
them. Each is used before, after and during the others' work, and every result has to be the same bits as before.

    OMP_NUM_THREADS=4 python3 tests/beside.py gridsweep torch    # in which order they are imported
"""

import faulthandler
import importlib
import re
import sys
import threading
from pathlib import Path

LIMIT = 100  # seconds; a deadlock ends with the stacks of all threads
faulthandler.dump_traceback_later(LIMIT, exit=True)
for name in sys.argv[1:]:
    importlib.import_module(name)

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
import gridsweep  # noqa: E402

torch = sys.modules.get("torch")
small = np.random.default_rng(1).integers(-9, 10, (2, 700, 700))
exact = small[0] @ small[1]  # integers, which no BLAS multiplies
left, right = small.astype(float)
line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(48, 48))
A = sp.csr_matrix(sp.kronsum(sp.kronsum(line, line), line))
b = np.ones(A.shape[0])
context = gridsweep.Context("cpu", threads=4)
assert context.threads == 4


def multiply():
    assert (left @ right == exact).all()


def multiply_torch():
    torch.set_num_threads(4)
    assert (torch.from_numpy(left) @ torch.from_numpy(right)).numpy().astype(int).tolist() == exact.tolist()
    total = torch.arange(2_000_000, dtype=torch.float64).sqrt().sum().item()  # OpenMP's threads
    assert abs(total / (2 / 3 * 2e6**1.5) - 1) < 1e-5


def solve():
    x, info = gridsweep.solve(A, b, context=context)
    assert not info and np.linalg.norm(b - A @ x) <= 1e-7 * np.linalg.norm(b), info.message
    assert x.tobytes() == solve.bits or not solve.bits
    solve.bits = x.tobytes()


solve.bits = b""
work = [multiply, solve] + [multiply_torch] * (torch is not None)
for _ in range(5):
    for one in work + work[::-1]:
        one()
failed = []
threading.excepthook = failed.append
threads = [threading.Thread(target=lambda one=one: [one() for _ in range(5)]) for one in work]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failed, failed
solve()

mapped = set(re.findall(r"/\S*(?:gomp|openblas|libiomp|libomp)\S*", Path("/proc/self/maps").read_text()))
print(f"{' '.join(sys.argv[1:])}: same bits beside {', '.join(sorted(Path(name).name for name in mapped))}")
