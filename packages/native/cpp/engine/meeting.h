#pragma once

#include <functional>
#include <string>

#include "engine/process_group.h"

namespace acc {

// Values that every rank of a group to be gives, and all read.
class Meeting {
 public:
  Meeting(const c10::intrusive_ptr<c10d::Store>& store, const GroupOptions& options);

  void give(const std::string& key, const std::string& value) const;
  // Waits for it. Throws ACC_RENDEZVOUS_FAILED.
  std::string take(const std::string& key, int rank) const;

  // Runs `body` and then compares how it went everywhere: where it threw ACC_ENGINE_UNAVAILABLE on any rank, all throw it,
  // with the reasons.
  void together(const std::string& name, const std::function<void()>& body) const;

 private:
  c10::intrusive_ptr<c10d::Store> store_;
  const GroupOptions options_;
};

}  // namespace acc
