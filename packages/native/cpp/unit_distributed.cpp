// The other translation unit: c10d's headers are the slowest of all.
#include "binding/distributed.cpp"
#include "engine/gloo_group.cpp"
#include "engine/process_group.cpp"
#include "engine/store.cpp"
#ifdef __linux__
#include "engine/shm/rendezvous.cpp"
#include "engine/shm/shm_group.cpp"
#else
#include "engine/shm/unsupported.cpp"
#endif
