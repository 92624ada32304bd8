// The translation unit of process groups. It is separate because c10d's headers are the slowest to
// compile.
#include "binding/distributed.cpp"
#include "engine/groups/backend_group.cpp"
#include "engine/groups/device_group.cpp"
#include "engine/groups/door_watch.cpp"
#include "engine/groups/gloo/calls.cpp"
#include "engine/groups/gloo/group.cpp"
#include "engine/groups/gloo/links.cpp"
#include "engine/groups/meeting.cpp"
#include "engine/groups/process_group.cpp"
#include "engine/groups/rank_names.cpp"
#include "engine/groups/sockets.cpp"
#include "engine/groups/staged_call.cpp"
#include "engine/groups/store.cpp"
#include "engine/groups/watch/bulletin.cpp"
#include "engine/groups/watch/call_log.cpp"
#include "engine/groups/watch/deadlock_search.cpp"
#include "engine/groups/watch/followed_calls.cpp"
#include "engine/groups/watch/long_waits.cpp"
#include "engine/groups/watch/rank_wait.cpp"
#include "engine/groups/watch/verdict.cpp"
#include "engine/groups/watch/watch.cpp"
#include "engine/groups/watch/watched_group.cpp"
#ifndef ACC_HAS_NCCL
#include "engine/groups/nccl/unsupported.cpp"
#endif
#ifdef __linux__
#include "engine/groups/hierarchical_group.cpp"
#include "engine/groups/mpi/group.cpp"
#include "engine/groups/shm/group.cpp"
#include "engine/groups/shm/rendezvous.cpp"
#else
#include "engine/groups/mpi/unsupported.cpp"
#include "engine/groups/shm/unsupported.cpp"
#endif
