#include "engine/device/lost_values.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "engine/error.h"

namespace acc {
namespace {

constexpr const char* kProblem = "A collective failed after the program went on, so values on the device may be wrong: ";
constexpr const char* kNextStep =
    "\n→ Start the job again from its last checkpoint. "
    "With collective.streamWaits: false, the call that fails throws the error.";

struct Loss {
  std::mutex mutex;
  std::atomic<bool> is_noted{false};
  std::string code;
  std::string message;
};

struct Sources {
  std::mutex mutex;
  std::vector<LossSource*> all;
  std::atomic<size_t> number{0};
};

// Neither is ever destroyed: other threads may still run at the end of the process.
Loss& loss() {
  static auto* const made = new Loss();
  return *made;
}

Sources& sources() {
  static auto* const made = new Sources();
  return *made;
}

void throw_noted() {
  auto& noted = loss();
  if (!noted.is_noted) return;
  const std::lock_guard guard(noted.mutex);
  throw Error(noted.code.c_str(), kProblem + noted.message + kNextStep);
}

}  // namespace

void add_loss_source(LossSource* source) {
  auto& [mutex, all, number] = sources();
  const std::lock_guard guard(mutex);
  all.push_back(source);
  number = all.size();
}

void remove_loss_source(LossSource* source) {
  auto& [mutex, all, number] = sources();
  const std::lock_guard guard(mutex);
  all.erase(std::remove(all.begin(), all.end(), source), all.end());
  number = all.size();
}

void end_other_sources(const LossSource* source) {
  auto& [mutex, all, number] = sources();
  const std::lock_guard guard(mutex);
  for (auto* other : all) {
    if (other != source) other->end_calls();
  }
}

void note_lost_values(const std::string& code, const std::string& message) {
  auto& noted = loss();
  const std::lock_guard guard(noted.mutex);
  if (noted.is_noted) return;
  noted.code = code;
  noted.message = message;
  noted.is_noted = true;
}

void require_values() {
  // First, because a source that ends its calls keeps the others from being asked.
  throw_noted();
  if (auto& [mutex, all, number] = sources(); number > 0) {
    const std::lock_guard guard(mutex);
    for (auto* source : all) source->look_for_losses();
  }
  throw_noted();
}

}  // namespace acc
