/* gridsweep/export.h: which symbols the shared library shows.
 *
 * The library is built with hidden visibility; only declarations marked GSW_API are exported. */
#ifndef GRIDSWEEP_EXPORT_H
#define GRIDSWEEP_EXPORT_H

#if defined(__GNUC__) || defined(__clang__)
#define GSW_API __attribute__((visibility("default")))
#else
#define GSW_API
#endif

#endif
