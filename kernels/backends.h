/* backends.h: the backends of this build, one row for each. Nothing else in the library asks which
 * backend runs. */
#ifndef GSW_BACKENDS_H
#define GSW_BACKENDS_H

#include "contract/backend.h"

typedef struct gsw_backend_row {
    gsw_backend backend;
    const char *name, *title;                   /* "cpu", "CPU" */
    int by_name_alone;                          /* AUTO does not try it */
    const gsw_backend_ops *(*operations)(void); /* NULL: not built in */
    int (*device_count)(void);                  /* NULL: it has no devices to choose from */
    int (*device_name)(int device, char *name, size_t size); /* 0 where there is no such device */
} gsw_backend_row;

/* In the order in which GSW_BACKEND_AUTO tries them. The last one always opens. */
extern const gsw_backend_row gsw_backends[];
extern const int gsw_backend_count;

#endif
