# The Debian packages: cpack reads this file before it runs a generator. Each component of the
# installation becomes a package; README.md beside this folder lists them.
cmake_policy(VERSION 3.25)
if(NOT CPACK_GENERATOR STREQUAL "DEB")
    return()
endif()

if(Unspecified IN_LIST CPACK_COMPONENTS_ALL)
    message(FATAL_ERROR "A file that is installed belongs to no package: name its COMPONENT.")
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
if(NOT CPACK_DEBIAN_PACKAGE_MAINTAINER)
    set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${CPACK_PACKAGE_CONTACT})
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(gsw_version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
set(gsw_soname ${CPACK_PACKAGE_VERSION_MAJOR}.${CPACK_PACKAGE_VERSION_MINOR})
list(REMOVE_ITEM CPACK_COMPONENTS_ALL license) # Debian's file copyright holds it

# Without a summary of CPack's own, the first line of each description is the package's synopsis.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(gsw_about
    "gridsweep solves the sparse triangular systems of regular grids exactly\n\
and in parallel. Its preconditioners and Krylov methods are built on\n\
these solves.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libgridsweep${gsw_soname})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
    "sparse triangular solves on regular grids (shared library)\n${gsw_about}")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libgridsweep-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libgridsweep${gsw_soname} (= ${gsw_version})")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
    "sparse triangular solves on regular grids (development files)\n${gsw_about}\n\n\
This package holds the headers, the static library, and the files for\n\
pkg-config and CMake.")

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME gridsweep)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION math)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "libgridsweep${gsw_soname} (>= ${gsw_version})")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
    "sparse triangular solves on regular grids (program)\n${gsw_about}\n\n\
This package holds the program, which reads Matrix Market files, solves\n\
and measures.")

set(CPACK_DEBIAN_MPI_PACKAGE_NAME libgridsweep-mpi${gsw_soname})
set(CPACK_DEBIAN_MPI_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "libgridsweep${gsw_soname} (>= ${gsw_version})")
set(CPACK_DEBIAN_MPI_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers)
set(CPACK_COMPONENT_MPI_DESCRIPTION
    "sparse triangular solves on regular grids (transport over MPI)\n${gsw_about}\n\n\
This package holds the library through which several processes solve on\n\
one grid.")

set(CPACK_DEBIAN_MPI_DEVELOPMENT_PACKAGE_NAME libgridsweep-mpi-dev)
set(CPACK_DEBIAN_MPI_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_MPI_DEVELOPMENT_PACKAGE_DEPENDS
    "libgridsweep-mpi${gsw_soname} (= ${gsw_version}), libgridsweep-dev (= ${gsw_version}), \
mpi-default-dev")
set(CPACK_COMPONENT_MPI_DEVELOPMENT_DESCRIPTION
    "sparse triangular solves on regular grids (development files, MPI)\n${gsw_about}\n\n\
This package holds the header, the static library, and the files for\n\
pkg-config and CMake of the transport over MPI.")
if(CPACK_GSW_HAVE_MPI)
    string(APPEND CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS
        ", libgridsweep-mpi${gsw_soname} (>= ${gsw_version})")
endif()

set(CPACK_DEBIAN_PETSC_PACKAGE_NAME gridsweep-petsc)
set(CPACK_DEBIAN_PETSC_PACKAGE_SECTION math)
set(CPACK_DEBIAN_PETSC_PACKAGE_DEPENDS "libgridsweep${gsw_soname} (>= ${gsw_version})")
if(CPACK_GSW_HAVE_MPI)
    string(APPEND CPACK_DEBIAN_PETSC_PACKAGE_DEPENDS
        ", libgridsweep-mpi${gsw_soname} (>= ${gsw_version})")
endif()
set(CPACK_COMPONENT_PETSC_DESCRIPTION
    "sparse triangular solves on regular grids (plug-in for PETSc)\n${gsw_about}\n\n\
PETSc loads this plug-in at run time. Its option -dll_prepend names the\n\
file libgridsweep_petsc.so, with its folder.")

# The dependencies on other packages are found in the binaries. The library of the same build is not
# installed, so its package is named above.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS
    ${CPACK_GSW_LIBRARY_DIR} ${CPACK_GSW_LIBRARY_DIR}/mpi)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")

# What Debian's policy demands of files.
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/complete.cmake)
