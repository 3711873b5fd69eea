# gridsweep's recipe for Spack; README.md beside its folder describes its use.
from spack.package import *

try:
    from spack_repo.builtin.build_systems.cmake import CMakePackage
    from spack_repo.builtin.build_systems.cuda import CudaPackage
except ImportError:
    pass  # Spack before 1.0 has them in spack.package


class Gridsweep(CMakePackage, CudaPackage):
    """Exact sparse triangular solves on regular grids, the preconditioners that need them (ILU(0),
    IC(0), DILU, SSOR), and Krylov solvers, on CPUs with OpenMP and on NVIDIA GPUs."""

    license("BSD-3-Clause")

    # Built from the checkout: spack dev-build gridsweep@0.2.0
    version("0.2.0")

    variant("openmp", default=True, description="Use all cores through OpenMP")
    variant("program", default=True, description="Build the program gridsweep")
    variant("mpi", default=False, description="Build the transport over MPI")
    variant("petsc", default=False, description="Build the plug-in for PETSc")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cjson", when="+program")
    depends_on("zlib-api", when="+program")
    depends_on("cuda@11.8:", when="+cuda")
    depends_on("petsc@3.18: ~complex +double", when="+petsc")
    depends_on("mpi", when="+petsc")
    depends_on("mpi", when="+mpi")
    depends_on("check@0.15:", type="test")

    conflicts("cuda_arch=none", when="+cuda", msg="name the GPU, such as cuda_arch=90")

    def cmake_args(self):
        args = [
            self.define_from_variant("GSW_OPENMP", "openmp"),
            self.define_from_variant("GSW_BUILD_PROGRAM", "program"),
            self.define_from_variant("GSW_CUDA", "cuda"),
            self.define_from_variant("GSW_PETSC", "petsc"),
            self.define_from_variant("GSW_MPI", "mpi"),
            self.define("GSW_BUILD_TESTS", self.run_tests),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(
                self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value)
            )
        return args

    # The plug-in is a component of its own, so that other packages do not depend on PETSc.
    @run_after("install", when="+petsc")
    def install_plugin(self):
        cmake("--install", self.build_directory, "--component", "petsc")
