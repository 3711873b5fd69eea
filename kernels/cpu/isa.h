/* isa.h: which kernels this processor can run, and what it is called. */
#ifndef GSW_CPU_ISA_H
#define GSW_CPU_ISA_H

#include <stddef.h>
#include "cpu/kernels.h"

/* The best table that the processor (and the operating system) can run. The environment variable
 * GSW_ISA=base|v3|v4 asks for a lesser one, for tests. */
const gsw_cpu_kernels *gsw_cpu_best_kernels(void);

/* The processor's name as the system gives it, or the architecture. */
void gsw_cpu_model(char *name, size_t size);

#endif
