/* isa.h: which kernels this processor can run, and the processor's name. */
#ifndef GSW_CPU_ISA_H
#define GSW_CPU_ISA_H

#include <stddef.h>
#include "kernels.h"

/* The best table that the processor (and the operating system) can run. Tests set the environment
 * variable GSW_ISA=base|v3|v4 to get a lesser one. */
const gsw_cpu_kernels *gsw_cpu_best_kernels(void);

/* Writes the processor's name as the system reports it, or "CPU" where it reports none. */
void gsw_cpu_model(char *name, size_t size);

#endif
