#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "engine/groups/rank_names.h"
#include "engine/groups/shm/segment.h"
#include "engine/groups/shm/shared_writer.h"

namespace acc::shm {

// The ranks of one host, as seen by one of them. A rank publishes steps and waits for the steps of
// the others.
//
// A step is: write buffer(), publish(), wait_for_all(), read buffer_of(peer). Each rank has two
// buffers and uses them in turn. When a rank writes for step s, it has seen that all others
// published step s-1. They did so after they had read what it wrote for step s-2. So no rank
// overwrites bytes that another rank still reads, and a step costs one exchange of flags.
//
// One thread at a time makes steps. Any thread may call wait_until().
class Ranks {
 public:
  using Milliseconds = std::chrono::milliseconds;

  // Peers must have written their process ids to the segment. Throws ACC_ENGINE_UNAVAILABLE.
  Ranks(Segment segment, int rank, int size, Milliseconds timeout, RankNames names);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  // Whether a core is idle when every rank of this process's largest group computes with `threads`
  // threads.
  static bool has_spare_core(int threads);
  const Segment& segment() const { return segment_; }
  // Call it once no peer needs to open or check the descriptor any more.
  void close_fd() { segment_.close_fd(); }

  // This rank's buffer for the next step. It has Segment::kStepBytes bytes.
  uint8_t* buffer() const { return segment_.buffer(rank_, step_ + 1); }
  // Writes to buffer().
  SharedWriter& writer() { return writer_; }
  void publish();
  void wait_for_all();
  // Whether any peer sleeps while it waits for others.
  bool has_sleeping_peer() const;
  // The bytes that `peer` wrote for the step that wait_for_all() waited for.
  const uint8_t* buffer_of(int peer) const { return segment_.buffer(peer, step_); }

  // Describes this rank's call; the next publish() shows the description to the peers. `words` has
  // kCallWords numbers. Throws if the group is broken.
  void begin_call(const int32_t* words);
  // Call it after the first step of the call. Returns whether all ranks make the same call. If not,
  // `words` gets kCallWords of each rank.
  bool is_same_call(std::vector<int32_t>& words);

  // Blocks until `is_ready` returns true. `late` returns the ranks that the caller waits for.
  // Throws ACC_COLLECTIVE_TIMEOUT, ACC_PEER_LOST.
  void wait_until(const std::function<bool()>& is_ready, const std::function<std::vector<int>()>& late);
  // Throws if the group is broken. Also throws if a rank in `late` has died, has left, or has been
  // waited for since `started` for longer than the time-out. Returns if `is_ready` is true all the
  // same: what was waited for may have come before that. A thread that waits calls it every
  // kLookAround.
  void check(const std::function<bool()>& is_ready, const std::vector<int>& late,
             std::chrono::steady_clock::time_point started);
  // The interval of check(). Live peers answer within microseconds, so the search for dead ones may
  // be slow.
  static constexpr Milliseconds kLookAround{50};
  // Wakes the threads of `peer` that sleep.
  void ring(int peer);
  // Makes the calling thread sleep at once instead of spinning. Another thread of the rank may need
  // the core.
  static void be_patient();
  // Called now and then by threads that wait.
  std::function<void()> on_idle;

  // This rank leaves the group. Its calls that are running or made later fail, and so do those of
  // peers that still wait for it.
  void leave();

 private:
  // A waiting thread spins this long before it sleeps. A thread that called be_patient() does not
  // spin.
  std::chrono::microseconds spin() const;
  bool has_arrived(int peer, uint32_t step) const;
  bool is_whole() const;
  void require_whole() const;
  uint64_t cause_among(const std::vector<int>& late) const;
  [[noreturn]] void fail(uint64_t broken) const;

  Segment segment_;
  SharedWriter writer_;
  const int rank_;
  const int size_;
  const Milliseconds timeout_;
  const RankNames names_;
  // Threads that wait sleep soon, also if each rank has a core.
  const bool is_passive_;
  // The number of cores on which at least one rank may run.
  int cores_ = 0;
  uint32_t step_ = 0;
  uint32_t call_ = 0;
  std::vector<int> processes_;  // pidfd of each rank; -1 for this rank
};

}  // namespace acc::shm
