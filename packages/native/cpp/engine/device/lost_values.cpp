#include "engine/device/lost_values.h"

#include <atomic>
#include <mutex>

#include "engine/error.h"

namespace acc {
namespace {

struct Loss {
  std::mutex mutex;
  std::atomic<bool> is_noted{false};
  std::string code;
  std::string message;
};

Loss& loss() {
  // Never destroyed: other threads may still run at the end of the process.
  static auto* const made = new Loss();
  return *made;
}

}  // namespace

void note_lost_values(const std::string& code, const std::string& message) {
  auto& noted = loss();
  const std::lock_guard guard(noted.mutex);
  if (noted.is_noted) return;
  noted.code = code;
  noted.message = message;
  noted.is_noted = true;
}

void require_values() {
  auto& noted = loss();
  if (!noted.is_noted) return;
  const std::lock_guard guard(noted.mutex);
  throw Error(noted.code.c_str(), noted.message);
}

}  // namespace acc
