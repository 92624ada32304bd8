#include "engine/groups/watch/followed_calls.h"

#include <thread>

#include "engine/error.h"
#include "engine/groups/watch/watch.h"

namespace acc {
namespace {

constexpr std::chrono::milliseconds kFollowPoll(1);

// The codes of a deadlock and of a mismatch promise a list of the ranks' calls, which a later call lacks.
const char* code_of_loss(const Verdict& verdict) {
  if (verdict.kind == Verdict::Kind::kDeadlock) return kPeerLost;
  return verdict.kind == Verdict::Kind::kMismatch ? kCollectiveFailed : verdict.code();
}

}  // namespace

FollowedCalls::FollowedCalls(ProcessGroup& engine, CallLog& log) : engine_(engine), log_(log) {
  if (engine.outlasts_waits()) add_loss_source(this);
}

FollowedCalls::~FollowedCalls() { remove_loss_source(this); }

void FollowedCalls::add(uint64_t ticket, std::shared_ptr<Pending> work) {
  log_.follow(ticket);
  {
    const std::lock_guard guard(mutex_);
    calls_.push_back({ticket, std::move(work)});
  }
  look();
}

bool FollowedCalls::look() {
  const std::lock_guard guard(mutex_);
  while (!calls_.empty() && calls_.front().work->is_done()) {
    const auto call = std::move(calls_.front());
    calls_.pop_front();
    end(call);
  }
  return !calls_.empty();
}

void FollowedCalls::end(const Call& call) {
  try {
    call.work->require_success();
    log_.end(call.ticket);
  } catch (const std::exception&) {
    log_.end_wait(call.ticket);
    const auto info = describe_current_exception(kCollectiveFailed);
    note_lost_values(info.code, info.message);
    if (!failed_) failed_ = CallLog::Clock::now();
  }
}

bool FollowedCalls::finish(const std::function<bool()>& goes_on) {
  while (look()) {
    if (!goes_on()) return false;
    std::this_thread::sleep_for(kFollowPoll);
  }
  return true;
}

bool FollowedCalls::drop() {
  // Calls that are done have lost nothing.
  const bool had_calls = look();
  const std::lock_guard guard(mutex_);
  calls_.clear();
  return had_calls;
}

std::optional<CallLog::Clock::time_point> FollowedCalls::failed() const {
  const std::lock_guard guard(mutex_);
  return failed_;
}

void Watch::follow(uint64_t ticket, std::shared_ptr<Pending> work) {
  followed_.add(ticket, std::move(work));
  std::optional<Verdict> verdict;
  {
    const std::lock_guard guard(mutex_);
    verdict = verdict_;
  }
  // The verdict came while the call began. A backend may report a call that was cut as done.
  if (verdict) lose_values(*verdict);
}

void Watch::finish_followed() {
  const auto deadline = Clock::now() + options_.timeout;
  followed_.finish([&] {
    const std::lock_guard guard(mutex_);
    return !verdict_ && Clock::now() < deadline;
  });
  drop_followed();
}

void Watch::drop_followed() {
  if (followed_.drop()) note_lost_values(kPeerLost, "the group was closed while the device waited for a collective");
}

void Watch::lose_values(const Verdict& verdict) {
  const bool is_cycle = verdict.kind == Verdict::Kind::kDeadlock;
  note_lost_values(code_of_loss(verdict),
                   is_cycle ? "ranks of another group wait for each other"
                            : verdict.message(options_.timeout.count(), options_.names));
  // Other groups may have taken wrong values.
  end_other_sources(&followed_);
}

}  // namespace acc
