#include "engine/groups/shm/rendezvous.h"

#include <unistd.h>

#include <climits>
#include <random>

#include "engine/error.h"
#include "engine/groups/meeting.h"

namespace acc::shm {
namespace {

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

struct Place {
  uint64_t nonce;
  int pid;
  int fd;
  std::string host;
};

Place place_from(const std::string& text) {
  Place place{};
  size_t at = 0;
  const auto next = [&] {
    const size_t start = at;
    at = text.find(' ', start) + 1;
    return text.substr(start, at - 1 - start);
  };
  place.nonce = std::stoull(next());
  place.pid = std::stoi(next());
  place.fd = std::stoi(next());
  place.host = text.substr(at);
  return place;
}

uint64_t random_number() {
  std::random_device device;
  return static_cast<uint64_t>(device()) << 32 | device();
}

Segment make_or_open(const Meeting& meeting, const GroupOptions& options) {
  if (options.rank == 0) {
    const auto nonce = random_number();
    auto segment = Segment::create(options.size, nonce);
    meeting.give("place", std::to_string(nonce) + " " + std::to_string(::getpid()) + " " +
                              std::to_string(segment.fd()) + " " + host_name());
    return segment;
  }
  const auto text = meeting.take("place", 0);
  if (text.empty()) throw Error(kEngineUnavailable, "rank 0 could not create the shared memory");
  const auto place = place_from(text);
  if (place.host != host_name()) {
    throw Error(kEngineUnavailable, "it is on host " + host_name() + ", but rank 0 is on host " + place.host);
  }
  return Segment::open(options.size, place.nonce, place.pid, place.fd);
}

}  // namespace

void meet(const c10::intrusive_ptr<c10d::Store>& store, const GroupOptions& options,
          const std::function<void(Segment)>& attach) {
  const Meeting meeting(store, options);
  Segment segment;
  meeting.together("opened", kNoSharedMemory, [&] {
    try {
      segment = make_or_open(meeting, options);
    } catch (const Error&) {
      if (options.rank == 0) meeting.give("place", "");
      throw;
    }
    auto& own = segment.control(options.rank);
    own.pid = ::getpid();
    own.fd = segment.fd();
  });
  meeting.together("attached", kNoSharedMemory, [&] { attach(std::move(segment)); });
}

}  // namespace acc::shm
