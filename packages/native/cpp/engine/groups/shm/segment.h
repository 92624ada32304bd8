#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace acc::shm {

// Numbers that describe a call. JavaScript defines their meaning. The first kComparedWords must be
// equal on all ranks; the rest are for error messages.
inline constexpr int kCallWords = 20;
inline constexpr int kComparedWords = 16;

// The state that one rank shows to the others. Cache lines that peers poll are separate from cache
// lines that change when a rank sleeps.
struct RankControl {
  // The last step that the rank published.
  alignas(128) std::atomic<uint32_t> arrived;
  std::atomic<uint32_t> has_left;
  // Indexed by the lowest bit of the call's number.
  uint64_t call_hash[2];
  int32_t call_words[2][kCallWords];
  // Peers increment it when something has changed for this rank. The rank's threads sleep on it
  // (futex).
  alignas(128) std::atomic<uint32_t> doorbell;
  std::atomic<uint32_t> sleepers;
  int32_t pid;
  int32_t fd;
};

// A sender fills up to so many blocks before its receiver empties one: 8 MiB. A rank that computes
// moves nothing, so a message that fits is there when the receiver asks for it.
inline constexpr uint32_t kChannelBlocks = 64;

// The state of messages from one rank to one other.
struct Channel {
  alignas(128) std::atomic<uint32_t> written;  // number of blocks the sender has filled
  // Which blocks these are, at the number of the filling modulo kChannelBlocks.
  std::atomic<uint8_t> places[kChannelBlocks];
  alignas(128) std::atomic<uint32_t> taken;
};

struct Header {
  uint64_t nonce;
  uint64_t bytes;
  // 0, or the reason why the group is broken and the rank that caused it; Ranks encodes it.
  alignas(128) std::atomic<uint64_t> broken;
};

// Memory that the ranks of one host share. It is a memfd: it has no name, and the kernel frees it
// when no process maps or holds it any more.
class Segment {
 public:
  // Why this system cannot share memory in this way; empty if it can.
  static std::string unavailable_reason();

  // `create` makes the memory. `open` opens descriptor `fd` of process `pid`. Both throw
  // ACC_ENGINE_UNAVAILABLE.
  static Segment create(int ranks, uint64_t nonce);
  static Segment open(int ranks, uint64_t nonce, int pid, int fd);

  Segment() = default;
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  ~Segment();

  int fd() const { return fd_; }
  // Whether descriptor `fd` of process `pid` refers to this memory.
  bool is_held_by(int pid, int fd) const;
  // Closes the descriptor. The mapping stays.
  void close_fd();

  Header& header() const { return *reinterpret_cast<Header*>(base_); }
  RankControl& control(int rank) const { return reinterpret_cast<RankControl*>(base_ + controls_)[rank]; }
  // Each rank has two step buffers, used in turn.
  uint8_t* buffer(int rank, uint32_t step) const {
    return base_ + buffers_ + (2 * static_cast<size_t>(rank) + (step & 1)) * kStepBytes;
  }
  Channel& channel(int from, int to) const { return reinterpret_cast<Channel*>(base_ + channels_)[from * ranks_ + to]; }
  uint8_t* block(int from, int to, uint32_t place) const {
    return base_ + blocks_ + (kChannelBlocks * static_cast<size_t>(from * ranks_ + to) + place) * kBlockBytes;
  }

  // The bytes that a rank can publish in one step. Half of them fit in a core's cache. There are
  // few steps, so a rank seldom loses its core between two of them.
  static constexpr size_t kStepBytes = 1536 * 1024;
  static constexpr size_t kBlockBytes = 128 * 1024;

 private:
  Segment(int ranks, int fd);
  void map();
  void unmap() noexcept;

  int ranks_ = 0;
  int fd_ = -1;
  uint8_t* base_ = nullptr;
  size_t controls_ = 0, channels_ = 0, buffers_ = 0, blocks_ = 0, bytes_ = 0;
};

}  // namespace acc::shm
