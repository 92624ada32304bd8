#include "engine/fused/repeated_programs.h"

namespace acc::fused {
namespace {

// Compiling takes about the time that machine code saves in as many runs.
constexpr int64_t kRunsBefore = 3;
// A plain transformer runs some hundred programs in a step. The code of a program takes a few pages.
constexpr size_t kMostPrograms = 1024;

}  // namespace

std::shared_ptr<machine_code::CodeCache> RepeatedPrograms::find(std::string_view program) {
  const std::lock_guard lock(mutex_);
  auto& entry = *entry_of(program);
  if (entry.runs++ < kRunsBefore) return nullptr;
  if (!entry.code) entry.code = std::make_shared<machine_code::CodeCache>();
  return entry.code;
}

RepeatedPrograms::Entries::iterator RepeatedPrograms::entry_of(std::string_view program) {
  const auto known = places_.find(program);
  if (known != places_.end()) {
    entries_.splice(entries_.begin(), entries_, known->second);
    return entries_.begin();
  }
  if (entries_.size() == kMostPrograms) {
    places_.erase(entries_.back().program);
    entries_.pop_back();
  }
  entries_.push_front({std::string(program), 0, nullptr});
  places_.emplace(entries_.front().program, entries_.begin());
  return entries_.begin();
}

}  // namespace acc::fused
