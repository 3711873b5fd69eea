/* options.h: structs of the public interface that grow.
 *
 * Each begins with a member `size`, which the caller sets to sizeof the struct that it was compiled
 * with. gridsweep.h says what that promises. Members are added at the end only, and the end of the
 * last one is the end of the struct: GSW_ENDS_WITH() asserts it, because bytes of padding would
 * have no defined value in older programs. */
#ifndef GSW_OPTIONS_H
#define GSW_OPTIONS_H

#include <stddef.h>
#include <gridsweep/context.h>

#define GSW_ENDS_WITH(type, member)                                                                \
    _Static_assert(offsetof(type, size) == 0 &&                                                    \
                       offsetof(type, member) + sizeof(((type *)0)->member) == sizeof(type),       \
                   #type " must begin with size and end with " #member)

/* The sizes that can be meant: a struct has at least one member behind `size` and no library knows
 * one of more than 64 KiB. The least one refuses sizeof a pointer. */
enum { GSW_STRUCT_LEAST = 16, GSW_STRUCT_MOST = 1 << 16 };

/* Copies the caller's options into *taken, a struct of `now` bytes, and sets its size to `now`.
 * Members that the caller's struct does not have are 0, as is everything where `given` is NULL.
 * `name` is the struct's in messages. Errors: INVALID_ARGUMENT (a size that cannot be; a longer
 * struct with a member set that this library does not know). */
gsw_status gsw_options_take(gsw_context *context, const char *name, const void *given, size_t now,
                            void *taken);

/* Refuses the size of a struct that the library is to fill; NULL is accepted. */
gsw_status gsw_result_check(gsw_context *context, const char *name, const void *result);

/* Fills the caller's struct, which has passed gsw_result_check(), from one of `now` bytes: as many
 * bytes as both have, zeros behind them. The caller's size stays. NULL is accepted. */
void gsw_result_give(void *result, const void *made, size_t now);

#endif
