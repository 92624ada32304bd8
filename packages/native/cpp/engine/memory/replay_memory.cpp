#include "engine/memory/replay_memory.h"

#include <utility>

#include "engine/error.h"
#include "engine/memory/block_heap.h"
#include "engine/memory/caching_allocator.h"

namespace acc {
namespace {

// After so many replays in a row that allocate in another way, the plan is dropped.
constexpr int kMaxOthers = 3;

// Guarded by the lock of the allocator.
ReplayMemory* traced = nullptr;
uint64_t traces = 0;
int plans = 0;

}  // namespace

ReplayMemory*& ReplayMemory::of_thread() {
  thread_local ReplayMemory* memory = nullptr;
  return memory;
}

ReplayMemory::~ReplayMemory() {
  auto allocator = lock_allocator();
  leave(State::kOff, allocator);
}

std::vector<ReplayMemory::Lifetime> ReplayMemory::trace() const {
  const auto allocator = lock_allocator();
  return state_ == State::kTraced ? lifetimes_ : std::vector<Lifetime>();
}

bool ReplayMemory::is_planned() const {
  const auto allocator = lock_allocator();
  return state_ == State::kPlanned;
}

void ReplayMemory::plan(std::vector<int64_t> places, size_t bytes) {
  const auto allocator = lock_allocator();
  bool fits = state_ == State::kTraced && places.size() == lifetimes_.size();
  for (size_t i = 0; fits && i < places.size(); ++i) {
    if (places[i] == -1) continue;
    const auto place = static_cast<size_t>(places[i]);
    fits = places[i] >= 0 && place % alignof(Block) == 0 && place <= bytes && lifetimes_[i].bytes <= bytes - place;
  }
  if (!fits) throw Error(kInvalidArgument, "The plan of a replay's memory does not fit its trace.");
  places_ = std::move(places);
  arena_bytes_ = bytes;
  state_ = State::kPlanned;
  ++plans;
}

ReplayMemory::Use::Use(ReplayMemory& memory, bool is_first, bool is_last)
    : memory_(memory), outer_(std::exchange(of_thread(), &memory)), is_last_(is_last) {
  if (is_first) memory.begin();
}

ReplayMemory::Use::~Use() {
  of_thread() = outer_;
  if (is_last_) memory_.end();
}

void ReplayMemory::begin() {
  auto allocator = lock_allocator();
  next_ = 0;
  is_other_ = false;
  has_arena_ = state_ == State::kPlanned && allocator.reserve_arena(arena_bytes_);
  if (state_ != State::kUntraced || traced != nullptr) return;
  state_ = State::kTracing;
  trace_number_ = ++traces;
  traced = this;
}

void ReplayMemory::end() {
  auto allocator = lock_allocator();
  if (state_ == State::kTracing) leave(State::kTraced, allocator);
  if (state_ != State::kPlanned) return;
  is_other_ |= next_ != places_.size();
  others_ = is_other_ ? others_ + 1 : 0;
  if (others_ == kMaxOthers) leave(State::kOff, allocator);
}

void ReplayMemory::abandon() {
  auto allocator = lock_allocator();
  if (state_ == State::kTracing) leave(State::kUntraced, allocator);
}

void ReplayMemory::leave(State next, LockedAllocator& allocator) {
  if (traced == this) traced = nullptr;
  if (state_ == State::kPlanned && --plans == 0) allocator.arena.release();
  if (next != State::kTraced) lifetimes_.clear();
  state_ = next;
}

int64_t ReplayMemory::next_place(size_t bytes) {
  if (state_ != State::kPlanned || is_other_) return -1;
  is_other_ = next_ >= places_.size() || lifetimes_[next_].bytes != bytes;
  if (is_other_) return -1;
  const auto place = places_[next_++];
  return has_arena_ ? place : -1;
}

void ReplayMemory::note_allocation(Block& block, size_t bytes) {
  if (state_ != State::kTracing) return;
  block.trace = trace_number_;
  block.index = lifetimes_.size();
  lifetimes_.push_back({bytes, 0});
}

void ReplayMemory::note_release(const Block& block) {
  if (traced == nullptr || block.trace != traced->trace_number_) return;
  auto& lifetimes = traced->lifetimes_;
  lifetimes[block.index].end = lifetimes.size();
}

}  // namespace acc
