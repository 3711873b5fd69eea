# Decides whether the CUDA parts are built: sets GSW_HAVE_CUDA and enables the language.
#
# The default is machine code for compute capability 9.0 and its PTX, which newer devices compile
# when they load it; CMAKE_CUDA_ARCHITECTURES overrides it. CUDA 11.8 is the first that knows 9.0.
set(GSW_HAVE_CUDA OFF)
set(gsw_cuda_oldest 11.8)

if(NOT GSW_CUDA STREQUAL "OFF")
    # The toolkit's own installer puts the compiler here but not on the PATH.
    find_program(gsw_nvcc nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
    mark_as_advanced(gsw_nvcc)
    if(gsw_nvcc AND NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
        set(ENV{CUDACXX} ${gsw_nvcc})
    endif()
    include(CheckLanguage)
    check_language(CUDA)
    set(gsw_cuda_problem "")
    if(NOT CMAKE_CUDA_COMPILER)
        set(gsw_cuda_problem "no working CUDA compiler was found")
    else()
        if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
            set(CMAKE_CUDA_ARCHITECTURES 90 CACHE STRING "Devices to compile for")
        endif()
        find_package(CUDAToolkit QUIET)
        if(NOT CUDAToolkit_FOUND OR CUDAToolkit_VERSION VERSION_LESS gsw_cuda_oldest)
            set(gsw_cuda_problem "the CUDA toolkit is older than ${gsw_cuda_oldest}")
        endif()
    endif()

    if(NOT gsw_cuda_problem)
        enable_language(CUDA)
        set(GSW_HAVE_CUDA ON)
    elseif(GSW_CUDA STREQUAL "ON")
        message(FATAL_ERROR
            "GSW_CUDA is ON, but ${gsw_cuda_problem}. Install CUDA ${gsw_cuda_oldest} or newer and "
            "name its compiler with -DCMAKE_CUDA_COMPILER=/path/to/nvcc, or configure with "
            "-DGSW_CUDA=OFF. See also CMakeFiles/CMakeError.log in the build folder.")
    else()
        message(STATUS "CUDA parts are left out: ${gsw_cuda_problem}")
    endif()
endif()
