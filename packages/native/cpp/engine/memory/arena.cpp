#include "engine/memory/arena.h"

#include <iterator>
#include <new>

#include "engine/memory/address_sanitizer.h"
#include "engine/memory/huge_pages.h"

namespace acc {

bool Arena::reserve(size_t bytes) {
  if (bytes <= reserved_) return true;
  if (is_used()) return false;
  release();
  size_t given = bytes;
  memory_ = static_cast<char*>(take_huge_pages(given));
  if (memory_ == nullptr) return false;
  reserved_ = given;
  forbid_access(memory_, reserved_);
  return true;
}

Block* Arena::take(size_t place, size_t bytes) {
  const size_t end = place + sizeof(Block) + bytes;
  if (end > reserved_) return nullptr;
  const auto next = ends_.lower_bound(place);
  if (next != ends_.end() && next->first < end) return nullptr;
  if (next != ends_.begin() && std::prev(next)->second > place) return nullptr;
  ends_.emplace_hint(next, place, end);
  allow_access(memory_ + place, sizeof(Block));
  return new (memory_ + place) Block{bytes, nullptr, nullptr, false, BlockKind::kArena};
}

void Arena::give_back(const Block* block) {
  ends_.erase(static_cast<size_t>(reinterpret_cast<const char*>(block) - memory_));
}

void Arena::release() {
  if (is_used() || memory_ == nullptr) return;
  allow_access(memory_, reserved_);
  give_huge_pages_back(memory_);
  memory_ = nullptr;
  reserved_ = 0;
}

}  // namespace acc
