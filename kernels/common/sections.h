/* sections.h: sections of a sweep. They are swept at once and independently: a sweep takes the
 * couplings from one to another as zeros, and what it leaves of the matrix (gauss_seidel_ops.h)
 * holds them. The path of dependent steps then is that of a section, not of the grid. */
#ifndef GSW_SECTIONS_H
#define GSW_SECTIONS_H

#include <stdint.h>

#include "common/host_device.h"

/* Sections are `planes` values of z by `lines` values of y + shear z; 0: they are not cut along
 * that axis. No coupling reaches beyond the next line or plane. The first ones begin at 0. */
typedef struct gsw_sections {
    int64_t planes, lines;
    int32_t shear; /* 0 or 1 */
} gsw_sections;

GSW_HD gsw_sections gsw_uncut(void) {
    const gsw_sections all = {0, 0, 0};
    return all;
}

GSW_HD int gsw_are_cut(const gsw_sections *s) {
    return s->planes > 0 || s->lines > 0;
}

#endif
