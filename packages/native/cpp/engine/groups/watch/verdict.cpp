#include "engine/groups/watch/verdict.h"

#include <algorithm>
#include <sstream>

#include "engine/error.h"

namespace acc {
std::string Verdict::text() const {
  std::ostringstream out;
  out << static_cast<int>(kind) << ' ' << number << ' ' << by;
  for (const int rank : ranks) out << ' ' << rank;
  if (!cycle.empty()) out << '\n' << cycle;
  return out.str();
}

std::optional<Verdict> Verdict::from_text(const std::string& text) {
  const auto end = std::min(text.find('\n'), text.size());
  std::istringstream in(text.substr(0, end));
  Verdict verdict;
  int kind = 0;
  if (!(in >> kind >> verdict.number >> verdict.by)) return std::nullopt;
  if (kind < 0 || kind > static_cast<int>(Kind::kDeadlock)) return std::nullopt;
  verdict.kind = static_cast<Kind>(kind);
  for (int rank = 0; in >> rank;) verdict.ranks.push_back(rank);
  if (end < text.size()) verdict.cycle = text.substr(end + 1);
  return verdict;
}

const char* Verdict::code() const {
  switch (kind) {
    case Kind::kLate: return kCollectiveTimeout;
    case Kind::kMismatch: return kCollectiveMismatch;
    case Kind::kFailed: return kCollectiveFailed;
    case Kind::kDeadlock: return kCollectiveDeadlock;
    default: return kPeerLost;
  }
}

std::string Verdict::message(long timeout_ms, const RankNames& rank_names) const {
  const auto names = rank_names.of(ranks);
  const std::string has = ranks.size() == 1 ? " has" : " have";
  switch (kind) {
    case Kind::kDied: return names + has + " died";
    case Kind::kLeft: return names + has + " left the group";
    case Kind::kSilent:
      return names + (ranks.size() == 1 ? " does" : " do") + " not answer any more. The host is down or not connected";
    case Kind::kLate:
      if (ranks.empty()) return "all ranks came, but the call did not end within " + std::to_string(timeout_ms) + " ms";
      return names + " did not come within " + std::to_string(timeout_ms) + " ms";
    case Kind::kMismatch: return "ranks called different collectives";
    case Kind::kFailed: return names + has + " failed";
    case Kind::kDeadlock: return cycle;
  }
  return names;
}

}  // namespace acc
