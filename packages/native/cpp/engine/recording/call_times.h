#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace acc {

// How long each call of a recording takes in its replays: a moving mean over the last ones. A call
// costs one reading of the clock, some 25 ns.
class CallTimes {
 public:
  void prepare(size_t calls, size_t segments) {
    mean_ms_.assign(calls, 0);
    spans_.assign(calls, {});
    replays_.assign(segments, 0);
  }

  void begin(size_t segment) {
    weight_ = 1.0 / static_cast<double>(std::min(++replays_[segment], kReplays));
    before_ = Clock::now();
  }

  // The calls of a segment end in their order.
  void end(size_t call) {
    const auto now = Clock::now();
    const std::chrono::duration<double, std::milli> taken = now - before_;
    spans_[call] = {before_, now};
    mean_ms_[call] += weight_ * (taken.count() - mean_ms_[call]);
    before_ = now;
  }

  double mean_ms(size_t call) const { return mean_ms_[call]; }

  // When each call of the last replay began and ended, in milliseconds of the steady clock.
  std::vector<double> last_ms() const {
    std::vector<double> times;
    times.reserve(2 * spans_.size());
    for (const auto& span : spans_) {
      for (const auto& at : {span.begin, span.end}) {
        times.push_back(std::chrono::duration<double, std::milli>(at.time_since_epoch()).count());
      }
    }
    return times;
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Span {
    Clock::time_point begin;
    Clock::time_point end;
  };

  // packages/kernels/src/recording/replay-times.ts weighs whole replays in the same way.
  static constexpr size_t kReplays = 32;

  std::vector<double> mean_ms_;
  std::vector<Span> spans_;
  std::vector<size_t> replays_;
  double weight_ = 1;
  Clock::time_point before_;
};

}  // namespace acc
