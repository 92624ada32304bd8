#include "engine/groups/store.h"

#include <c10/util/Flags.h>
#include <c10/util/Logging.h>
#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "engine/error.h"

namespace acc {
namespace {

// The time-out of a watch's request to the store.
constexpr std::chrono::milliseconds kLinePatience(3000);

struct AddressFree {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, AddressFree>;

AddressList resolve(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failure != 0) {
    throw Error(kRendezvousFailed, "The host name '" + host + "' cannot be resolved: " + gai_strerror(failure));
  }
  return AddressList(found);
}

// A socket that listens only on the address that `host` names.
Fd listen_on(const StoreOptions& options) {
  const auto addresses = resolve(options.host, options.port);
  const addrinfo& address = *addresses;
  Fd listener(::socket(address.ai_family, SOCK_STREAM, 0));
  ::fcntl(listener.get(), F_SETFD, FD_CLOEXEC);
  const int on = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (listener.get() < 0 || ::bind(listener.get(), address.ai_addr, address.ai_addrlen) != 0 ||
      ::listen(listener.get(), 1024) != 0) {
    const int code = errno;
    throw Error(code == EADDRINUSE ? kPortTaken : kRendezvousFailed,
                "cannot listen on " + options.host + ":" + std::to_string(options.port) + ": " +
                    std::strerror(code));
  }
  return listener;
}

// Sets a receive time-out on the new connections to the store, for a store that no longer answers.
// Waits for a key have c10d's own time-out.
void limit_new_connections(const NewSockets& sockets, uint16_t port, std::chrono::milliseconds timeout) {
  const auto ending = ":" + std::to_string(port);
  for (const auto& socket : sockets.take()) {
    const auto end = remote_end(socket.get());
    if (end.size() > ending.size() && end.compare(end.size() - ending.size(), ending.size(), ending) == 0) {
      limit_receiving(socket.get(), timeout);
    }
  }
}

// Silences c10d's warnings about connections, which come with its own stack traces: our errors
// report these failures. A level that the user has set is kept.
void quieten_c10d() {
  if (std::getenv("TORCH_CPP_LOG_LEVEL") == nullptr) FLAGS_caffe2_log_level = c10::GLOG_ERROR;
}

}  // namespace

std::shared_ptr<JobStore> JobStore::connect(const StoreOptions& options) {
  quieten_c10d();
  c10d::TCPStoreOptions store_options;
  store_options.port = options.port;
  store_options.isServer = options.is_server;
  store_options.numWorkers = static_cast<size_t>(options.world_size);
  store_options.waitWorkers = false;
  store_options.timeout = options.timeout;
  Fd door;
  if (options.is_server) {
    auto listener = listen_on(options);
    door = duplicate_of(listener.get());
    store_options.masterListenFd = listener.release();
  }
  try {
    const NewSockets sockets;
    auto keys = c10::make_intrusive<c10d::TCPStore>(options.host, store_options);
    limit_new_connections(sockets, options.port, options.timeout);
    return std::make_shared<JobStore>(std::move(keys), std::move(door), options);
  } catch (const std::exception&) {
    const auto info = describe_current_exception(kRendezvousFailed);
    throw Error(kRendezvousFailed,
                "No connection to the store at " + options.host + ":" + std::to_string(options.port) + " within " +
                    std::to_string(options.timeout.count()) + " ms: " + info.message);
  }
}

std::shared_ptr<StoreLine> JobStore::watch_line() {
  const std::lock_guard guard(line_mutex_);
  if (!line_) {
    const NewSockets sockets;
    line_ = std::make_shared<StoreLine>(keys_->clone());
    limit_new_connections(sockets, options_.port, kLinePatience);
  }
  return line_;
}

DoorReport JobStore::close_door() {
  if (listener_.get() < 0) return {};
  refuse_newcomers(listener_.get());
  const auto report = watch_->end();
  watch_.reset();
  listener_.reset();
  return report;
}

}  // namespace acc
