#if defined(__linux__)
#include "portable/glibc_2_28.h"

#ifdef ACC_GLIBC_BASE
char __libc_single_threaded = 0;
#endif
#endif
