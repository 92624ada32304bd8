#include "engine/groups/watch/rank_wait.h"

#include <algorithm>
#include <sstream>

namespace acc {
namespace {

using Counts = std::map<int, uint64_t>;

template <typename List>
void write_list(std::ostream& out, const List& list, const char* separator) {
  const char* before = "";
  for (const auto& one : list) {
    out << before << one;
    before = separator;
  }
}

void write_counts(std::ostream& out, const Counts& counts) {
  out << ' ' << counts.size();
  for (const auto& [peer, count] : counts) out << ' ' << peer << ' ' << count;
}

Counts read_counts(std::istream& in) {
  Counts counts;
  size_t size = 0;
  in >> size;
  for (size_t i = 0; i < size && in; ++i) {
    int peer = 0;
    in >> peer;
    in >> counts[peer];
  }
  return counts;
}

uint64_t count_of(const Counts& counts, int peer) {
  const auto found = counts.find(peer);
  return found == counts.end() ? 0 : found->second;
}

// The rank in the group; -1 if it is not in the group.
int place_in(const std::vector<int>& members, int rank) {
  const auto found = std::find(members.begin(), members.end(), rank);
  return found == members.end() ? -1 : static_cast<int>(found - members.begin());
}

}  // namespace

bool RankWait::is_for(const RankWait& other) const {
  if (!call.meets_all || other.rank == rank) return false;
  const auto place = place_in(members, other.rank);
  const auto theirs = other.begun.find(group);
  if (place < 0 || theirs == other.begun.end()) return false;
  if (call.peer < 0) return call.number > 0 && theirs->second.number < call.number;
  if (call.peer != place) return false;
  const bool is_send = call.kind == CollectiveKind::kSend;
  return count_of(is_send ? theirs->second.received : theirs->second.sent, place_in(members, rank)) < call.place;
}

std::string RankWait::text() const {
  std::ostringstream out;
  out << rank << ' ' << group << ' ' << is_whole_job << ' ' << beat << ' ' << call.wait << ' ' << call.number << ' '
      << static_cast<int>(call.kind) << ' ' << call.peer << ' ' << call.place << ' ' << call.meets_all << ' ';
  write_list(out, call.words, " ");
  out << ' ' << members.size() << ' ';
  write_list(out, members, " ");
  out << ' ' << begun.size();
  for (const auto& [name, calls] : begun) {
    out << ' ' << name << ' ' << calls.number;
    write_counts(out, calls.sent);
    write_counts(out, calls.received);
  }
  return out.str();
}

std::optional<RankWait> RankWait::from_text(const std::string& text) {
  std::istringstream in(text);
  RankWait wait;
  int kind = 0;
  in >> wait.rank >> wait.group >> wait.is_whole_job >> wait.beat >> wait.call.wait >> wait.call.number >> kind >>
      wait.call.peer >> wait.call.place >> wait.call.meets_all;
  wait.call.kind = static_cast<CollectiveKind>(kind);
  for (auto& word : wait.call.words) in >> word;
  size_t count = 0;
  in >> count;
  for (int member = 0; wait.members.size() < count && in >> member;) wait.members.push_back(member);
  in >> count;
  for (std::string name; count > 0 && in >> name; --count) {
    auto& calls = wait.begun[name];
    in >> calls.number;
    calls.sent = read_counts(in);
    calls.received = read_counts(in);
  }
  if (!in) return std::nullopt;
  return wait;
}

std::string RankWait::json() const {
  std::ostringstream out;
  out << "{\"rank\":" << rank << ",\"group\":[";
  if (!is_whole_job) write_list(out, members, ",");
  out << "],\"number\":" << call.number << ",\"isSend\":" << (call.kind == CollectiveKind::kSend ? "true" : "false");
  if (call.peer >= 0) out << ",\"peer\":" << members[static_cast<size_t>(call.peer)];
  out << ",\"words\":[";
  write_list(out, call.words, ",");
  out << "]}";
  return out.str();
}

}  // namespace acc
