#include "engine/groups/shm/segment.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <utility>

#include "engine/error.h"
#include "engine/files/file_facts.h"

namespace acc::shm {
namespace {

constexpr size_t kPage = 4096;
size_t in_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

[[noreturn]] void unavailable(const std::string& what) {
  throw Error(kEngineUnavailable, what + ": " + std::strerror(errno));
}

std::string path_of(int pid, int fd) { return "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd); }

}  // namespace

std::string Segment::unavailable_reason() {
  const int memory = ::memfd_create("acc-probe", MFD_CLOEXEC);
  if (memory < 0) return std::string("memfd_create failed: ") + std::strerror(errno);
  ::close(memory);
  const auto process = static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0));
  if (process < 0) return std::string("pidfd_open failed, which needs Linux 5.3: ") + std::strerror(errno);
  ::close(process);
  return {};
}

Segment::Segment(int ranks, int fd) : ranks_(ranks), fd_(fd) {
  const auto count = static_cast<size_t>(ranks);
  controls_ = in_pages(sizeof(Header));
  channels_ = controls_ + in_pages(count * sizeof(RankControl));
  buffers_ = channels_ + in_pages(count * count * sizeof(Channel));
  blocks_ = buffers_ + count * 2 * kStepBytes;
  bytes_ = blocks_ + count * count * kChannelBlocks * kBlockBytes;
}

Segment Segment::create(int ranks, uint64_t nonce) {
  Segment segment(ranks, ::memfd_create("acc-collectives", MFD_CLOEXEC));
  if (segment.fd_ < 0) unavailable("memfd_create failed");
  // The kernel allocates a page on first use, so blocks that are never filled cost no memory.
  if (::ftruncate(segment.fd_, static_cast<off_t>(segment.bytes_)) != 0) unavailable("ftruncate failed");
  segment.map();
  segment.header().bytes = segment.bytes_;
  segment.header().nonce = nonce;
  return segment;
}

Segment Segment::open(int ranks, uint64_t nonce, int pid, int fd) {
  const auto path = path_of(pid, fd);
  Segment segment(ranks, ::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (segment.fd_ < 0) unavailable("the shared memory of rank 0 (" + path + ") cannot be opened");
  const auto facts = facts_of(segment.fd_);
  // On another host or in another pid namespace, the path may be any file.
  if (!facts || facts->bytes != segment.bytes_) {
    throw Error(kEngineUnavailable, path + " is not the shared memory of rank 0");
  }
  segment.map();
  if (segment.header().nonce != nonce) throw Error(kEngineUnavailable, path + " is not the shared memory of rank 0");
  return segment;
}

void Segment::map() {
  void* address = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (address == MAP_FAILED) unavailable("mmap");
  base_ = static_cast<uint8_t*>(address);
}

bool Segment::is_held_by(int pid, int fd) const {
  const auto own = facts_of(fd_);
  const auto theirs = facts_of(path_of(pid, fd).c_str());
  return own && theirs && own->device == theirs->device && own->inode == theirs->inode;
}

void Segment::close_fd() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void Segment::unmap() noexcept {
  if (base_ != nullptr) ::munmap(std::exchange(base_, nullptr), bytes_);
  close_fd();
}

Segment::Segment(Segment&& other) noexcept { *this = std::move(other); }

Segment& Segment::operator=(Segment&& other) noexcept {
  if (this == &other) return *this;
  unmap();
  ranks_ = other.ranks_;
  controls_ = other.controls_;
  channels_ = other.channels_;
  buffers_ = other.buffers_;
  blocks_ = other.blocks_;
  bytes_ = other.bytes_;
  fd_ = std::exchange(other.fd_, -1);
  base_ = std::exchange(other.base_, nullptr);
  return *this;
}

Segment::~Segment() { unmap(); }

}  // namespace acc::shm
