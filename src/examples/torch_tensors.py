"""PyTorch's tensors on a GPU: a multigrid hierarchy, CG, and an adjoint solve with the transposed factor.

    python3 torch_tensors.py

The library uses tensors where they lie, through DLPack. The exit code is 77 without PyTorch or without a GPU.
"""

import scipy.sparse as sp

try:
    import torch
except ImportError as error:
    print(error)
    raise SystemExit(77) from None
if not torch.cuda.is_available():
    print("PyTorch finds no GPU")
    raise SystemExit(77)

import gridsweep


def line(n):
    return sp.diags([-1.0, 2.0, -0.9], [-1, 0, 1], shape=(n, n))


host = sp.csr_matrix(sp.kronsum(sp.kronsum(line(64), line(48)), line(40)))
grid, stencil = gridsweep.detect(host)
A = tuple(torch.as_tensor(part, device="cuda") for part in (host.data, host.indices, host.indptr))
b = torch.ones(grid.points, dtype=torch.float64, device="cuda")
x = torch.empty_like(b)

with gridsweep.Context("cuda", stream=torch.cuda.current_stream().cuda_stream) as context:
    with gridsweep.multigrid(A, grid, stencil=stencil, context=context) as M:
        _, info = gridsweep.bicgstab(A, b, M=M, out=x)
    print(f"{info.iterations} iterations, residual {info.residual:.1e}")

    # Of x = M^-1 b the gradient of (w, x) in b is M^-T w.
    with gridsweep.ilu0(A, grid, stencil=stencil, context=context) as M:
        w = torch.linspace(-1, 1, grid.points, dtype=torch.float64, device="cuda")
        gradient, product = torch.empty_like(b), torch.empty_like(b)
        M.T.solve(w, out=gradient)
        M.solve(b, out=product)
        context.synchronize()
        difference = abs(float(torch.dot(gradient, b) - torch.dot(w, product)))
    print(f"(M^-T w, b) - (w, M^-1 b): {difference:.1e}")
    if info or difference > 1e-8 * float(torch.linalg.norm(product)) * grid.points:
        raise SystemExit(info.message or "the transposed solve is wrong")
