#include "engine/groups/gloo/links.h"

#include <sys/socket.h>

#include <map>
#include <sstream>

#include "engine/error.h"

namespace acc {
namespace {

// The two addresses of a connection, in the order in which one side sees them.
std::string ends_of(const std::string& own, const std::string& other) { return own + " " + other; }

// Maps the addresses of each connection to the rank on the other side.
std::map<std::string, int> exchange_ends(const std::string& own, const StorePtr& store, const GroupOptions& options) {
  const auto key = [&](int rank) { return options.name + "/links/" + std::to_string(rank); };
  std::map<std::string, int> ranks;
  try {
    store->set(key(options.rank), std::vector<uint8_t>(own.begin(), own.end()));
    for (int rank = 0; rank < options.size; ++rank) {
      if (rank == options.rank) continue;
      store->wait({key(rank)}, options.join_timeout);
      const auto bytes = store->get(key(rank));
      std::istringstream lines(std::string(bytes.begin(), bytes.end()));
      for (std::string theirs, ours; lines >> theirs >> ours;) ranks[ends_of(ours, theirs)] = rank;
    }
  } catch (const std::exception& error) {
    throw Error(kRendezvousFailed,
                "The ranks of group '" + options.name + "' could not connect to each other: " + error.what());
  }
  return ranks;
}

}  // namespace

GlooLinks::GlooLinks(const NewSockets& sockets, const StorePtr& store, const GroupOptions& options)
    : silence_(options.patience.silence) {
  auto found = sockets.take();
  std::string own;
  for (const auto& socket : found) {
    const auto other = remote_end(socket.get());
    if (!other.empty()) own += ends_of(local_end(socket.get()), other) + "\n";
  }
  const auto ranks = exchange_ends(own, store, options);
  for (auto& socket : found) {
    const auto peer = ranks.find(ends_of(local_end(socket.get()), remote_end(socket.get())));
    if (peer == ranks.end()) continue;
    ask_when_idle(socket.get());
    links_.push_back({peer->second, std::move(socket)});
  }
#ifdef __linux__
  if (links_.size() + 1 < static_cast<size_t>(options.size)) {
    throw Error(kRendezvousFailed, "The ranks of group '" + options.name + "' could not connect to each other: rank " +
                                       std::to_string(options.rank) +
                                       " has a connection to a process that is not a rank of the job and that "
                                       "connected to one of its ports during the start");
  }
#endif
}

std::vector<ProcessGroup::Loss> GlooLinks::losses() const {
  using Kind = ProcessGroup::Loss::Kind;
  std::vector<ProcessGroup::Loss> losses;
  for (const auto& link : links_) {
    switch (state_of(link.socket.get(), silence_)) {
      case LinkState::kOpen: break;
      case LinkState::kClosed: losses.push_back({link.rank, Kind::kClosed}); break;
      case LinkState::kSilent: losses.push_back({link.rank, Kind::kSilent}); break;
      case LinkState::kDoubtful: losses.push_back({link.rank, Kind::kDoubtful}); break;
    }
  }
  return losses;
}

uint64_t GlooLinks::traffic() const {
  uint64_t bytes = 0;
  for (const auto& link : links_) bytes += traffic_of(link.socket.get());
  return bytes;
}

void GlooLinks::cut() const {
  for (const auto& link : links_) ::shutdown(link.socket.get(), SHUT_RDWR);
}

}  // namespace acc
