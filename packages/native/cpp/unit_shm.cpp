// The shared-memory engine without its process group. It is plain C++; of libtorch it uses only
// c10's float16 conversion.
#ifdef __linux__
#include "engine/shm/call_queue.cpp"
#include "engine/shm/collectives.cpp"
#include "engine/shm/messages.cpp"
#include "engine/shm/ranks.cpp"
#include "engine/shm/reduce.cpp"
#include "engine/shm/segment.cpp"
#include "engine/shm/shared_writer.cpp"
#endif
