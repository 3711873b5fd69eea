"""What a solve shows while it runs: lines, and a progress bar."""

import math
import sys
from typing import Any, Optional


class Lines:
    """Prints a line an iteration, like the program."""

    def begin(self, solver: Any) -> None:
        print(f"{solver.precond} with {solver.method}: {solver.reason or 'as named'}")
        print(" iteration  residual")

    def tell(self, iteration: int, residual: float) -> None:
        print(f"{iteration:10d}  {residual:.3e}", flush=True)

    def end(self, info: Any) -> None:
        how = "converged" if info.converged else f"not converged: {info.message}"
        if info.fallback:
            print(f"then {info.fallback}")
        print(f"{how}; {info.iterations} iterations, residual {info.residual:.3e}, set-up "
              f"{info.setup_ms:.3g} ms, solve {info.solve_ms:.3g} ms")


class _Text:
    """A bar for terminals without tqdm."""

    def __init__(self, total: float, **_: Any) -> None:
        self.total, self.n = total, 0.0

    def refresh(self) -> None:
        if sys.stderr.isatty():
            print(f"\rsolve {100 * self.n / self.total:3.0f}%", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if sys.stderr.isatty():
            print(file=sys.stderr)


class Bar:
    """A bar of the digits that the residual has gained, of those it has to: tqdm's, on terminals and
    in notebooks."""

    def __init__(self, rtol: float) -> None:
        self.digits = -math.log10(rtol) if 0 < rtol < 1 else 8
        self.bar: Any = None
        self.first: Optional[float] = None

    def begin(self, solver: Any) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            tqdm = _Text
        self.first = None
        self.bar = tqdm(total=self.digits, desc=f"{solver.precond} with {solver.method}",
                        unit="digit", bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}")

    def tell(self, iteration: int, residual: float) -> None:
        if self.first is None:
            self.first = residual
        gained = math.log10(self.first / residual) if residual > 0 and self.first > 0 else self.digits
        self.bar.n = max(self.bar.n, min(gained, self.digits))
        self.bar.refresh()

    def end(self, info: Any) -> None:
        if info.converged:
            self.bar.n = self.digits
            self.bar.refresh()
        self.bar.close()
