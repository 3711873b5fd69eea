"""The public C structs and enums for ctypes, with the names and the order of the headers."""

from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_int, c_int32, c_int64,
                    c_size_t, c_void_p, sizeof)
from enum import IntEnum
from typing import Any

STENCIL_MAX = 128


class Status(IntEnum):
    """The status that a call of the library returned (gridsweep/status.h)."""

    SUCCESS = 0
    INVALID_ARGUMENT = 1
    OVERFLOW = 2
    OUT_OF_MEMORY = 3
    NOT_A_GRID = 4
    UNSUPPORTED = 5
    IO = 6
    FORMAT = 7
    ZERO_PIVOT = 8
    NOT_CONVERGED = 9
    BREAKDOWN = 10
    NON_FINITE = 11
    STOPPED = 12
    NO_BACKEND = 13
    DEVICE = 14
    TIMEOUT = 15
    COMMUNICATION = 16


BACKENDS = {"auto": 0, "cpu": 1, "cuda": 2, "reference": 3}
ALGORITHMS = {"auto": 0, "reference": 1, "line": 2, "pencil": 3}
KINDS = {"ilu0": 0, "ic0": 1, "dilu": 2, "ssor": 3, "jacobi": 4, "lower": 5, "upper": 6, "lu": 7}
NORMS = {"true": 0, "preconditioned": 1}
NULLSPACES = {"none": 0, "constant": 1}  # or a vector: 2
SMOOTHERS = {"auto": 0, "gs": 1, "symgs": 2, "ilu0": 3, "ilu0-finest": 4, "jacobi": 5,
             "chebyshev": 6, "multicolor": 7}
PRECONDS = {"auto": 0, "none": 1, "jacobi": 2, "ssor": 3, "dilu": 4, "ilu0": 5, "ic0": 6, "mg": 7,
            "multigrid": 7}
METHODS = {"auto": 0, "cg": 1, "bicgstab": 2, "gmres": 3, "richardson": 4}
CYCLES = {"V": 0, "F": 1, "W": 2}
PARTS = {"A": 0, "P": 1, "R": 2}
DTYPES = {"float64": 0, "float32": 1}
ITYPES = {"int32": 0, "int64": 1}
LOWER, UPPER = 0, 1

LOG_FN = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
MONITOR_FN = CFUNCTYPE(c_int, c_void_p, c_int64, c_double)
MONITOR_MANY_FN = CFUNCTYPE(c_int, c_void_p, c_int64, c_int64, c_double)


APPLY_FN = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_void_p)


class _Sized(Structure):
    """A struct that can grow: its first member is its size (gridsweep/gridsweep.h)."""

    def __init__(self, **members: Any) -> None:
        super().__init__(size=sizeof(type(self)), **members)


class gsw_context_options(_Sized):
    _fields_ = [("size", c_size_t), ("backend", c_int), ("threads", c_int), ("device", c_int),
                ("stream", c_void_p), ("log", LOG_FN), ("log_user", c_void_p), ("tuning", c_char_p)]


class gsw_grid(Structure):
    _fields_ = [("nx", c_int64), ("ny", c_int64), ("nz", c_int64), ("periodic", c_int32)]


class gsw_offset(Structure):
    _fields_ = [("dx", c_int32), ("dy", c_int32), ("dz", c_int32)]


class gsw_stencil(Structure):
    _fields_ = [("count", c_int32), ("center", c_int32), ("offsets", gsw_offset * STENCIL_MAX)]


class gsw_csr(Structure):
    _fields_ = [("rows", c_int64), ("nonzeros", c_int64), ("row_ptr", c_void_p),
                ("columns", c_void_p), ("values", c_void_p), ("index_type", c_int),
                ("value_type", c_int), ("base", c_int)]


class gsw_stencil_array(Structure):
    _fields_ = [("values", c_void_p), ("value_type", c_int), ("repeat", c_int)]


class gsw_matrix(Structure):
    _fields_ = [("grid", gsw_grid), ("stencil", gsw_stencil), ("format", c_int), ("csr", gsw_csr),
                ("array", gsw_stencil_array), ("partition", c_void_p),
                ("active", c_void_p)]


class gsw_factor_options(_Sized):
    _fields_ = [("size", c_size_t), ("kind", c_int), ("factor_type", c_int),
                ("vector_type", c_int), ("transpose", c_int), ("unit_diagonal", c_int),
                ("omega", c_double), ("pivot_shift", c_double), ("scope", c_int),
                ("overlap", c_int64)]


class gsw_factor_info(_Sized):
    _fields_ = [("size", c_size_t), ("kind", c_int), ("factor_type", c_int),
                ("vector_type", c_int), ("grid", gsw_grid), ("stencil", gsw_stencil),
                ("packed_bytes", c_int64), ("work_bytes", c_int64), ("moved_bytes", c_int64),
                ("shifted_pivots", c_int64), ("first_bad_row", c_int64), ("sent_bytes", c_int64)]


class gsw_sptrsv_options(_Sized):
    _fields_ = [("size", c_size_t), ("part", c_int), ("transpose", c_int),
                ("unit_diagonal", c_int), ("vector_type", c_int), ("algorithm", c_int),
                ("workspace", c_void_p)]


class gsw_multigrid_options(_Sized):
    _fields_ = [("size", c_size_t), ("smoother", c_int), ("cycle", c_int), ("pre_sweeps", c_int),
                ("post_sweeps", c_int), ("cycle_type", c_int), ("theta", c_double),
                ("coarsest_points", c_int64), ("interpolation", c_int), ("max_levels", c_int),
                ("scope", c_int), ("whole_points", c_int64)]


class gsw_multigrid_info(_Sized):
    _fields_ = [("size", c_size_t), ("levels", c_int), ("smoother", c_int), ("cycle", c_int),
                ("cycle_type", c_int), ("symmetric", c_int), ("singular", c_int),
                ("smoother_fallbacks", c_int), ("operator_complexity", c_double),
                ("grid_complexity", c_double), ("bytes", c_int64), ("degenerate_points", c_int64),
                ("interpolation", c_int), ("direct", c_int), ("shared_levels", c_int),
                ("scope", c_int)]


class gsw_multigrid_level(_Sized):
    _fields_ = [("size", c_size_t), ("grid", gsw_grid), ("stencil", gsw_stencil),
                ("points", c_int64), ("couplings", c_int64), ("axes", c_int),
                ("coupling", c_double * 3), ("direct", c_int), ("smoother", c_int),
                ("degenerate_points", c_int64), ("bytes", c_int64)]


class gsw_krylov_options(_Sized):
    _fields_ = [("size", c_size_t), ("rtol", c_double), ("atol", c_double),
                ("max_iterations", c_int64), ("restart", c_int), ("norm", c_int),
                ("monitor", MONITOR_FN), ("monitor_user", c_void_p), ("nullspace", c_int),
                ("null_vector", c_void_p), ("monitor_many", MONITOR_MANY_FN),
                ("eisenstat", c_int64), ("keep_inactive", c_int64)]


class gsw_krylov_result(_Sized):
    _fields_ = [("size", c_size_t), ("iterations", c_int64), ("converged", c_int),
                ("stagnated", c_int), ("replacements", c_int64), ("residual", c_double),
                ("recurrence", c_double), ("removed", c_double), ("solve_ms", c_double),
                ("status", c_int64), ("eisenstat", c_int64), ("rounding", c_double)]


class gsw_solver_options(_Sized):
    _fields_ = [("size", c_size_t), ("precond", c_int), ("method", c_int),
                ("multigrid", POINTER(gsw_multigrid_options)),
                ("factor", POINTER(gsw_factor_options)), ("krylov", POINTER(gsw_krylov_options))]


class gsw_solver_report(_Sized):
    _fields_ = [("size", c_size_t), ("status", c_int64), ("converged", c_int),
                ("stagnated", c_int), ("iterations", c_int64), ("replacements", c_int64),
                ("eisenstat", c_int64), ("residual", c_double), ("recurrence", c_double),
                ("removed", c_double), ("solve_ms", c_double), ("setup_ms", c_double),
                ("attempts", c_int64), ("first_precond", c_char_p), ("first_method", c_char_p),
                ("precond", c_char_p), ("method", c_char_p), ("multigrid", c_void_p),
                ("factor", c_void_p), ("reason", c_char * 192), ("fallback", c_char * 512),
                ("message", c_char * 512)]


class gsw_system_report(_Sized):
    _fields_ = [("size", c_size_t), ("status", c_int64), ("iterations", c_int64),
                ("converged", c_int), ("residual", c_double)]


STRUCTS = (gsw_context_options, gsw_grid, gsw_offset, gsw_stencil, gsw_csr, gsw_stencil_array,
           gsw_matrix, gsw_factor_options, gsw_factor_info, gsw_sptrsv_options,
           gsw_multigrid_options, gsw_multigrid_info, gsw_multigrid_level, gsw_krylov_options,
           gsw_krylov_result, gsw_solver_options, gsw_solver_report,
           gsw_system_report)

_P = POINTER
_KRYLOV = (c_int, [c_void_p, c_int, c_void_p, c_void_p, _P(gsw_krylov_options), c_void_p, c_void_p,
                   _P(gsw_krylov_result)])

# Function: (result, arguments). Contexts, factors, hierarchies and arrays are plain addresses.
PROTOTYPES = {
    "gsw_version": (c_char_p, []),
    "gsw_build_info": (c_char_p, []),
    "gsw_status_text": (c_char_p, [c_int]),
    "gsw_dtype_size": (c_size_t, [c_int]),
    "gsw_context_create": (c_int, [_P(gsw_context_options), _P(c_void_p)]),
    "gsw_context_destroy": (None, [c_void_p]),
    "gsw_context_synchronize": (c_int, [c_void_p]),
    "gsw_context_message": (c_char_p, [c_void_p]),
    "gsw_context_backend": (c_int, [c_void_p]),
    "gsw_context_threads": (c_int, [c_void_p]),
    "gsw_context_device": (c_char_p, [c_void_p]),
    "gsw_grid_points": (c_int, [_P(gsw_grid), _P(c_int64)]),
    "gsw_stencil_named": (c_int, [c_char_p, _P(gsw_stencil)]),
    "gsw_stencil_from_offsets": (c_int, [_P(gsw_offset), c_int32, _P(gsw_stencil)]),
    "gsw_stencil_known": (c_char_p, [c_int32]),
    "gsw_stencil_name": (c_char_p, [_P(gsw_stencil)]),
    "gsw_matrix_from_csr": (c_int, [c_void_p, _P(gsw_grid), _P(gsw_stencil), _P(gsw_csr),
                                    _P(gsw_matrix)]),
    "gsw_matrix_from_constants": (c_int, [c_void_p, _P(gsw_grid), _P(gsw_stencil), _P(c_double),
                                          c_int64, c_int, _P(gsw_matrix)]),
    "gsw_matrix_validate": (c_int, [c_void_p, _P(gsw_matrix)]),
    "gsw_matrix_near_stencil": (None, [_P(gsw_matrix), _P(gsw_stencil)]),
    "gsw_matrix_fit": (c_int, [c_void_p, _P(gsw_csr), _P(gsw_grid), _P(gsw_stencil), _P(gsw_matrix),
                               _P(gsw_csr)]),
    "gsw_detect": (c_int, [c_void_p, _P(gsw_csr), _P(gsw_grid), _P(gsw_grid), _P(gsw_stencil)]),
    "gsw_matrix_remark": (c_int, [c_void_p, _P(gsw_matrix), c_char_p, c_size_t]),
    "gsw_csr_free": (None, [_P(gsw_csr)]),
    "gsw_sptrsv": (c_int, [c_void_p, _P(gsw_matrix), _P(gsw_sptrsv_options), c_int64, c_void_p,
                           c_int64, c_void_p, c_int64]),
    "gsw_matrix_upload": (c_int, [c_void_p, _P(gsw_matrix), _P(gsw_matrix)]),
    "gsw_matrix_release": (None, [c_void_p, _P(gsw_matrix)]),
    "gsw_embedding_create": (c_int, [c_void_p, _P(gsw_grid), c_void_p, _P(c_void_p)]),
    "gsw_embedding_create_from_coordinates": (c_int, [c_void_p, c_int64, c_int, c_void_p,
                                                      _P(c_void_p)]),
    "gsw_embedding_destroy": (None, [c_void_p]),
    "gsw_embedding_points": (c_void_p, [c_void_p]),
    "gsw_embedding_spread": (c_int, [c_void_p, c_void_p, c_int, c_void_p, c_void_p]),
    "gsw_embedding_collect": (c_int, [c_void_p, c_void_p, c_int, c_void_p, c_void_p]),
    "gsw_matrix_from_active": (c_int, [c_void_p, _P(gsw_csr), c_void_p, _P(gsw_stencil),
                                       _P(gsw_matrix)]),
    "gsw_matrix_refill_active": (c_int, [c_void_p, _P(gsw_csr), c_void_p, _P(gsw_matrix)]),
    "gsw_border_create": (c_int, [c_void_p, _P(gsw_csr), _P(gsw_csr), _P(c_void_p)]),
    "gsw_border_destroy": (None, [c_void_p]),
    "gsw_border_right_side": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, _P(c_double)]),
    "gsw_border_solution": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "gsw_memory_alloc": (c_int, [c_void_p, c_size_t, _P(c_void_p)]),
    "gsw_memory_free": (None, [c_void_p, c_void_p]),
    "gsw_memory_set": (c_int, [c_void_p, c_void_p, c_int, c_size_t]),
    "gsw_factor_create": (c_int, [c_void_p, _P(gsw_matrix), _P(gsw_factor_options),
                                  _P(c_void_p)]),
    "gsw_factor_create_lu": (c_int, [c_void_p, _P(gsw_matrix), _P(gsw_matrix),
                                     _P(gsw_factor_options), _P(c_void_p)]),
    "gsw_factor_refactor": (c_int, [c_void_p, c_void_p, _P(gsw_matrix), _P(gsw_matrix)]),
    "gsw_factor_solve": (c_int, [c_void_p, c_void_p, c_int64, c_void_p, c_int64, c_void_p,
                                 c_int64]),
    "gsw_factor_extract": (c_int, [c_void_p, c_void_p, c_int, _P(gsw_csr), _P(gsw_csr)]),
    "gsw_factor_get_info": (c_int, [c_void_p, _P(gsw_factor_info)]),
    "gsw_factor_destroy": (None, [c_void_p]),
    "gsw_smooth": (c_int, [c_void_p, _P(gsw_matrix), c_void_p, c_int32, c_int, c_void_p, c_void_p,
                           c_void_p]),
    "gsw_multigrid_create": (c_int, [c_void_p, _P(gsw_matrix), _P(gsw_multigrid_options),
                                     _P(c_void_p)]),
    "gsw_multigrid_refactor": (c_int, [c_void_p, c_void_p, _P(gsw_matrix)]),
    "gsw_multigrid_apply": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "gsw_multigrid_get_info": (c_int, [c_void_p, _P(gsw_multigrid_info)]),
    "gsw_multigrid_get_level": (c_int, [c_void_p, c_int, _P(gsw_multigrid_level)]),
    "gsw_multigrid_extract": (c_int, [c_void_p, c_void_p, c_int, c_int, _P(gsw_csr)]),
    "gsw_multigrid_destroy": (None, [c_void_p]),
    "gsw_operator_from_matrix": (c_int, [c_void_p, _P(gsw_matrix), _P(c_void_p)]),
    "gsw_operator_from_callback": (c_int, [c_void_p, c_int64, APPLY_FN, c_void_p, _P(c_void_p)]),
    "gsw_operator_destroy": (None, [c_void_p]),
    "gsw_preconditioner_from_factor": (c_int, [c_void_p, c_void_p, _P(c_void_p)]),
    "gsw_preconditioner_from_multigrid": (c_int, [c_void_p, c_void_p, _P(c_void_p)]),
    "gsw_preconditioner_from_callback": (c_int, [c_void_p, c_int64, APPLY_FN, c_void_p,
                                                 _P(c_void_p)]),
    "gsw_preconditioner_destroy": (None, [c_void_p]),
    "gsw_krylov": _KRYLOV,
    "gsw_krylov_many": (c_int, [c_void_p, c_int, c_void_p, c_void_p, _P(gsw_krylov_options), c_int64,
                                c_void_p, c_int64, c_void_p, c_int64, _P(gsw_krylov_result)]),
    "gsw_solver_create": (c_int, [c_void_p, _P(gsw_matrix), _P(gsw_solver_options), _P(c_void_p)]),
    "gsw_solver_solve": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, _P(gsw_solver_report)]),
    "gsw_solver_update": (c_int, [c_void_p, c_void_p, _P(gsw_matrix)]),
    "gsw_solver_get_report": (c_int, [c_void_p, _P(gsw_solver_report)]),
    "gsw_solver_get_history": (c_int, [c_void_p, _P(POINTER(c_double)), _P(c_int64)]),
    "gsw_solver_create_many": (c_int, [c_void_p, c_int64, _P(gsw_matrix), _P(gsw_solver_options),
                                       _P(c_void_p)]),
    "gsw_solver_get_system": (c_int, [c_void_p, c_int64, _P(gsw_system_report)]),
    "gsw_solver_destroy": (None, [c_void_p]),
}
