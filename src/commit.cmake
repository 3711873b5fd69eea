# Sets GSW_COMMIT to the commit that is checked out; outside a checkout to what the environment says
# in a variable of that name, or to "unknown". The log of HEAD grows with every commit; depending on it makes the next build configure again.
set(GSW_COMMIT unknown)
if(DEFINED ENV{GSW_COMMIT})
    set(GSW_COMMIT $ENV{GSW_COMMIT})
endif()
if(EXISTS ${PROJECT_SOURCE_DIR}/.git)
    find_package(Git QUIET)
endif()
if(Git_FOUND)
    execute_process(
        COMMAND ${GIT_EXECUTABLE} rev-parse --verify --short=12 HEAD
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
        OUTPUT_VARIABLE gsw_commit OUTPUT_STRIP_TRAILING_WHITESPACE
        RESULT_VARIABLE gsw_result ERROR_QUIET)
    if(gsw_result EQUAL 0)
        set(GSW_COMMIT ${gsw_commit})
    endif()
    execute_process(
        COMMAND ${GIT_EXECUTABLE} rev-parse --git-path logs/HEAD
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
        OUTPUT_VARIABLE gsw_head_log OUTPUT_STRIP_TRAILING_WHITESPACE
        RESULT_VARIABLE gsw_result ERROR_QUIET)
    cmake_path(ABSOLUTE_PATH gsw_head_log BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    if(gsw_result EQUAL 0 AND EXISTS ${gsw_head_log})
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${gsw_head_log})
    endif()
endif()
