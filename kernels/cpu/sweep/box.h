/* box.h: kernels on a box and its ghosts (contract/box_ops.h). */
#ifndef GSW_CPU_BOX_H
#define GSW_CPU_BOX_H

#include "contract/box_ops.h"

typedef struct gsw_cpu_box {
    void (*sweep)(int threads, const gsw_box_sweep *sweep, const gsw_box_lines *lines);
    void (*eliminate)(int threads, gsw_box_eliminate *job, const gsw_box_lines *lines);
    void (*couple)(int threads, const gsw_box_couple *job);
    void (*lead)(const gsw_box_sweep *sweep, const gsw_box_lines *lines, int64_t first, int64_t end,
                 double *out);
    void (*lead_rows)(int threads, const gsw_box_edges *job, const gsw_box_lines *lines);
    void (*trail_rows)(const gsw_box_edges *job, const gsw_box_lines *lines);
} gsw_cpu_box;

extern const gsw_box_ops gsw_cpu_box_ops;

#endif
