/* status.c: names and texts of the statuses, from the one list in status.h. */
#include <gridsweep/status.h>

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
