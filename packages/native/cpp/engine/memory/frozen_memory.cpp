#include "engine/memory/frozen_memory.h"

#include <mutex>
#include <unordered_map>

namespace acc {
namespace {

struct Counts {
  std::mutex mutex;
  // How many freeze each memory. Their weak references keep its address from being used again.
  std::unordered_map<const c10::StorageImpl*, size_t> of;
};

// Lives as long as the process.
Counts& frozen_counts() {
  static auto* counts = new Counts;
  return *counts;
}

}  // namespace

FrozenMemory::FrozenMemory(const at::Tensor& tensor) : storage_(tensor.storage().getWeakStorageImpl()) {
  auto& counts = frozen_counts();
  const std::lock_guard<std::mutex> lock(counts.mutex);
  ++counts.of[storage_._unsafe_get_target()];
}

FrozenMemory::~FrozenMemory() {
  auto& counts = frozen_counts();
  const std::lock_guard<std::mutex> lock(counts.mutex);
  const auto found = counts.of.find(storage_._unsafe_get_target());
  if (--found->second == 0) counts.of.erase(found);
}

bool FrozenMemory::is_possible(const at::Tensor& tensor) {
  return tensor.has_storage() && tensor.storage().allocator() != nullptr;
}

bool FrozenMemory::has(const at::Tensor& tensor) {
  auto& counts = frozen_counts();
  const std::lock_guard<std::mutex> lock(counts.mutex);
  return !counts.of.empty() && counts.of.count(tensor.storage().unsafeGetStorageImpl()) > 0;
}

}  // namespace acc
