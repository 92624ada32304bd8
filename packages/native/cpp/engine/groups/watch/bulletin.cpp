#include "engine/groups/watch/bulletin.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

namespace acc {
namespace {

std::vector<uint8_t> to_bytes(const std::string& text) { return {text.begin(), text.end()}; }
std::string to_text(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

Bulletin::Bulletin(std::shared_ptr<StoreLine> line, const std::string& group, int rank)
    : line_(std::move(line)), store_(c10::make_intrusive<c10d::PrefixStore>(group + "/watch", line_->keys)), rank_(rank) {}

template <typename Use>
auto Bulletin::try_to(Use use, decltype(use()) otherwise) -> decltype(use()) {
  const std::lock_guard guard(line_->mutex);
  if (!line_->is_reachable) return otherwise;
  try {
    return use();
  } catch (const std::exception&) {
    line_->is_reachable = false;
    return otherwise;
  }
}

void Bulletin::put(const std::string& key, const std::string& value) {
  try_to(
      [&] {
        store_->set(key, to_bytes(value));
        return true;
      },
      false);
}

std::optional<std::string> Bulletin::find(const std::string& key) {
  return try_to(
      [&]() -> std::optional<std::string> {
        if (!store_->check({key})) return std::nullopt;
        return to_text(store_->get(key));
      },
      std::nullopt);
}

std::string Bulletin::agree(const std::string& key, const std::string& value) {
  return try_to([&] { return to_text(store_->compareSet(key, {}, to_bytes(value))); }, value);
}

}  // namespace acc
