// Included before every source of the addon on Linux. With it, one binary runs on every system that
// libtorch's own binaries support: glibc 2.28 and the libstdc++ of GCC 8. A newer compiler would
// bind these functions to newer symbol versions, although the older versions do all that the addon
// needs. `native-packages` checks the versions that a built addon requires.
#pragma once

#if defined(__linux__) && defined(__cplusplus)
#include <cstddef>  // Defines the macros of libstdc++ and glibc.

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))
#if defined(__x86_64__)
#define ACC_GLIBC_BASE "GLIBC_2.2.5"
#else
#define ACC_GLIBC_BASE "GLIBC_2.17"
#endif
// These functions are in libdl before glibc 2.34. Node and libtorch have already loaded it.
__asm__(".symver dlopen, dlopen@" ACC_GLIBC_BASE);
__asm__(".symver dlsym, dlsym@" ACC_GLIBC_BASE);
__asm__(".symver dlerror, dlerror@" ACC_GLIBC_BASE);
__asm__(".symver dladdr, dladdr@" ACC_GLIBC_BASE);

#ifdef __GLIBCXX__
// GCC 12 added a second version, which tolerates the exception of a cancelled thread.
__asm__(".symver _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE, "
        "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");
// pthread_cond_clockwait and the clocklock functions require glibc 2.30. Without them, waits with a
// deadline use `pthread_cond_timedwait` and then compare with the steady clock.
#undef _GLIBCXX_USE_PTHREAD_COND_CLOCKWAIT
#undef _GLIBCXX_USE_PTHREAD_MUTEX_CLOCKLOCK
#undef _GLIBCXX_USE_PTHREAD_RWLOCK_CLOCKLOCK
#endif

// Added in glibc 2.32: true while the process has one thread, so that `shared_ptr` can count
// without atomics. Node has many threads, so ours is always false.
extern "C" __attribute__((visibility("hidden"))) char __libc_single_threaded;
#endif
#endif
