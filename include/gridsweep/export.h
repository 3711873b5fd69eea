/* gridsweep/export.h: marks the functions that the shared library exports.
 *
 * Programs do not need this header. The library is built with hidden visibility, so it exports only
 * the declarations that are marked GSW_API. */
#ifndef GRIDSWEEP_EXPORT_H
#define GRIDSWEEP_EXPORT_H

#if defined(__GNUC__) || defined(__clang__)
#define GSW_API __attribute__((visibility("default")))
#else
#define GSW_API
#endif

#endif
