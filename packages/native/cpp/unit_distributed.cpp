// The translation unit of process groups. It is separate because c10d's headers are the slowest to
// compile.
#include "binding/distributed.cpp"
#include "engine/backend_group.cpp"
#include "engine/door_watch.cpp"
#include "engine/gloo_calls.cpp"
#include "engine/gloo_group.cpp"
#include "engine/gloo_links.cpp"
#include "engine/meeting.cpp"
#include "engine/process_group.cpp"
#include "engine/rank_names.cpp"
#include "engine/sockets.cpp"
#include "engine/store.cpp"
#include "engine/watch/bulletin.cpp"
#include "engine/watch/call_log.cpp"
#include "engine/watch/deadlock_search.cpp"
#include "engine/watch/rank_wait.cpp"
#include "engine/watch/verdict.cpp"
#include "engine/watch/watch.cpp"
#include "engine/watched_group.cpp"
#ifndef ACC_HAS_NCCL
#include "engine/nccl_unsupported.cpp"
#endif
#ifdef __linux__
#include "engine/hierarchical_group.cpp"
#include "engine/mpi_group.cpp"
#include "engine/shm/rendezvous.cpp"
#include "engine/shm/shm_group.cpp"
#else
#include "engine/mpi_unsupported.cpp"
#include "engine/shm/unsupported.cpp"
#endif
