// Read before every source of the addon on Linux. One binary then runs on every system that libtorch's own binaries run
// on: glibc 2.28 and the libstdc++ of GCC 8. A newer compiler would bind these functions to newer versions, although the
// older ones do all that the addon asks of them. `native-packages` checks the versions that a built addon asks for.
#pragma once

#if defined(__linux__) && defined(__cplusplus)
#include <cstddef>  // Brings the macros of libstdc++ and glibc.

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))
#if defined(__x86_64__)
#define ACC_GLIBC_BASE "GLIBC_2.2.5"
#else
#define ACC_GLIBC_BASE "GLIBC_2.17"
#endif
// Part of libdl before glibc 2.34; Node and libtorch have that loaded.
__asm__(".symver dlopen, dlopen@" ACC_GLIBC_BASE);
__asm__(".symver dlsym, dlsym@" ACC_GLIBC_BASE);
__asm__(".symver dlerror, dlerror@" ACC_GLIBC_BASE);

#ifdef __GLIBCXX__
// GCC 12 has a second version of it, which tolerates exceptions that a cancelled thread throws.
__asm__(".symver _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE, "
        "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");
// glibc 2.30: without it, waits with a deadline go through `pthread_cond_timedwait`, and compare the steady clock after.
#undef _GLIBCXX_USE_PTHREAD_COND_CLOCKWAIT
#undef _GLIBCXX_USE_PTHREAD_MUTEX_CLOCKLOCK
#undef _GLIBCXX_USE_PTHREAD_RWLOCK_CLOCKLOCK
#endif

// glibc 2.32: true while a process has one thread, so that `shared_ptr` can count without atomics. Node has many.
extern "C" __attribute__((visibility("hidden"))) char __libc_single_threaded;
#endif
#endif
