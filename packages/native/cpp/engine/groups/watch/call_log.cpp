#include "engine/groups/watch/call_log.h"

#include <algorithm>
#include <sstream>

namespace acc {
namespace {

using std::chrono::milliseconds;

int64_t milliseconds_since(CallLog::Clock::time_point time, CallLog::Clock::time_point now) {
  return std::chrono::duration_cast<milliseconds>(now - time).count();
}

}  // namespace

uint64_t CallLog::begin(const CollectiveCall& call, bool is_awaited, bool meets_all) {
  const bool is_message = call.kind == CollectiveKind::kSend || call.kind == CollectiveKind::kReceive;
  const auto now = Clock::now();
  const std::lock_guard guard(mutex_);
  const auto ticket = tickets_++;
  auto& entry = ring_[ticket % kCalls];
  entry.number = call.words[kNumberWord];
  if (entry.number > 0) begun_.number = entry.number;
  entry.kind = call.kind;
  entry.peer = is_message ? call.root : -1;
  entry.place = is_message ? ++(call.kind == CollectiveKind::kSend ? begun_.sent : begun_.received)[call.root] : 0;
  entry.meets_all = meets_all;
  entry.words = call.words;
  entry.started = now;
  entry.ended.reset();
  entry.awaited.reset();
  entry.is_followed = false;
  entry.wait = 0;
  if (is_awaited) note_wait(ticket, entry, now);
  return ticket;
}

void CallLog::note_wait(uint64_t ticket, Entry& entry, Clock::time_point now) {
  entry.awaited = now;
  entry.wait = ++waits_;
  awaited_[ticket] = entry;
}

CallLog::Entry* CallLog::find(uint64_t ticket) {
  return tickets_ - ticket > kCalls ? nullptr : &ring_[ticket % kCalls];
}

void CallLog::begin_wait(uint64_t ticket) {
  const auto now = Clock::now();
  const std::lock_guard guard(mutex_);
  if (auto* entry = find(ticket)) note_wait(ticket, *entry, now);
}

void CallLog::follow(uint64_t ticket) {
  const std::lock_guard guard(mutex_);
  const auto awaited = awaited_.find(ticket);
  if (awaited != awaited_.end()) awaited->second.is_followed = true;
}

void CallLog::end_wait(uint64_t ticket) {
  const std::lock_guard guard(mutex_);
  awaited_.erase(ticket);
  if (auto* entry = find(ticket)) entry->awaited.reset();
}

void CallLog::end(uint64_t ticket) {
  const auto now = Clock::now();
  const std::lock_guard guard(mutex_);
  awaited_.erase(ticket);
  auto* entry = find(ticket);
  if (entry == nullptr) return;
  if (!entry->ended) entry->ended = now;
  entry->awaited.reset();
}

int32_t CallLog::last_number() const {
  const std::lock_guard guard(mutex_);
  return begun_.number;
}

CallLog::Begun CallLog::begun() const {
  const std::lock_guard guard(mutex_);
  return begun_;
}

std::vector<CallLog::Entry> CallLog::entries() const {
  const std::lock_guard guard(mutex_);
  const auto first = tickets_ - std::min<uint64_t>(tickets_, kCalls);
  std::vector<Entry> entries;
  for (const auto& [ticket, entry] : awaited_) {
    if (ticket >= first || entries.size() == kCalls) break;
    entries.push_back(entry);
  }
  for (auto ticket = first; ticket < tickets_; ++ticket) entries.push_back(ring_[ticket % kCalls]);
  return entries;
}

std::optional<CallLog::Entry> CallLog::awaited() const {
  const std::lock_guard guard(mutex_);
  if (awaited_.empty()) return std::nullopt;
  return awaited_.begin()->second;
}

std::string CallLog::text() const {
  const auto now = Clock::now();
  std::ostringstream lines;
  for (const auto& entry : entries()) {
    lines << entry.number << ' ' << static_cast<int>(entry.kind) << ' ' << entry.peer << ' '
          << milliseconds_since(entry.started, now) << ' '
          << (entry.ended ? milliseconds_since(*entry.ended, now) : -1) << ' '
          << (entry.awaited ? milliseconds_since(*entry.awaited, now) : -1);
    for (const auto word : entry.words) lines << ' ' << word;
    lines << '\n';
  }
  return lines.str();
}

std::vector<CallLog::Entry> CallLog::from_text(const std::string& text) {
  const auto now = Clock::now();
  std::vector<Entry> entries;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    Entry entry;
    int kind = 0;
    int64_t started = 0;
    int64_t ended = 0;
    int64_t awaited = 0;
    fields >> entry.number >> kind >> entry.peer >> started >> ended >> awaited;
    for (auto& word : entry.words) fields >> word;
    if (!fields) continue;
    entry.kind = static_cast<CollectiveKind>(kind);
    entry.started = now - milliseconds(started);
    if (ended >= 0) entry.ended = now - milliseconds(ended);
    if (awaited >= 0) entry.awaited = now - milliseconds(awaited);
    entries.push_back(entry);
  }
  return entries;
}

}  // namespace acc
