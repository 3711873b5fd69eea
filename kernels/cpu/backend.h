/* backend.h: the CPU's table of operations. */
#ifndef GSW_CPU_BACKEND_H
#define GSW_CPU_BACKEND_H

#include "contract/backend.h"

const gsw_backend_ops *gsw_backend_cpu(void);

#endif
