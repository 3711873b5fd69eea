/* detect.h: detection, and what it passed over. */
#ifndef GSW_DETECT_H
#define GSW_DETECT_H

#include <gridsweep/matrix.h>

/* gsw_detect(). *zeros is 1 where stored zeros were passed over, which may be outside the stencil;
 * where it is 0, the matrix validates. */
gsw_status gsw_detect_zeros(gsw_context *context, const gsw_csr *csr, const gsw_grid *extents,
                            gsw_grid *grid, gsw_stencil *stencil, int *zeros);

#endif
