/* specialized.h: functions that get code of their own for each set of constant arguments. With a
 * sanitizer there is one code for all: the copies take minutes to compile. */
#ifndef GSW_CPU_SPECIALIZED_H
#define GSW_CPU_SPECIALIZED_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SPECIALIZED __attribute__((noinline))
#endif
#endif
#if !defined(SPECIALIZED) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))
#define SPECIALIZED __attribute__((noinline))
#endif
#ifndef SPECIALIZED
#define SPECIALIZED inline __attribute__((always_inline))
#endif

#endif
