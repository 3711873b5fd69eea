/* types.c: sizes and names of the public enumerations. */
#include <stddef.h>
#include <stdint.h>
#include <gridsweep/factor.h>
#include <gridsweep/matrix.h>
#include <gridsweep/sptrsv.h>
#include <gridsweep/status.h>
#include "common/elements.h"

size_t gsw_dtype_size(gsw_dtype type) {
    switch (type) {
#define GSW_SIZE(dtype, ctype, name)                                                               \
    case dtype:                                                                                    \
        return sizeof(ctype);
        GSW_ELEMENTS(GSW_SIZE)
#undef GSW_SIZE
    }
    return sizeof(double);
}

size_t gsw_itype_size(gsw_itype type) {
    return type == GSW_I32 ? sizeof(int32_t) : sizeof(int64_t);
}

const char *gsw_algorithm_name(gsw_algorithm algorithm) {
    switch (algorithm) {
    case GSW_ALGORITHM_AUTO:
        return "auto";
    case GSW_ALGORITHM_REFERENCE:
        return "reference";
    case GSW_ALGORITHM_LINE:
        return "line";
    case GSW_ALGORITHM_PENCIL:
        return "pencil";
    }
    return "unknown";
}

const char *gsw_factor_kind_name(gsw_factor_kind kind) {
    static const char *const names[] = {"ilu0",   "ic0",   "dilu",  "ssor",
                                        "jacobi", "lower", "upper", "lu"};
    return (unsigned)kind < sizeof names / sizeof names[0] ? names[kind] : "unknown";
}

/* ---- statuses: names and texts from the one list in status.h ---- */

const char *gsw_status_name(gsw_status status) {
    switch (status) {
#define GSW_STATUS_NAME(name, value, text)                                                         \
    case name:                                                                                     \
        return #name;
        GSW_STATUS_LIST(GSW_STATUS_NAME)
#undef GSW_STATUS_NAME
    }
    return "GSW_UNKNOWN_STATUS";
}

const char *gsw_status_text(gsw_status status) {
    switch (status) {
#define GSW_STATUS_TEXT(name, value, text)                                                         \
    case name:                                                                                     \
        return text;
        GSW_STATUS_LIST(GSW_STATUS_TEXT)
#undef GSW_STATUS_TEXT
    }
    return "the status is not one of the library's";
}
