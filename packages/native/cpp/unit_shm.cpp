// The shared-memory engine without its process group. It is plain C++; of libtorch it uses only
// c10's float16 conversion.
#ifdef __linux__
#include "engine/groups/shm/call_queue.cpp"
#include "engine/groups/shm/collectives.cpp"
#include "engine/groups/shm/messages.cpp"
#include "engine/groups/shm/ranks.cpp"
#include "engine/groups/shm/reduce.cpp"
#include "engine/groups/shm/segment.cpp"
#include "engine/groups/shm/shared_writer.cpp"
#endif
