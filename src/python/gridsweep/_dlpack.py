"""Arrays of other packages through DLPack: reads their capsules with ctypes.

Layout and rules are those of dlpack.h, versions 0.2 to 1.x, and of its Python specification. A
consumer renames the capsule. From then on it must call the deleter once, which frees the memory that
the producer keeps alive for it.
"""

import ctypes
import weakref
from ctypes import (POINTER, Structure, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64,
                    c_void_p)
from typing import Any, Dict, NoReturn, Optional, Tuple

import numpy as np

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
_DEVICES = {CPU: "the CPU", CUDA: "CUDA device", CUDA_HOST: "pinned host memory", 4: "OpenCL device",
            7: "Vulkan device", 8: "Metal device", 10: "ROCm device",
            CUDA_MANAGED: "managed memory of CUDA device", 14: "oneAPI device"}
_KINDS = {0: "int", 1: "uint", 2: "float", 5: "complex", 6: "bool"}
_READ_ONLY, _COPIED = 1, 2  # flags
_VERSION = (1, 0)  # the newest that is requested; newer minor versions add nothing needed here


def strides_in_order(shape: Tuple[int, ...], dtype: Any) -> Tuple[int, ...]:
    """The strides in bytes of an array in C order."""
    return tuple(dtype.itemsize * int(np.prod(shape[i + 1:], dtype=np.int64))
                 for i in range(len(shape)))


class DLDevice(Structure):
    _fields_ = [("device_type", c_int32), ("device_id", c_int32)]


class DLDataType(Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class DLTensor(Structure):
    _fields_ = [("data", c_void_p), ("device", DLDevice), ("ndim", c_int32), ("dtype", DLDataType),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


class DLManagedTensor(Structure):
    _fields_ = [("dl_tensor", DLTensor), ("manager_ctx", c_void_p), ("deleter", c_void_p)]


class DLManagedTensorVersioned(Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("manager_ctx", c_void_p),
                ("deleter", c_void_p), ("flags", c_uint64), ("dl_tensor", DLTensor)]


# A capsule keeps the address of its name, so these names live as long as the module. PYFUNCTYPE
# calls with Python's lock held, because deleters of older producers rely on it.
_NEW, _NEW_USED = b"dltensor_versioned", b"used_dltensor_versioned"
_OLD, _OLD_USED = b"dltensor", b"used_dltensor"
_Deleter = ctypes.PYFUNCTYPE(None, c_void_p)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi))
_pointer_of = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_SetName", ctypes.pythonapi))


def offered(array: Any) -> bool:
    """Whether an object supports DLPack."""
    return hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__")


def device_of(name: str, array: Any) -> Tuple[int, int]:
    """(kind, number) of the device that a producer reports."""
    try:
        kind, number = array.__dlpack_device__()
        return int(kind), int(number)
    except (BufferError, RuntimeError, TypeError, ValueError, NotImplementedError) as error:
        raise TypeError(f"{name}: {type(array).__name__} names no DLPack device: {error}") from error


def device_name(kind: int, number: int) -> str:
    name = _DEVICES.get(kind, f"a device of DLPack's type {kind}, number")
    return name if kind in (CPU, CUDA_HOST) else f"{name} {number}"


def _capsule(name: str, array: Any, stream: Optional[int]) -> Any:
    """The producer's capsule. If the producer refuses, the error names the argument."""
    options = {} if stream is None else {"stream": stream}
    try:
        try:
            return array.__dlpack__(max_version=_VERSION, **options)
        except TypeError:  # the producer supports only DLPack before 1.0
            return array.__dlpack__(**options)
    except (BufferError, RuntimeError, TypeError, ValueError, NotImplementedError) as error:
        raise TypeError(f"{name}: {type(array).__name__} gives no DLPack capsule: {error}") from error


def _delete(managed: Any, address: int) -> None:
    if managed.deleter:
        _Deleter(managed.deleter)(address)


class Tensor:
    """The contents of a DLPack capsule: address, shape, strides (bytes), dtype, writable, device.

    The producer's memory is kept until the last reference to the tensor is gone. Then its deleter
    runs once. The producer receives `stream` (None on the CPU), and makes the array ready for work
    on that stream.
    Errors name the argument: TypeError (the producer refuses, a copy, a dtype that NumPy does not
    have).
    """

    def __init__(self, name: str, array: Any, stream: Optional[int] = None) -> None:
        self.producer = array
        capsule = _capsule(name, array, stream)
        if _is_valid(capsule, _NEW):
            self._take(capsule, _NEW, _NEW_USED, DLManagedTensorVersioned)
            if self._managed.major != _VERSION[0]:
                self._refuse(f"{name}: its DLPack version {self._managed.major} is not {_VERSION[0]}")
            flags = self._managed.flags
        elif _is_valid(capsule, _OLD):
            self._take(capsule, _OLD, _OLD_USED, DLManagedTensor)
            flags = 0  # a producer of this version must not export read-only arrays
        else:
            raise TypeError(f"{name}: {type(array).__name__} gives no unused DLPack capsule")
        if flags & _COPIED:
            self._refuse(f"{name}: its producer gives a copy through DLPack, not the array itself")
        self.writable = not flags & _READ_ONLY
        self._read(name, self._managed.dl_tensor)

    def _take(self, capsule: Any, fresh: bytes, used: bytes, struct: Any) -> None:
        address = _pointer_of(capsule, fresh)
        self._managed = struct.from_address(address)
        _rename(capsule, used)
        self.release = weakref.finalize(self, _delete, self._managed, address)

    def _refuse(self, text: str) -> NoReturn:
        self.release()
        raise TypeError(text)

    def _read(self, name: str, tensor: DLTensor) -> None:
        kind = tensor.dtype
        try:
            if kind.lanes != 1 or kind.bits % 8:
                raise TypeError
            self.dtype = np.dtype("bool" if kind.code == 6 else f"{_KINDS[kind.code]}{kind.bits}")
        except (KeyError, TypeError):
            self._refuse(f"{name}: has DLPack's dtype code {kind.code} with {kind.bits} bits in "
                         f"{kind.lanes} lanes, which NumPy does not have")
        self.device = (tensor.device.device_type, tensor.device.device_id)
        self.address = (tensor.data or 0) + tensor.byte_offset
        self.shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
        size = self.dtype.itemsize
        if tensor.strides:
            self.strides = tuple(tensor.strides[i] * size for i in range(tensor.ndim))
        else:
            self.strides = strides_in_order(self.shape, self.dtype)

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        """For NumPy, if the memory is host memory: np.asarray(tensor) shares it and keeps it alive."""
        return {"version": 3, "shape": self.shape, "strides": self.strides,
                "typestr": self.dtype.str, "data": (self.address, not self.writable)}
