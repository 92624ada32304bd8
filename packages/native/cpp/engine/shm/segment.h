#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace acc::shm {

// Numbers that describe a call; their meaning is JavaScript's. Ranks must have the first ones alike, the rest is for
// messages.
inline constexpr int kCallWords = 20;
inline constexpr int kComparedWords = 16;

// What one rank shows to the others. Lines that peers poll lie apart from those that change with sleeping.
struct RankControl {
  // The last step that the rank has published.
  alignas(128) std::atomic<uint32_t> arrived;
  std::atomic<uint32_t> has_left;
  // Of the calls with even and with odd numbers.
  uint64_t call_hash[2];
  int32_t call_words[2][kCallWords];
  // Rung by peers when something has changed for this rank; its threads sleep on it.
  alignas(128) std::atomic<uint32_t> doorbell;
  std::atomic<uint32_t> sleepers;
  int32_t pid;
  int32_t fd;
};

// The way of messages from one rank to one other.
struct Channel {
  alignas(128) std::atomic<uint32_t> written;  // blocks
  alignas(128) std::atomic<uint32_t> taken;
};

struct Header {
  uint64_t nonce;
  uint64_t bytes;
  // Why the group is broken, once it is: see Ranks.
  alignas(128) std::atomic<uint64_t> broken;
};

// Memory that the ranks of a host share. It is a memfd: it has no name, and goes with the last process that maps it.
class Segment {
 public:
  // Why this system cannot share memory so; empty where it can.
  static std::string unavailable_reason();

  // Makes it, or opens that of process `pid`. Throws ACC_ENGINE_UNAVAILABLE.
  static Segment create(int ranks, uint64_t nonce);
  static Segment open(int ranks, uint64_t nonce, int pid, int fd);

  Segment() = default;
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  ~Segment();

  int fd() const { return fd_; }
  // Whether file descriptor `fd` of process `pid` is this memory.
  bool is_held_by(int pid, int fd) const;
  // The mapping stays.
  void close_fd();

  Header& header() const { return *reinterpret_cast<Header*>(base_); }
  RankControl& control(int rank) const { return reinterpret_cast<RankControl*>(base_ + controls_)[rank]; }
  // Two step buffers of each rank, used in turn.
  uint8_t* buffer(int rank, uint32_t step) const {
    return base_ + buffers_ + (2 * static_cast<size_t>(rank) + (step & 1)) * kStepBytes;
  }
  Channel& channel(int from, int to) const { return reinterpret_cast<Channel*>(base_ + channels_)[from * ranks_ + to]; }
  uint8_t* block(int from, int to, uint32_t number) const {
    return base_ + blocks_ + (2 * static_cast<size_t>(from * ranks_ + to) + (number & 1)) * kBlockBytes;
  }

  // What a rank shows at a time. Half of it stays in a core's cache, and a rank that loses its core for a while does so
  // seldom between two steps.
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
