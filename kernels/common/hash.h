/* hash.h: a mark for bytes, to see whether two places have the same. It is no protection against
 * anybody who wants two texts to have one mark.
 *
 * FNV-1a of 64 bits: Fowler, Noll, Vo; draft-eastlake-fnv. */
#ifndef GSW_HASH_H
#define GSW_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The hash of no bytes. */
#define GSW_HASH_BEGIN UINT64_C(0xcbf29ce484222325)

/* The hash of all that `hash` is of, and `size` more bytes. */
static inline uint64_t gsw_hash(uint64_t hash, const void *bytes, size_t size) {
    const unsigned char *at = (const unsigned char *)bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
