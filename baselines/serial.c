/* serial.c: the textbook's substitution over CSR, row by row, on one core of the host.
 *
 * This is the simplest rival; all others reorder its arithmetic. It uses the user's arrays
 * directly, and needs no preparation and no memory of its own. */
#include <stdint.h>
#include <stdlib.h>

#include "rival_parts.h"

typedef struct serial {
    const gsw_csr *csr;
    gsw_part part;
} serial;

/* Defines a sweep for one type of value. The diagonal is a lower row's last entry, an upper row's
 * first. */
#define DEFINE_SWEEP(name, type)                                                                   \
    static void name(const serial *s, const type *restrict b, type *restrict x) {                  \
        const int32_t *restrict row_ptr = s->csr->row_ptr;                                         \
        const int32_t *restrict columns = s->csr->columns;                                         \
        const type *restrict values = s->csr->values;                                              \
        const int64_t rows = s->csr->rows;                                                         \
        if (s->part == GSW_LOWER)                                                                  \
            for (int64_t i = 0; i < rows; i++) {                                                   \
                const int32_t diagonal = row_ptr[i + 1] - 1;                                       \
                type sum = b[i];                                                                   \
                for (int32_t k = row_ptr[i]; k < diagonal; k++)                                    \
                    sum -= values[k] * x[columns[k]];                                              \
                x[i] = sum / values[diagonal];                                                     \
            }                                                                                      \
        else                                                                                       \
            for (int64_t i = rows - 1; i >= 0; i--) {                                              \
                const int32_t diagonal = row_ptr[i];                                               \
                type sum = b[i];                                                                   \
                for (int32_t k = row_ptr[i + 1] - 1; k > diagonal; k--)                            \
                    sum -= values[k] * x[columns[k]];                                              \
                x[i] = sum / values[diagonal];                                                     \
            }                                                                                      \
    }

DEFINE_SWEEP(sweep_f64, double)
DEFINE_SWEEP(sweep_f32, float)

int gsw_serial_open(const gsw_rival_system *system, void **state, gsw_rival_cost *cost,
                    char *message, size_t size) {
    *state = NULL;
    *cost = (gsw_rival_cost){0};
    if (gsw_rival_check(system, 0, message, size) != 0)
        return -1;
    serial *s = malloc(sizeof *s);
    if (s == NULL)
        return gsw_rival_fail(message, size, "out of memory");
    *s = (serial){.csr = system->host, .part = system->part};
    *state = s;
    return 0;
}

int gsw_serial_solve(void *state, const void *b, void *x, char *message, size_t size) {
    const serial *s = state;
    (void)message, (void)size;
    if (s->csr->value_type == GSW_F64)
        sweep_f64(s, b, x);
    else
        sweep_f32(s, b, x);
    return 0;
}

void gsw_serial_close(void *state) {
    free(state);
}
