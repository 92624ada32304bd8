#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace acc {

struct Block;
struct LockedAllocator;

// Where the replays of one recording put their large blocks. Every replay makes the same
// allocations in the same order. One replay is traced. packages/kernels/src/memory-plan then plans
// places in one arena for the blocks that live only in a replay.
class ReplayMemory {
 public:
  struct Lifetime {
    size_t bytes;  // with its header
    // The number of large allocations before its release. 0: it outlives the replay.
    size_t end;
  };

  ReplayMemory() = default;
  ReplayMemory(const ReplayMemory&) = delete;
  ReplayMemory& operator=(const ReplayMemory&) = delete;
  ~ReplayMemory();

  // The large allocations of the traced replay, in their order. Empty before one was traced.
  std::vector<Lifetime> trace() const;
  // Lets replays put allocation i at `places[i]` of an arena of `bytes`; -1: not into the arena.
  // Throws ACC_INVALID_ARGUMENT if that does not fit the trace.
  void plan(std::vector<int64_t> places, size_t bytes);
  bool is_planned() const;

  // Traces or plans the allocations of this thread in one segment of a replay.
  class Use {
   public:
    Use(ReplayMemory& memory, bool is_first, bool is_last);
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use();

   private:
    ReplayMemory& memory_;
    ReplayMemory* outer_;
    bool is_last_;
  };
  // Ends a replay that will not reach its last segment.
  void abandon();

  // What follows is for the allocator, which calls it under its lock.

  // The replay memory of this thread. Null outside of replays.
  static ReplayMemory*& of_thread();
  // The place in the arena for the next large allocation. -1: it has none. Bytes include the header.
  int64_t next_place(size_t bytes);
  // Notes an allocation and, for the block of a traced one, its release.
  void note_allocation(Block& block, size_t bytes);
  static void note_release(const Block& block);

 private:
  enum class State : uint8_t { kUntraced, kTracing, kTraced, kPlanned, kOff };

  void begin();
  void end();
  void leave(State next, LockedAllocator& allocator);

  State state_ = State::kUntraced;
  uint64_t trace_number_ = 0;
  std::vector<Lifetime> lifetimes_;
  std::vector<int64_t> places_;
  size_t arena_bytes_ = 0;
  size_t next_ = 0;
  bool has_arena_ = false;  // in this replay
  bool is_other_ = false;   // this replay made other allocations than the traced one
  int others_ = 0;          // the number of such replays one after the other
};

}  // namespace acc
