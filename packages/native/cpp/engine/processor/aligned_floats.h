#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace acc {

// Floats from the beginning of a cache line on, so that vectors do not cross two. They are not set.
class AlignedFloats {
 public:
  static constexpr size_t kFloatsInLine = 16;

  AlignedFloats() = default;
  explicit AlignedFloats(size_t size)
      : size_(size), memory_(static_cast<float*>(::operator new(size * sizeof(float), kAlignment))) {}
  AlignedFloats(AlignedFloats&& other) noexcept
      : size_(std::exchange(other.size_, 0)), memory_(std::move(other.memory_)) {}
  AlignedFloats& operator=(AlignedFloats&& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    memory_ = std::move(other.memory_);
    return *this;
  }

  size_t size() const { return size_; }
  float* data() const { return memory_.get(); }

  // Memory for `size` floats. If there is less, the old memory and its floats are gone.
  float* at_least(size_t size) {
    if (size > size_) {
      *this = {};
      *this = AlignedFloats(size);
    }
    return data();
  }

 private:
  static constexpr std::align_val_t kAlignment{kFloatsInLine * sizeof(float)};

  struct Free {
    void operator()(float* memory) const { ::operator delete(memory, kAlignment); }
  };

  size_t size_ = 0;
  std::unique_ptr<float, Free> memory_;
};

}  // namespace acc
