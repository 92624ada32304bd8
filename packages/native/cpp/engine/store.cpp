#include "engine/store.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "engine/error.h"

namespace acc {
namespace {

struct AddressFree {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, AddressFree>;

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

AddressList resolve(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failure != 0) {
    throw Error(kRendezvousFailed, "host '" + host + "' cannot be resolved: " + gai_strerror(failure));
  }
  return AddressList(found);
}

// A listening socket on exactly the address that `host` names.
int listen_on(const StoreOptions& options) {
  const auto addresses = resolve(options.host, options.port);
  const addrinfo& address = *addresses;
  Socket listener(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (listener.get() < 0 || ::bind(listener.get(), address.ai_addr, address.ai_addrlen) != 0 ||
      ::listen(listener.get(), 1024) != 0) {
    const int code = errno;
    throw Error(code == EADDRINUSE ? kPortTaken : kRendezvousFailed,
                "cannot listen on " + options.host + ":" + std::to_string(options.port) + ": " +
                    std::strerror(code));
  }
  return listener.release();
}

}  // namespace

c10::intrusive_ptr<c10d::Store> connect_store(const StoreOptions& options) {
  c10d::TCPStoreOptions store_options;
  store_options.port = options.port;
  store_options.isServer = options.is_server;
  store_options.numWorkers = static_cast<size_t>(options.world_size);
  store_options.waitWorkers = false;
  store_options.timeout = options.timeout;
  if (options.is_server) store_options.masterListenFd = listen_on(options);
  try {
    return c10::make_intrusive<c10d::TCPStore>(options.host, store_options);
  } catch (const std::exception&) {
    const auto info = describe_current_exception(kRendezvousFailed);
    throw Error(kRendezvousFailed,
                "no connection to the store at " + options.host + ":" + std::to_string(options.port) + " within " +
                    std::to_string(options.timeout.count()) + " ms: " + info.message);
  }
}

}  // namespace acc
