#include "engine/groups/sockets.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#ifdef __linux__
#include <linux/filter.h>
#include <linux/tcp.h>
#endif

#include <array>
#include <cerrno>
#include <cstdlib>

#include "engine/files/file_facts.h"

namespace acc {
namespace {

// The socket's inode number, equal for all of its descriptors; 0 if `fd` is not a TCP socket.
uint64_t number_of(int fd) {
  const auto facts = facts_of(fd);
  if (!facts || !facts->is_socket) return 0;
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family != AF_INET && address.ss_family != AF_INET6) return 0;
  int type = 0;
  size = sizeof type;
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) return 0;
  return facts->inode;
}

// Whether the descriptors could be listed.
template <typename Visit>
bool for_each_socket(Visit visit) {
  DIR* list = ::opendir("/dev/fd");
  if (list == nullptr) return false;
  while (const auto* entry = ::readdir(list)) {
    char* end = nullptr;
    const auto fd = static_cast<int>(std::strtol(entry->d_name, &end, 10));
    if (*end != '\0' || fd == ::dirfd(list)) continue;
    if (const auto number = number_of(fd); number != 0) visit(fd, number);
  }
  ::closedir(list);
  return true;
}

using EndOf = int (*)(int, sockaddr*, socklen_t*);

std::string end_of(int fd, EndOf name) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (name(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    return std::string(text.data()) + ":" + std::to_string(ntohs(v4.sin_port));
  }
  if (address.ss_family != AF_INET6) return {};
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  return "[" + std::string(text.data()) + "]:" + std::to_string(ntohs(v6.sin6_port));
}

std::string port_of(const std::string& end) { return end.substr(end.rfind(':') + 1); }

// Whether a connection whose own end is `end` can come from a socket that listens at `listening`.
bool is_end_of(const std::string& listening, const std::string& end) {
  const auto address = address_of(listening);
  if (address != "0.0.0.0" && address != "[::]") return end == listening;
  return port_of(end) == port_of(listening);
}

#ifdef __linux__
// TCP_ESTABLISHED of the kernel, which linux/tcp.h does not define.
constexpr int kEstablished = 1;

bool read_info(int fd, tcp_info& info) {
  socklen_t size = sizeof info;
  return ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0;
}
#endif

}  // namespace

NewSockets::NewSockets() {
  for_each_socket([&](int, uint64_t number) { before_.insert(number); });
}

std::vector<Fd> NewSockets::take() const {
  std::vector<Fd> found;
  for_each_socket([&](int fd, uint64_t number) {
    if (before_.count(number) == 0) found.push_back(duplicate_of(fd));
  });
  return found;
}

bool for_each_accepted(int listener, const std::function<void(int fd, uint64_t number)>& visit) {
  const auto listening = local_end(listener);
  bool is_complete = true;
  const bool is_listed = for_each_socket([&](int fd, uint64_t) {
    if (!is_end_of(listening, local_end(fd))) return;
    // The descriptor may be closed, and used again, at any time. The duplicate stays.
    const Fd socket = duplicate_of(fd);
    if (socket.get() < 0) {
      is_complete = is_complete && errno == EBADF;
      return;
    }
    const auto number = number_of(socket.get());
    if (number == 0 || is_listening(socket.get()) || !is_end_of(listening, local_end(socket.get()))) return;
    visit(socket.get(), number);
  });
  return is_listed && is_complete;
}

Fd duplicate_of(int fd) { return Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

bool is_listening(int fd) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value != 0;
}

std::string local_end(int fd) { return end_of(fd, ::getsockname); }
std::string remote_end(int fd) { return end_of(fd, ::getpeername); }
std::string address_of(const std::string& end) { return end.substr(0, end.rfind(':')); }

void limit_receiving(int fd, std::chrono::milliseconds timeout) {
  timeval limit{};
  limit.tv_sec = static_cast<time_t>(timeout.count() / 1000);
  limit.tv_usec = static_cast<suseconds_t>(timeout.count() % 1000 * 1000);
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

#ifdef __linux__

void refuse_newcomers(int listener) {
  // A filter that accepts nothing: the kernel drops packets for the socket before it processes
  // them.
  sock_filter nothing{BPF_RET | BPF_K, 0, 0, 0};
  const sock_fprog program{1, &nothing};
  ::setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

void ask_when_idle(int fd) {
  const int on = 1;
  const int second = 1;
  // More probes than state_of() needs to report a silent host.
  const int times = 30;
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &second, sizeof second);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &second, sizeof second);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
}

LinkState state_of(int fd, std::chrono::milliseconds silence) {
  tcp_info info{};
  if (!read_info(fd, info)) return LinkState::kClosed;
  if (info.tcpi_state != kEstablished) return LinkState::kClosed;
  const bool waits_for_answer = info.tcpi_unacked > 0 || info.tcpi_probes > 0;
  if (!waits_for_answer || info.tcpi_last_ack_recv < kDoubt.count()) return LinkState::kOpen;
  return info.tcpi_last_ack_recv > silence.count() ? LinkState::kSilent : LinkState::kDoubtful;
}

Received received_by(int fd) {
  tcp_info info{};
  if (!read_info(fd, info)) return {};
  return {info.tcpi_bytes_received, info.tcpi_data_segs_in};
}

uint64_t traffic_of(int fd) {
  tcp_info info{};
  return read_info(fd, info) ? info.tcpi_bytes_acked + info.tcpi_bytes_received : 0;
}

#else

void refuse_newcomers(int) {}
void ask_when_idle(int) {}
LinkState state_of(int, std::chrono::milliseconds) { return LinkState::kOpen; }
Received received_by(int) { return {}; }
uint64_t traffic_of(int) { return 0; }

#endif

}  // namespace acc
