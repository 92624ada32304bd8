#include "engine/groups/meeting.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "engine/error.h"

namespace acc {

Meeting::Meeting(const c10::intrusive_ptr<c10d::Store>& store, const GroupOptions& options)
    : store_(c10::make_intrusive<c10d::PrefixStore>(options.name, store)), options_(options) {}

void Meeting::give(const std::string& key, const std::string& value) const {
  store_->set(key + "/" + std::to_string(options_.rank), std::vector<uint8_t>(value.begin(), value.end()));
}

std::string Meeting::take(const std::string& key, int rank) const {
  const auto name = key + "/" + std::to_string(rank);
  try {
    store_->wait({name}, options_.join_timeout);
    const auto value = store_->get(name);
    return {value.begin(), value.end()};
  } catch (const std::exception& error) {
    throw Error(kRendezvousFailed, options_.names.of(rank) + " did not come within " +
                                       std::to_string(options_.join_timeout.count()) + " ms: " + error.what());
  }
}

void Meeting::together(const std::string& name, const std::string& problem, const std::function<void()>& body) const {
  std::string failure;
  try {
    body();
  } catch (const Error& error) {
    if (error.code() != std::string(kEngineUnavailable)) throw;
    failure = error.what();
  }
  give(name, failure);
  std::string failures;
  for (int rank = 0; rank < options_.size; ++rank) {
    const auto reason = take(name, rank);
    if (!reason.empty()) failures += "\n  " + options_.names.of(rank) + ": " + reason;
  }
  if (!failures.empty()) throw Error(kEngineUnavailable, problem + ":" + failures);
}

}  // namespace acc
