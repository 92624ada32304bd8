#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace acc::shm {

// The memory of several tensors, addressed as one sequence of bytes.
class Pieces {
 public:
  Pieces() = default;
  Pieces(void* data, size_t bytes) { add(data, bytes); }

  void add(void* data, size_t bytes) {
    if (bytes == 0) return;
    pieces_.push_back({static_cast<uint8_t*>(data), bytes_, bytes});
    bytes_ += bytes;
  }

  size_t bytes() const { return bytes_; }

  // Calls `visit(data, offset, bytes)` for each contiguous part of the range of `bytes` bytes from
  // `start` on. `offset` is relative to `start`.
  template <typename Visit>
  void visit(size_t start, size_t bytes, Visit visit) const {
    const size_t end = start + bytes;
    for (size_t i = piece_at(start); i < pieces_.size() && pieces_[i].start < end; ++i) {
      const auto& piece = pieces_[i];
      const size_t from = std::max(start, piece.start);
      const size_t to = std::min(end, piece.start + piece.bytes);
      if (to > from) visit(piece.data + (from - piece.start), from - start, to - from);
    }
  }

 private:
  struct Piece {
    uint8_t* data;
    size_t start;
    size_t bytes;
  };

  // The index of the piece that contains byte `at`.
  size_t piece_at(size_t at) const {
    const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), at,
                                        [](size_t at, const Piece& piece) { return at < piece.start; });
    return after == pieces_.begin() ? 0 : static_cast<size_t>(after - pieces_.begin()) - 1;
  }

  std::vector<Piece> pieces_;
  size_t bytes_ = 0;
};

}  // namespace acc::shm
