// The other translation unit: c10d's headers are the slowest of all.
#include "binding/distributed.cpp"
#include "engine/process_group.cpp"
#include "engine/store.cpp"
