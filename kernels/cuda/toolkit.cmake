# Decides whether the CUDA parts are built: sets GSW_HAVE_CUDA and enables the language.
#
# The default is machine code for the devices of this machine. If there is none, it is code for
# compute capability 9.0 and for the oldest one: 7.5, or 7.0 with CUDA 12 and older. Each comes with
# PTX, which newer devices compile when they load it. CMAKE_CUDA_ARCHITECTURES overrides this
# default. CUDA 11.8 is the first version that supports 9.0.
set(GSW_HAVE_CUDA OFF)
set(gsw_cuda_oldest 11.8)

# For tests of the kernels for older devices on a newer one: the compute capability that the code is
# compiled as, such as 75, whatever device it is for.
set(GSW_CUDA_AS "" CACHE STRING "For tests: compile CUDA code as for this compute capability")
mark_as_advanced(GSW_CUDA_AS)

# Sets `out` to the compute capabilities of this machine's devices, 90 for 9.0, from `oldest` on.
function(gsw_find_devices oldest out)
    find_program(gsw_nvidia_smi nvidia-smi)
    mark_as_advanced(gsw_nvidia_smi)
    set(found "")
    if(gsw_nvidia_smi)
        execute_process(
            COMMAND ${gsw_nvidia_smi} --query-gpu=compute_cap --format=csv,noheader
            OUTPUT_VARIABLE listed RESULT_VARIABLE failed ERROR_QUIET TIMEOUT 20)
        string(REGEX MATCHALL "[0-9]+\\.[0-9]+" found "${listed}")
        string(REPLACE "." "" found "${found}")
        list(REMOVE_DUPLICATES found)
        foreach(device IN LISTS found)
            if(device LESS oldest)
                list(REMOVE_ITEM found ${device})
            endif()
        endforeach()
        list(SORT found COMPARE NATURAL)
    endif()
    set(${out} "${found}" PARENT_SCOPE)
endfunction()

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
        find_package(CUDAToolkit QUIET)
        if(NOT CUDAToolkit_FOUND OR CUDAToolkit_VERSION VERSION_LESS gsw_cuda_oldest)
            set(gsw_cuda_problem "the CUDA toolkit is older than ${gsw_cuda_oldest}")
        endif()
        if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
            set(gsw_oldest_device 75)
            if(CUDAToolkit_VERSION VERSION_LESS 13)
                set(gsw_oldest_device 70)
            endif()
            gsw_find_devices(${gsw_oldest_device} gsw_devices)
            if(NOT gsw_devices)
                set(gsw_devices ${gsw_oldest_device} 90)
            endif()
            set(CMAKE_CUDA_ARCHITECTURES "${gsw_devices}" CACHE STRING "Devices to compile for")
        endif()
    endif()

    if(NOT gsw_cuda_problem)
        enable_language(CUDA)
        set(GSW_HAVE_CUDA ON)
        if(GSW_CUDA_AS)
            foreach(device IN LISTS CMAKE_CUDA_ARCHITECTURES)
                string(APPEND CMAKE_CUDA_FLAGS
                    " -gencode arch=compute_${GSW_CUDA_AS},code=sm_${device}")
            endforeach()
            set(CMAKE_CUDA_ARCHITECTURES OFF)
            if(GSW_CUDA_AS EQUAL 75) # and with their shared memory of a block
                add_compile_definitions(GSW_CUDA_SHARED_KIB=64)
            endif()
        endif()
    elseif(GSW_CUDA STREQUAL "ON")
        message(FATAL_ERROR
            "GSW_CUDA is ON, but ${gsw_cuda_problem}. Install CUDA ${gsw_cuda_oldest} or newer and "
            "name its compiler with -DCMAKE_CUDA_COMPILER=/path/to/nvcc, or configure with "
            "-DGSW_CUDA=OFF. See also CMakeFiles/CMakeError.log in the build folder.")
    else()
        message(STATUS "CUDA parts are left out: ${gsw_cuda_problem}")
    endif()
endif()
