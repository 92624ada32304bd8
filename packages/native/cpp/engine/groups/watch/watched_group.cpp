#include "engine/groups/watch/watched_group.h"

#include <array>
#include <string_view>

#include "engine/error.h"

namespace acc {
namespace {

class WatchedPending final : public Pending {
 public:
  WatchedPending(std::shared_ptr<WatchedGroup> group, std::shared_ptr<Pending> work, uint64_t ticket, int32_t number)
      : group_(std::move(group)), work_(std::move(work)), ticket_(ticket), number_(number) {}

  bool is_done() override {
    const bool is_done = work_->is_done();
    if (is_done) group_->watch().log().end(ticket_);
    return is_done;
  }

  void wait() override {
    auto& log = group_->watch().log();
    log.begin_wait(ticket_);
    try {
      group_->explained(number_, [&] { work_->wait(); });
    } catch (...) {
      log.end_wait(ticket_);
      throw;
    }
    if (!work_->outlasts_wait()) return log.end(ticket_);
    group_->watch().follow(ticket_, work_);
  }

 private:
  std::shared_ptr<WatchedGroup> group_;
  std::shared_ptr<Pending> work_;
  uint64_t ticket_;
  int32_t number_;
};

}  // namespace

std::shared_ptr<Pending> WatchedGroup::start(CollectiveCall call) {
  const auto ticket = watch_.log().begin(call, false, engine_->meets_all(call));
  const auto number = call.words[kNumberWord];
  auto work = explained(number, [&] { return engine_->start(std::move(call)); });
  return std::make_shared<WatchedPending>(shared_from_this(), std::move(work), ticket, number);
}

void WatchedGroup::run(CollectiveCall call) {
  if (engine_->outlasts_waits()) return start(std::move(call))->wait();
  auto& log = watch_.log();
  const auto ticket = log.begin(call, true, engine_->meets_all(call));
  const auto number = call.words[kNumberWord];
  try {
    explained(number, [&] { engine_->run(std::move(call)); });
  } catch (...) {
    log.end_wait(ticket);
    throw;
  }
  log.end(ticket);
}

void WatchedGroup::close() {
  watch_.finish_followed();
  watch_.leave();
  engine_->close();
}

bool WatchedGroup::is_fault(const Error& error) {
  const std::string_view code = error.code();
  // The watch of another rank has cut the group.
  if (engine_->judges_itself()) return code == kPeerLost && watch_.is_deadlocked();
  if (code == kCollectiveMismatch) return !engine_->refuses_everywhere();
  return code == kCollectiveTimeout || code == kPeerLost || code == kCollectiveFailed;
}

void WatchedGroup::throw_explained(const Error& error, int32_t number) {
  // Only some ranks have detected the mismatch. The watch tells all of them.
  const bool is_mismatch = std::string_view(error.code()) == kCollectiveMismatch;
  const auto verdict = is_mismatch ? watch_.report_mismatch(number) : watch_.explain_failure();
  if (verdict.kind == Verdict::Kind::kMismatch) throw_mismatch(watch_.words_of(verdict.number));
  if (verdict.kind == Verdict::Kind::kDeadlock) throw Error(kCollectiveDeadlock, verdict.cycle);
  const bool is_own = verdict.kind == Verdict::Kind::kFailed && verdict.by == options_.rank;
  throw Error(is_own ? error.code() : verdict.code(),
              is_own ? error.what() : verdict.message(options_.timeout.count(), options_.names));
}

}  // namespace acc
