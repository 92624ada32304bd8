#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "engine/rank_names.h"
#include "engine/shm/segment.h"
#include "engine/shm/shared_writer.h"

namespace acc::shm {

// The ranks of a host as one of them sees them: it publishes steps and waits for those of the others.
//
// A step is: write buffer(), publish(), wait_for_all(), read buffer_of(peer). Buffers are used in turn, two a rank. A rank
// that writes for step s has seen all others publish s-1, and they did so after they had read what it wrote for s-2; so
// nobody ever writes what another still reads, and a step costs one exchange of flags.
//
// One thread at a time makes steps; any thread may wait.
class Ranks {
 public:
  using Milliseconds = std::chrono::milliseconds;

  // Peers must have written their process numbers. Throws ACC_ENGINE_UNAVAILABLE.
  Ranks(Segment segment, int rank, int size, Milliseconds timeout, RankNames names);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  // Whether some core is left when every rank computes with so many threads.
  bool has_spare_core(int threads) const { return cores_ > size_ * threads; }
  const Segment& segment() const { return segment_; }
  // To be called when no peer looks for it any more.
  void close_fd() { segment_.close_fd(); }

  // This rank's buffer for the coming step, of Segment::kStepBytes.
  uint8_t* buffer() const { return segment_.buffer(rank_, step_ + 1); }
  // Writes it.
  SharedWriter& writer() { return writer_; }
  void publish();
  void wait_for_all();
  // Whether any rank sleeps until others come.
  bool has_sleeping_peer() const;
  // What `peer` wrote for the step that was waited for.
  const uint8_t* buffer_of(int peer) const { return segment_.buffer(peer, step_); }

  // Shows what this rank calls, with the coming step. Throws what has broken the group, if something has.
  void begin_call(const int32_t* words);
  // To be called after that step: whether all ranks call the same. Otherwise `words` gets kCallWords of each rank.
  bool is_same_call(std::vector<int32_t>& words);

  // Blocks until `is_ready`; `late` gives the ranks that one waits for. Throws ACC_COLLECTIVE_TIMEOUT, ACC_PEER_LOST.
  void wait_until(const std::function<bool()>& is_ready, const std::function<std::vector<int>()>& late);
  // Throws what has broken the group, or that a rank in `late` will not come: it has died, left, or was waited for since `started`
  // for longer than the time-out. Whoever waits calls it every kLookAround.
  void check(const std::vector<int>& late, std::chrono::steady_clock::time_point started);
  // Peers that are alive answer within microseconds; looking for the dead can wait.
  static constexpr Milliseconds kLookAround{50};
  // Wakes `peer` if it sleeps.
  void ring(int peer);
  // This thread never spins: another one of the rank may need the core.
  static void be_patient();
  // Called now and then by whoever waits.
  std::function<void()> on_idle;

  // Calls under way and later ones fail, here and at the peers that still wait for this rank.
  void leave();

 private:
  bool has_arrived(int peer, uint32_t step) const;
  void require_whole() const;
  [[noreturn]] void fail(uint64_t broken) const;

  Segment segment_;
  SharedWriter writer_;
  const int rank_;
  const int size_;
  const Milliseconds timeout_;
  const RankNames names_;
  // That the ranks may run on, all together.
  int cores_ = 0;
  // How long this rank's main thread spins before it sleeps.
  std::chrono::microseconds spin_{0};
  uint32_t step_ = 0;
  uint32_t call_ = 0;
  std::vector<int> processes_;  // pidfds by rank, -1 for this one
};

}  // namespace acc::shm
