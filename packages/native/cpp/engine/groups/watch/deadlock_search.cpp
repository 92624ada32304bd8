#include "engine/groups/watch/deadlock_search.h"

#include <deque>
#include <numeric>
#include <utility>

namespace acc {
namespace {

// The interval at which a rank confirms that it still waits, as a part of the patience.
constexpr int kBeatsOfPatience = 4;
// The time to the second search of one wait, as a part of the patience. It doubles with each search.
constexpr int kPausesOfPatience = 2;
// A suspicion that is not confirmed after this number of beats is given up.
constexpr int kMostBeats = 20;

// The shortest cycle of waits through `start`; empty if there is none.
std::vector<RankWait> cycle_through(int start, const std::map<int, RankWait>& waits) {
  if (waits.count(start) == 0) return {};
  std::map<int, int> before;
  for (std::deque<int> open{start}; !open.empty(); open.pop_front()) {
    const auto& from = waits.at(open.front());
    for (const auto& [rank, to] : waits) {
      if (!from.is_for(to)) continue;
      if (rank != start) {
        if (before.emplace(rank, from.rank).second) open.push_back(rank);
        continue;
      }
      std::vector<RankWait> cycle;
      for (int at = from.rank; at != start; at = before.at(at)) cycle.insert(cycle.begin(), waits.at(at));
      cycle.insert(cycle.begin(), waits.at(start));
      return cycle;
    }
  }
  return {};
}

}  // namespace

DeadlockSearch::DeadlockSearch(std::shared_ptr<StoreLine> line, const GroupOptions& options, const CallLog& log)
    : line_(std::move(line)),
      options_(options),
      log_(log),
      members_(options.names.world_ranks()),
      waits_(line_, "acc/waits", options.names.is_subgroup() ? members_[static_cast<size_t>(options.rank)] : options.rank) {
  if (members_.empty()) {
    members_.resize(static_cast<size_t>(options.size));
    std::iota(members_.begin(), members_.end(), 0);
  }
  const std::lock_guard guard(line_->logs_mutex);
  line_->logs[options_.name] = &log_;
}

DeadlockSearch::~DeadlockSearch() {
  const std::lock_guard guard(line_->logs_mutex);
  const auto own = line_->logs.find(options_.name);
  if (own != line_->logs.end() && own->second == &log_) line_->logs.erase(own);
}

RankWait DeadlockSearch::own_wait(const CallLog::Entry& waiting) const {
  RankWait own;
  own.rank = members_[static_cast<size_t>(options_.rank)];
  own.group = options_.name;
  own.is_whole_job = !options_.names.is_subgroup();
  own.members = members_;
  own.call = waiting;
  own.beat = beat_;
  const std::lock_guard guard(line_->logs_mutex);
  for (const auto& [name, log] : line_->logs) own.begun[name] = log->begun();
  return own;
}

std::optional<DeadlockSearch::Cycle> DeadlockSearch::look(const CallLog::Entry& waiting) {
  const auto now = Clock::now();
  if (now - *waiting.awaited < options_.patience.deadlock) return std::nullopt;
  if (waiting.wait != wait_) {
    wait_ = waiting.wait;
    next_beat_ = next_search_ = now;
    pause_ = options_.patience.deadlock / kPausesOfPatience;
    suspects_.clear();
  }
  if (now < next_beat_) return std::nullopt;
  next_beat_ = now + options_.patience.deadlock / kBeatsOfPatience;
  ++beat_;
  const auto own = own_wait(waiting);
  waits_.put_own("wait", own.text());
  if (!suspects_.empty()) return confirm(own);
  if (now < next_search_) return std::nullopt;
  next_search_ = now + pause_;
  pause_ *= 2;
  suspect(own);
  return std::nullopt;
}

DeadlockSearch::Waits DeadlockSearch::read(const RankWait& own) {
  Waits waits{{own.rank, own}};
  std::map<int, bool> is_read{{own.rank, true}};
  for (std::deque<int> open{own.rank}; !open.empty(); open.pop_front()) {
    const auto members = waits.at(open.front()).members;
    for (const int rank : members) {
      if (std::exchange(is_read[rank], true)) continue;
      const auto text = waits_.find_of("wait", rank);
      const auto wait = text ? RankWait::from_text(*text) : std::nullopt;
      if (!wait) continue;
      waits[rank] = *wait;
      open.push_back(rank);
    }
  }
  return waits;
}

// Let T be the moment between the two readings. A wait that is the same in both, or in a later
// reading, began before T.
void DeadlockSearch::suspect(const RankWait& own) {
  const auto first = read(own);
  if (cycle_through(own.rank, first).empty()) return;
  for (auto& [rank, wait] : read(own)) {
    const auto before = first.find(rank);
    if (before != first.end() && before->second.is_same(wait)) suspects_[rank] = wait;
  }
  beats_left_ = kMostBeats;
}

// A rank looks after its own wait between two beats. So one that has made two beats since the second
// reading has found after T that it still waits. If this is true of all waits of a cycle, all of
// them held at T. The first of them to end would need another one to end before.
std::optional<DeadlockSearch::Cycle> DeadlockSearch::confirm(const RankWait& own) {
  Waits held;
  for (auto& [rank, wait] : read(own)) {
    const auto before = suspects_.find(rank);
    if (before == suspects_.end() || !before->second.is_same(wait)) continue;
    if (rank == own.rank || wait.beat >= before->second.beat + 2) held[rank] = wait;
  }
  if (--beats_left_ == 0) suspects_.clear();
  auto cycle = cycle_through(own.rank, held);
  const auto waiting = log_.awaited();
  if (cycle.empty() || !waiting || waiting->wait != wait_) return std::nullopt;
  return cycle;
}

}  // namespace acc
