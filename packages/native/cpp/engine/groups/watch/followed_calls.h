#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/device/lost_values.h"
#include "engine/groups/process_group.h"
#include "engine/groups/watch/call_log.h"

namespace acc {

// Calls of a group for which the device waits, and the program does not. If one fails, values on the
// device are noted as lost.
class FollowedCalls final : public LossSource {
 public:
  // Both must outlive the object.
  FollowedCalls(ProcessGroup& engine, CallLog& log);
  ~FollowedCalls();

  void add(uint64_t ticket, std::shared_ptr<Pending> work);
  // Ends the calls that are done. Returns whether there are others.
  bool look();
  // Waits until all are done, or `goes_on` returns false. Returns whether all are done.
  bool finish(const std::function<bool()>& goes_on);
  // Forgets all calls. Returns whether any of them was not done.
  bool drop();
  // When the first call failed.
  std::optional<CallLog::Clock::time_point> failed() const;

  void look_for_losses() override { look(); }
  void end_calls() override { engine_.cut(); }

 private:
  struct Call {
    uint64_t ticket;
    std::shared_ptr<Pending> work;
  };
  // `mutex_` is held.
  void end(const Call& call);

  ProcessGroup& engine_;
  CallLog& log_;
  mutable std::mutex mutex_;
  std::deque<Call> calls_;
  std::optional<CallLog::Clock::time_point> failed_;
};

}  // namespace acc
