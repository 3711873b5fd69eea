/* options.h: structs of the public interface that may grow.
 *
 * Each begins with a member `size`, which the caller sets to sizeof the struct that it was compiled
 * with. gridsweep.h states the rules. Members are added at the end only, and the end of the last
 * one is the end of the struct. GSW_ENDS_WITH() asserts this, because bytes of padding would have
 * no defined value in older programs. */
#ifndef GSW_OPTIONS_H
#define GSW_OPTIONS_H

#include <stddef.h>
#include <gridsweep/context.h>

#define GSW_ENDS_WITH(type, member)                                                                \
    _Static_assert(offsetof(type, size) == 0 &&                                                    \
                       offsetof(type, member) +                                                    \
                               sizeof(((type *)0)->member) /* NOLINT: of a pointer */              \
                           == sizeof(type),                                                        \
                   #type " must begin with size and end with " #member)

/* The possible sizes. A struct has at least one member after `size`, and no version of the library
 * has one of more than 64 KiB. The least size refuses sizeof a pointer. */
enum { GSW_STRUCT_LEAST = 16, GSW_STRUCT_MOST = 1 << 16 };

/* Copies the caller's options into *taken, a struct of `now` bytes, and sets its size to `now`.
 * Members that the caller's struct does not have are 0, as is everything where `given` is NULL.
 * `name` is the struct's name in messages. Errors: INVALID_ARGUMENT (an impossible size, or a
 * longer struct with a nonzero member that this library does not have). */
gsw_status gsw_options_take(gsw_context *context, const char *name, const void *given, size_t now,
                            void *taken);

/* Checks the size of a struct that the library will fill. NULL is accepted. */
gsw_status gsw_result_check(gsw_context *context, const char *name, const void *result);

/* Fills the caller's struct, which has passed gsw_result_check(), from one of `now` bytes. It
 * copies as many bytes as both have and writes zeros after them. The caller's size stays. NULL is
 * accepted. */
void gsw_result_give(void *result, const void *made, size_t now);

#endif
