#pragma once

#include <functional>
#include <string>

#include "engine/groups/process_group.h"

namespace acc {

// The problem of ranks for which a group over shared memory cannot be made.
inline constexpr const char* kNoSharedMemory = "The ranks cannot share memory";

// Values that the ranks of a future group publish in the store and read from each other.
class Meeting {
 public:
  Meeting(const c10::intrusive_ptr<c10d::Store>& store, const GroupOptions& options);

  void give(const std::string& key, const std::string& value) const;
  // Waits for the value of `rank` and returns it. Throws ACC_RENDEZVOUS_FAILED.
  std::string take(const std::string& key, int rank) const;

  // Runs `body`, then compares its outcome on all ranks. If it threw ACC_ENGINE_UNAVAILABLE on any
  // rank, every rank throws that error: `problem`, then the reasons of all ranks.
  void together(const std::string& name, const std::string& problem, const std::function<void()>& body) const;

 private:
  c10::intrusive_ptr<c10d::Store> store_;
  const GroupOptions options_;
};

}  // namespace acc
