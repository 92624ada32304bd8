#include "engine/groups/shm/ranks.h"

#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <strings.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "engine/error.h"

namespace acc::shm {
namespace {

using Clock = std::chrono::steady_clock;

enum class Broken : uint64_t { kNot = 0, kDied = 1, kLeft = 2, kLate = 3 };

uint64_t broken_by(Broken how, int culprit) { return static_cast<uint64_t>(how) << 32 | static_cast<uint32_t>(culprit); }

// Longer than the time until a woken thread runs, also on a busy machine. With a shorter spin,
// ranks that slept once would put each other to sleep again and again.
constexpr std::chrono::microseconds kLongSpin(2000);
constexpr std::chrono::microseconds kShortSpin(1);

thread_local bool is_patient = false;

// How many ranks share how many cores.
struct Sharing {
  int ranks = 0;
  // On which at least one of the ranks may run.
  int cores = 0;
  bool operator<(const Sharing& other) const {
    return ranks != other.ranks ? ranks < other.ranks : cores > other.cores;
  }
};

// The groups of this process. The group of an axis of a mesh has few ranks, which share their cores
// with all ranks of the mesh, so the largest group counts.
class Groups {
 public:
  void add(const Sharing& group) {
    const std::lock_guard lock(mutex_);
    groups_.insert(group);
    largest_ = *groups_.rbegin();
  }
  void remove(const Sharing& group) {
    const std::lock_guard lock(mutex_);
    groups_.erase(groups_.find(group));
    largest_ = groups_.empty() ? Sharing{} : *groups_.rbegin();
  }
  Sharing largest() const { return largest_; }

 private:
  std::mutex mutex_;
  std::multiset<Sharing> groups_;
  std::atomic<Sharing> largest_{Sharing{}};
};

Groups& groups() {
  // Groups may end after the statics of this library.
  static Groups& all = *new Groups;
  return all;
}

// OpenMP's variable for threads that wait. Programs that share their cores with others set it.
bool is_wait_policy_passive() {
  const char* policy = std::getenv("OMP_WAIT_POLICY");
  return policy != nullptr && ::strcasecmp(policy, "passive") == 0;
}

void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void sleep_on(std::atomic<uint32_t>& word, uint32_t seen) {
  const timespec limit{0, std::chrono::nanoseconds(Ranks::kLookAround).count()};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

void wake(std::atomic<uint32_t>& word) { ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

uint64_t hash_of(const int32_t* words) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (int i = 0; i < kComparedWords; ++i) hash = (hash ^ static_cast<uint32_t>(words[i])) * 0x100000001b3;
  return hash;
}

}  // namespace

Ranks::Ranks(Segment segment, int rank, int size, Milliseconds timeout, RankNames names)
    : segment_(std::move(segment)),
      rank_(rank),
      size_(size),
      timeout_(timeout),
      names_(std::move(names)),
      is_passive_(is_wait_policy_passive()),
      processes_(size, -1) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int peer = 0; peer < size_; ++peer) {
    cpu_set_t cores;
    const pid_t pid = peer == rank_ ? 0 : segment_.control(peer).pid;
    if (::sched_getaffinity(pid, sizeof cores, &cores) == 0) CPU_OR(&all, &all, &cores);
  }
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    const auto& control = segment_.control(peer);
    processes_[peer] = static_cast<int>(::syscall(SYS_pidfd_open, control.pid, 0));
    if (processes_[peer] < 0 || !segment_.is_held_by(control.pid, control.fd)) {
      const auto what = names_.of(peer) + " (process " + std::to_string(control.pid) + ") ";
      for (const int fd : processes_) ::close(fd);
      throw Error(kEngineUnavailable, what + "is not visible to " + names_.of(rank_));
    }
  }
  cores_ = CPU_COUNT(&all);
  groups().add({size_, cores_});
}

Ranks::~Ranks() {
  leave();
  groups().remove({size_, cores_});
  for (const int fd : processes_) {
    if (fd >= 0) ::close(fd);
  }
}

bool Ranks::has_arrived(int peer, uint32_t step) const {
  return static_cast<int32_t>(segment_.control(peer).arrived.load(std::memory_order_acquire) - step) >= 0;
}

bool Ranks::has_spare_core(int threads) {
  const auto [ranks, cores] = groups().largest();
  return cores > ranks * threads;
}

// Spinning is fastest while every rank has a core. With fewer cores, the peer that this rank waits
// for needs this rank's core.
std::chrono::microseconds Ranks::spin() const {
  const auto [ranks, cores] = groups().largest();
  return !is_passive_ && cores >= ranks ? kLongSpin : kShortSpin;
}

void Ranks::publish() {
  ++step_;
  SharedWriter::finish();
  // Sequentially consistent, as in ring() and wait_until(): either the peer sees the step, or this
  // rank sees that the peer sleeps.
  segment_.control(rank_).arrived.store(step_, std::memory_order_seq_cst);
  for (int peer = 0; peer < size_; ++peer) {
    if (peer != rank_) ring(peer);
  }
}

void Ranks::wait_for_all() {
  const auto step = step_;
  int next = 0;
  const auto is_ready = [&] {
    while (next < size_ && (next == rank_ || has_arrived(next, step))) ++next;
    return next == size_;
  };
  if (is_ready()) return;
  wait_until(is_ready, [&] {
    std::vector<int> late;
    for (int peer = 0; peer < size_; ++peer) {
      if (peer != rank_ && !has_arrived(peer, step)) late.push_back(peer);
    }
    return late;
  });
}

bool Ranks::has_sleeping_peer() const {
  for (int peer = 0; peer < size_; ++peer) {
    if (peer != rank_ && segment_.control(peer).sleepers.load() > 0) return true;
  }
  return false;
}

void Ranks::ring(int peer) {
  auto& control = segment_.control(peer);
  if (control.sleepers.load(std::memory_order_seq_cst) == 0) return;
  control.doorbell.fetch_add(1, std::memory_order_seq_cst);
  wake(control.doorbell);
}

void Ranks::wait_until(const std::function<bool()>& is_ready, const std::function<std::vector<int>()>& late) {
  auto& own = segment_.control(rank_);
  const auto started = Clock::now();
  const auto longest = spin();
  while (!is_patient && Clock::now() - started < longest) {
    for (int i = 0; i < 20; ++i) {
      if (is_ready()) return;
      pause_briefly();
    }
  }
  auto looked = started;
  for (;;) {
    // Lets another rank run if ranks share cores.
    ::sched_yield();
    if (is_ready()) return;
    if (on_idle) on_idle();
    own.sleepers.fetch_add(1, std::memory_order_seq_cst);
    const auto seen = own.doorbell.load(std::memory_order_seq_cst);
    if (!is_ready()) sleep_on(own.doorbell, seen);
    own.sleepers.fetch_sub(1, std::memory_order_seq_cst);
    if (is_ready()) return;
    if (const auto now = Clock::now(); now - looked >= kLookAround) {
      looked = now;
      check(is_ready, late(), started);
    } else if (!is_whole() && !is_ready()) {
      require_whole();
    }
  }
}

// A rank that leaves or dies after it has published its step does not break this call. It may do
// both after `late` was made. So is_ready() looks again after a reason to give up was seen: the
// loads of has_left and `broken` acquire, and poll() reports an exit that the kernel has ordered
// after all writes of the process. What the rank published before is visible by then.
void Ranks::check(const std::function<bool()>& is_ready, const std::vector<int>& late, Clock::time_point started) {
  uint64_t cause = is_whole() ? cause_among(late) : 0;
  const bool is_late = Clock::now() - started >= timeout_;
  if (cause == 0 && !is_late && is_whole()) return;
  if (is_ready()) return;
  require_whole();
  if (cause == 0) cause = broken_by(Broken::kLate, late.empty() ? rank_ : late.front());
  auto& broken = segment_.header().broken;
  // The first rank that notices the failure tells the others.
  uint64_t expected = 0;
  broken.compare_exchange_strong(expected, cause);
  for (int peer = 0; peer < size_; ++peer) {
    if (peer != rank_) ring(peer);
  }
  if (is_late && expected == 0 && cause >> 32 == static_cast<uint64_t>(Broken::kLate)) {
    throw Error(kCollectiveTimeout, names_.of(late) + " did not come within " + std::to_string(timeout_.count()) + " ms");
  }
  fail(expected == 0 ? cause : expected);
}

// The first of the ranks that has left or died, as broken_by() writes it; 0 if none has.
uint64_t Ranks::cause_among(const std::vector<int>& late) const {
  for (const int peer : late) {
    pollfd process{processes_[peer], POLLIN, 0};
    const bool has_died = peer != rank_ && ::poll(&process, 1, 0) > 0;
    if (segment_.control(peer).has_left.load(std::memory_order_acquire) != 0) return broken_by(Broken::kLeft, peer);
    if (has_died) return broken_by(Broken::kDied, peer);
  }
  return 0;
}

bool Ranks::is_whole() const {
  return segment_.control(rank_).has_left.load() == 0 &&
         segment_.header().broken.load(std::memory_order_acquire) == 0;
}

void Ranks::require_whole() const {
  if (segment_.control(rank_).has_left.load() != 0) throw Error(kPeerLost, "this rank has left the group");
  if (const auto broken = segment_.header().broken.load(std::memory_order_acquire); broken != 0) fail(broken);
}

void Ranks::fail(uint64_t broken) const {
  const auto culprit = static_cast<int>(broken & 0xffffffff);
  const auto name = names_.of(culprit);
  switch (static_cast<Broken>(broken >> 32)) {
    case Broken::kDied:
      throw Error(kPeerLost, name + " (process " + std::to_string(segment_.control(culprit).pid) + ") has died");
    case Broken::kLeft: throw Error(kPeerLost, name + " has left the group");
    default:
      if (culprit == rank_) throw Error(kCollectiveTimeout, "another rank gave up waiting for this one in another call");
      throw Error(kCollectiveTimeout, name + " did not come in time");
  }
}

void Ranks::begin_call(const int32_t* words) {
  require_whole();
  ++call_;
  auto& own = segment_.control(rank_);
  own.call_hash[call_ & 1] = hash_of(words);
  std::memcpy(own.call_words[call_ & 1], words, sizeof own.call_words[0]);
}

bool Ranks::is_same_call(std::vector<int32_t>& words) {
  const auto own = segment_.control(rank_).call_hash[call_ & 1];
  bool is_same = true;
  for (int peer = 0; peer < size_; ++peer) is_same = is_same && segment_.control(peer).call_hash[call_ & 1] == own;
  if (is_same) return true;
  words.resize(static_cast<size_t>(size_) * kCallWords);
  for (int peer = 0; peer < size_; ++peer) {
    std::memcpy(&words[static_cast<size_t>(peer) * kCallWords], segment_.control(peer).call_words[call_ & 1],
                sizeof(RankControl::call_words[0]));
  }
  return false;
}

void Ranks::be_patient() { is_patient = true; }

void Ranks::leave() {
  segment_.control(rank_).has_left.store(1);
  for (int rank = 0; rank < size_; ++rank) ring(rank);
}

}  // namespace acc::shm
