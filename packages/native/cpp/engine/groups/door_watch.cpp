#include "engine/groups/door_watch.h"

#include <sys/socket.h>

#include <algorithm>
#include <iterator>
#include <new>

namespace acc {
namespace {

using std::chrono::milliseconds;

// A look costs a few system calls for each descriptor of the process. It takes at most a twentieth of a
// core, unless there are thousands of them.
constexpr int kPausesForLook = 20;
constexpr milliseconds kShortestPause(10);
constexpr milliseconds kLongestPause(50);

// A rank that joins sends about 5 KiB in 80 packets, and 1 KiB in 8 packets more for each other rank.
// While it waits for ranks, it asks twice in a pause of at most 100 ms, with 70 bytes each, and some 60
// times in the first second.
constexpr uint64_t kBytes = 64 << 10;
constexpr uint64_t kBytesForRank = 4 << 10;
constexpr uint64_t kBytesForSecond = 8 << 10;
// The store keeps each packet of an incomplete message in a buffer of 4 KiB.
constexpr uint64_t kPackets = 512;
constexpr uint64_t kPacketsForRank = 32;
constexpr uint64_t kPacketsForSecond = 64;
// Of all connections, beyond what the ranks send. Values stay in the store when a connection is gone.
constexpr uint64_t kMoreBytesOfAll = 64 << 20;
// A rank has two connections at the same time, and may connect again.
constexpr size_t kConnectionsForRank = 4;
constexpr size_t kMoreConnections = 64;
// A rank speaks as soon as it is connected. One that is ended before connects again.
constexpr std::chrono::seconds kLongestSilence(10);

template <typename Duration>
uint64_t seconds_of(Duration time) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(time).count());
}

}  // namespace

DoorWatch::DoorWatch(int listener, int world_size) : listener_(listener), ranks_(static_cast<uint64_t>(world_size)) {
#ifdef __linux__
  thread_ = std::thread([this] { watch(); });
#endif
}

DoorWatch::~DoorWatch() { end(); }

DoorReport DoorWatch::end() {
  {
    const std::lock_guard guard(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  if (thread_.joinable()) thread_.join();
  return report_;
}

void DoorWatch::watch() {
  std::unique_lock lock(mutex_);
  Clock::duration pause = kShortestPause;
  while (!over_.wait_for(lock, pause, [this] { return is_over_; })) {
    const auto start = Clock::now();
    try {
      look();
    } catch (const std::bad_alloc&) {
      // Memory may be there at the next look.
    }
    pause = std::clamp<Clock::duration>(kPausesForLook * (Clock::now() - start), kShortestPause, kLongestPause);
  }
}

void DoorWatch::look() {
  const auto now = Clock::now();
  ++looks_;
  const bool is_complete = for_each_accepted(listener_, [&](int fd, uint64_t number) {
    auto& connection = connections_[number];
    if (connection.look == 0) {
      connection.since = now;
      connection.address = address_of(remote_end(fd));
    }
    connection.look = looks_;
    connection.received = received_by(fd);
    has_counts_ = has_counts_ || connection.received.bytes > 0;
  });
  uint64_t bytes = 0;
  for (auto place = connections_.begin(); place != connections_.end();) {
    const auto& [number, connection] = *place;
    // One that was missed may be there.
    const bool is_gone = is_complete && connection.look != looks_;
    (is_gone ? bytes_of_gone_ : bytes) += connection.received.bytes;
    place = is_gone ? connections_.erase(place) : std::next(place);
  }
  end_strangers(now);
  if (report_.is_full || bytes_of_gone_ + bytes <= kMoreBytesOfAll + ranks_ * bytes_of_rank(start_, now)) return;
  refuse_newcomers(listener_);
  report_.is_full = true;
}

void DoorWatch::end_strangers(Clock::time_point now) {
  std::vector<Connection*> open;
  bool are_chosen = false;
  for (auto& [number, connection] : connections_) {
    connection.must_end = connection.must_end || breaks_limit(connection, now);
    are_chosen = are_chosen || (connection.must_end && !connection.is_ended);
    if (!connection.must_end) open.push_back(&connection);
  }
  if (open.size() > kConnectionsForRank * ranks_ + kMoreConnections) {
    choose_superfluous(std::move(open));
    are_chosen = true;
  }
  if (!are_chosen) return;
  for_each_accepted(listener_, [&](int fd, uint64_t number) {
    const auto place = connections_.find(number);
    if (place == connections_.end() || !place->second.must_end || place->second.is_ended) return;
    // The store then reads the end of the connection, and closes it.
    ::shutdown(fd, SHUT_RDWR);
    place->second.is_ended = true;
    ++report_.ended;
  });
}

void DoorWatch::choose_superfluous(std::vector<Connection*> open) {
  std::map<std::string, size_t> counts;
  for (const auto* one : open) ++counts[one->address];
  std::sort(open.begin(), open.end(), [&](const Connection* one, const Connection* other) {
    const bool is_one_silent = is_silent(*one);
    if (is_one_silent != is_silent(*other)) return is_one_silent;
    if (is_one_silent) return one->since < other->since;
    const size_t count = counts.at(one->address);
    const size_t other_count = counts.at(other->address);
    return count == other_count ? one->since > other->since : count > other_count;
  });
  const size_t most = kConnectionsForRank * ranks_ + kMoreConnections;
  for (size_t index = 0; index + most < open.size(); ++index) open[index]->must_end = true;
}

bool DoorWatch::breaks_limit(const Connection& connection, Clock::time_point now) const {
  const auto time = now - connection.since;
  if (is_silent(connection)) return time > kLongestSilence;
  const auto most_packets = kPackets + kPacketsForRank * ranks_ + kPacketsForSecond * seconds_of(time);
  return connection.received.packets > most_packets || connection.received.bytes > bytes_of_rank(connection.since, now);
}

bool DoorWatch::is_silent(const Connection& connection) const {
  return has_counts_ && connection.received.bytes == 0;
}

uint64_t DoorWatch::bytes_of_rank(Clock::time_point since, Clock::time_point now) const {
  return kBytes + kBytesForRank * ranks_ + kBytesForSecond * seconds_of(now - since);
}

}  // namespace acc
