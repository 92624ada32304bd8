#include "engine/watched_group.h"

#include <array>
#include <string_view>

#include "engine/error.h"

namespace acc {
namespace {

class WatchedPending final : public Pending {
 public:
  WatchedPending(std::shared_ptr<WatchedGroup> group, std::shared_ptr<Pending> work, uint64_t ticket)
      : group_(std::move(group)), work_(std::move(work)), ticket_(ticket) {}

  bool is_done() override {
    const bool is_done = work_->is_done();
    if (is_done) group_->watch().log().end(ticket_);
    return is_done;
  }

  void wait() override {
    auto& log = group_->watch().log();
    log.begin_wait(ticket_);
    try {
      group_->explained([&] { work_->wait(); });
    } catch (...) {
      log.end_wait(ticket_);
      throw;
    }
    log.end(ticket_);
  }

 private:
  std::shared_ptr<WatchedGroup> group_;
  std::shared_ptr<Pending> work_;
  uint64_t ticket_;
};

}  // namespace

std::shared_ptr<Pending> WatchedGroup::start(CollectiveCall call) {
  const auto ticket = watch_.log().begin(call, false);
  auto work = explained([&] { return engine_->start(std::move(call)); });
  return std::make_shared<WatchedPending>(shared_from_this(), std::move(work), ticket);
}

void WatchedGroup::run(CollectiveCall call) {
  auto& log = watch_.log();
  const auto ticket = log.begin(call, true);
  try {
    explained([&] { engine_->run(std::move(call)); });
  } catch (...) {
    log.end_wait(ticket);
    throw;
  }
  log.end(ticket);
}

void WatchedGroup::close() {
  watch_.leave();
  engine_->close();
}

bool WatchedGroup::is_fault(const Error& error) const {
  if (engine_->judges_itself()) return false;
  const std::string_view code = error.code();
  return code == kCollectiveTimeout || code == kPeerLost || code == kCollectiveFailed;
}

void WatchedGroup::throw_explained(const Error& error) {
  const auto verdict = watch_.explain_failure();
  if (verdict.kind == Verdict::Kind::kMismatch) throw_mismatch(watch_.words_of(verdict.number));
  const bool is_own = verdict.kind == Verdict::Kind::kFailed && verdict.by == options_.rank;
  throw Error(is_own ? error.code() : verdict.code(),
              is_own ? error.what() : verdict.message(options_.timeout.count()));
}

}  // namespace acc
