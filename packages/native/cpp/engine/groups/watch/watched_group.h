#pragma once

#include "engine/groups/process_group.h"
#include "engine/groups/watch/watch.h"

namespace acc {

// An engine's group together with a Watch. It logs the calls. When a call fails, it throws the
// error that the watch determined.
class WatchedGroup final : public ProcessGroup, public std::enable_shared_from_this<WatchedGroup> {
 public:
  WatchedGroup(std::shared_ptr<ProcessGroup> engine, std::shared_ptr<StoreLine> line, const GroupOptions& options)
      : engine_(std::move(engine)), options_(options), watch_(*engine_, std::move(line), options) {}
  ~WatchedGroup() override {
    watch_.drop_followed();
    engine_->close();
  }

  std::shared_ptr<Pending> start(CollectiveCall call) override;
  void run(CollectiveCall call) override;
  void close() override;

  Watch& watch() { return watch_; }

  // Runs `body`, a part of call `number`. Replaces an error of the engine by the watch's
  // explanation of it.
  template <typename Body>
  auto explained(int32_t number, Body body) {
    try {
      return body();
    } catch (const Error& error) {
      if (!is_fault(error)) throw;
      throw_explained(error, number);
    }
  }

 private:
  bool is_fault(const Error& error);
  [[noreturn]] void throw_explained(const Error& error, int32_t number);

  std::shared_ptr<ProcessGroup> engine_;
  const GroupOptions options_;
  Watch watch_;
};

}  // namespace acc
