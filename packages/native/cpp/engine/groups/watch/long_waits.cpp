#include <unistd.h>

#include <algorithm>

#include "engine/groups/watch/watch.h"

namespace acc {
namespace {

// The most ranks that a message names.
constexpr size_t kShownRanks = 8;

// Whether a rank that posted `text` waits in collective `number`.
bool waits_in(const std::string& text, int32_t number) {
  const auto entries = CallLog::from_text(text);
  return std::any_of(entries.begin(), entries.end(), [&](const CallLog::Entry& one) {
    return one.awaited && one.is_collective() && one.number == number;
  });
}

}  // namespace

// Writes one line per wait to stderr, on the first of the ranks that wait in the call.
void Watch::tell_long_wait(const CallLog::Entry& waiting) {
  const auto waited = Clock::now() - *waiting.awaited;
  if (waiting.wait == told_wait_ || waited < long_wait_) return;
  auto late = std::vector<int>{waiting.peer};
  if (waiting.is_collective()) {
    for (int rank = 0; rank < options_.rank; ++rank) {
      if (waits_in(calls_of(rank), waiting.number)) return;
    }
    late = missing_ranks(posted_calls(), waiting.number);
  }
  // Without the store it is not known who is late.
  if (late.empty() || !bulletin_.is_reachable()) return;
  told_wait_ = waiting.wait;
  long_wait_ *= 2;
  const auto more = late.size() > kShownRanks ? " and " + std::to_string(late.size() - kShownRanks) + " more" : "";
  late.resize(std::min(late.size(), kShownRanks));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(waited).count();
  told_late_ = options_.names.of(late) + more;
  tell("has waited " + std::to_string(seconds) + " s for " + told_late_ + told_call(waiting.number));
}

// Nobody may take the wait for one that lasts. If the call failed, its error says enough.
void Watch::tell_end_of_wait() {
  const auto entries = log_.entries();
  const bool has_failed = std::any_of(entries.begin(), entries.end(), [&](const CallLog::Entry& one) {
    return one.wait == told_wait_ && !one.ended;
  });
  if (!has_failed) tell("no longer waits for " + told_late_);
  told_late_.clear();
}

// Writes a line about this rank to stderr.
void Watch::tell(const std::string& what) const {
  const auto line = "acc: " + options_.names.of(options_.rank) + " " + what + "\n";
  // The line has no other place to go if it cannot be written.
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
}

std::string Watch::told_call(int32_t number) const {
  const std::lock_guard guard(mutex_);
  const auto& [noted, call] = noted_call_;
  if (call.empty()) return "";
  if (noted == number) return ", in " + call;
  return ". The last known call of " + options_.names.of(options_.rank) + ": " + call;
}

void Watch::note(int32_t number, const std::string& call) {
  const std::lock_guard guard(mutex_);
  noted_call_ = {number, call};
}

}  // namespace acc
