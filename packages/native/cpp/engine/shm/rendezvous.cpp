#include "engine/shm/rendezvous.h"

#include <unistd.h>

#include <climits>
#include <random>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "engine/error.h"

namespace acc::shm {
namespace {

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

// Values that every rank gives and all read.
class Meeting {
 public:
  Meeting(const c10::intrusive_ptr<c10d::Store>& store, const GroupOptions& options)
      : store_(c10::make_intrusive<c10d::PrefixStore>(options.name, store)), options_(options) {}

  void give(const std::string& key, const std::string& value) {
    store_->set(key + "/" + std::to_string(options_.rank), std::vector<uint8_t>(value.begin(), value.end()));
  }

  std::string take(const std::string& key, int rank) {
    const auto name = key + "/" + std::to_string(rank);
    try {
      store_->wait({name}, options_.timeout);
      const auto value = store_->get(name);
      return {value.begin(), value.end()};
    } catch (const std::exception& error) {
      throw Error(kRendezvousFailed, "rank " + std::to_string(rank) + " did not come within " +
                                         std::to_string(options_.timeout.count()) + " ms: " + error.what());
    }
  }

  // Runs `body` and then compares how it went everywhere.
  void together(const std::string& name, const std::function<void()>& body) {
    std::string failure;
    try {
      body();
    } catch (const Error& error) {
      if (error.code() != std::string(kEngineUnavailable)) throw;
      failure = error.what();
    }
    give(name, failure);
    std::string failures;
    for (int rank = 0; rank < options_.size; ++rank) {
      const auto reason = take(name, rank);
      if (!reason.empty()) failures += "\n  rank " + std::to_string(rank) + ": " + reason;
    }
    if (!failures.empty()) throw Error(kEngineUnavailable, "ranks cannot share memory:" + failures);
  }

 private:
  c10::intrusive_ptr<c10d::Store> store_;
  const GroupOptions& options_;
};

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

Segment make_or_open(Meeting& meeting, const GroupOptions& options) {
  if (options.rank == 0) {
    const auto nonce = random_number();
    auto segment = Segment::create(options.size, nonce);
    meeting.give("place", std::to_string(nonce) + " " + std::to_string(::getpid()) + " " +
                              std::to_string(segment.fd()) + " " + host_name());
    return segment;
  }
  const auto text = meeting.take("place", 0);
  if (text.empty()) throw Error(kEngineUnavailable, "rank 0 has none");
  const auto place = place_from(text);
  if (place.host != host_name()) {
    throw Error(kEngineUnavailable, "is on host " + host_name() + ", rank 0 on " + place.host);
  }
  return Segment::open(options.size, place.nonce, place.pid, place.fd);
}

}  // namespace

void meet(const c10::intrusive_ptr<c10d::Store>& store, const GroupOptions& options,
          const std::function<void(Segment)>& attach) {
  Meeting meeting(store, options);
  Segment segment;
  meeting.together("opened", [&] {
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
  meeting.together("attached", [&] { attach(std::move(segment)); });
}

}  // namespace acc::shm
