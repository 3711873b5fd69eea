/* isa.c: see isa.h. */
#include "isa.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const gsw_cpu_kernels *gsw_cpu_best_kernels(void) {
#if defined(__x86_64__) && defined(GSW_HAVE_ISA_LEVELS)
    const char *asked = getenv("GSW_ISA");
    const int level = !asked || strcmp(asked, "v4") == 0 ? 4 : strcmp(asked, "v3") == 0 ? 3 : 1;
    __builtin_cpu_init();
    const int v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                   __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const int v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512vl");
    if (v4 && level >= 4)
        return &gsw_cpu_kernels_v4;
    if (v3 && level >= 3)
        return &gsw_cpu_kernels_v3;
#endif
    return &gsw_cpu_kernels_base;
}

void gsw_cpu_model(char *name, size_t size) {
    snprintf(name, size, "%s", "CPU");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file)
        return;
    char line[256];
    while (fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon && colon[1] == ' ') {
            line[strcspn(line, "\n")] = '\0';
            snprintf(name, size, "%s", colon + 2);
            break;
        }
    }
    fclose(file);
}
