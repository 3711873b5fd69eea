# Called by cpack when all components lie in their folders. It adds the documents that each Debian
# package must hold, compresses the manual page, and moves the plug-in for PETSc into a folder of its
# own, because the system's folder is for libraries that programs link.
find_program(GSW_GZIP gzip REQUIRED)

# Compresses a file without its name and time, so that the same build gives the same package.
function(gsw_compress file)
    execute_process(COMMAND ${GSW_GZIP} -9nf ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # of SOURCE_DATE_EPOCH, where that is set
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    string(TOUPPER ${component} name)
    set(package ${CPACK_DEBIAN_${name}_PACKAGE_NAME})
    set(root ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/share)
    set(documents ${root}/doc/${package})
    configure_file(${CMAKE_CURRENT_LIST_DIR}/copyright ${documents}/copyright COPYONLY)
    file(WRITE ${documents}/changelog.Debian
        "gridsweep (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
        "  * Built by CPack from gridsweep ${CPACK_PACKAGE_VERSION}.\n\n"
        " -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}\n")
    configure_file(${CMAKE_CURRENT_LIST_DIR}/../../../CHANGELOG.md ${documents}/changelog COPYONLY)
    gsw_compress(${documents}/changelog.Debian)
    gsw_compress(${documents}/changelog)
    file(GLOB pages ${root}/man/man*/*.[0-9])
    foreach(page IN LISTS pages)
        gsw_compress(${page})
    endforeach()
    file(GLOB_RECURSE plugin ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/libgridsweep_petsc.so)
    if(plugin)
        cmake_path(GET plugin PARENT_PATH folder)
        file(MAKE_DIRECTORY ${folder}/gridsweep)
        file(RENAME ${plugin} ${folder}/gridsweep/libgridsweep_petsc.so)
    endif()
endforeach()
