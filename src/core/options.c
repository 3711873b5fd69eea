/* options.c: see options.h. */
#include <string.h>

#include "contract/error.h"
#include "options.h"

static size_t size_of(const void *any) {
    size_t size;
    memcpy(&size, any, sizeof size);
    return size;
}

/* A member never crosses a multiple of 8 bytes, so such a size cuts none in two. */
static gsw_status check_size(gsw_context *context, const char *name, size_t size) {
    GSW_REQUIRE(context, size >= GSW_STRUCT_LEAST && size <= GSW_STRUCT_MOST && size % 8 == 0,
                "%s: size is %zu; set it to sizeof(%s) before the call", name, size, name);
    return GSW_SUCCESS;
}

gsw_status gsw_options_take(gsw_context *context, const char *name, const void *given, size_t now,
                            void *taken) {
    memset(taken, 0, now);
    if (given != NULL) {
        const size_t size = size_of(given);
        GSW_TRY(check_size(context, name, size));
        for (size_t i = now; i < size; i++)
            GSW_REQUIRE(context, ((const unsigned char *)given)[i] == 0,
                        "%s: its size is %zu, and byte %zu is set; this library knows the first "
                        "%zu bytes: the program uses a member of a newer version",
                        name, size, i, now);
        memcpy(taken, given, size < now ? size : now);
    }
    memcpy(taken, &now, sizeof now);
    return GSW_SUCCESS;
}

gsw_status gsw_result_check(gsw_context *context, const char *name, const void *result) {
    return result == NULL ? GSW_SUCCESS : check_size(context, name, size_of(result));
}

void gsw_result_give(void *result, const void *made, size_t now) {
    if (result == NULL)
        return;
    const size_t size = size_of(result), head = sizeof size;
    const size_t shared = size < now ? size : now;
    memcpy((char *)result + head, (const char *)made + head, shared - head);
    if (size > now)
        memset((char *)result + now, 0, size - now);
}
