/* backend.h: the reference backend's table of operations. */
#ifndef GSW_REFERENCE_BACKEND_H
#define GSW_REFERENCE_BACKEND_H

#include "contract/backend.h"

const gsw_backend_ops *gsw_backend_reference(void);

#endif
