#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace acc::shm {

// Runs calls one after the other, in the order in which they were started. Whoever waits for a call runs it, and those
// before it, where nobody does yet. Calls that nobody waits for are run by a thread of their own, at the lowest
// priority: on cores that compute it would only take time from them.
class CallQueue {
 public:
  using Body = std::function<void()>;
  struct Call {
    Body body;
    bool is_done = false;
    std::exception_ptr error;
  };

  ~CallQueue();

  std::shared_ptr<Call> start(Body body);
  bool is_done(const std::shared_ptr<Call>& call);
  // Throws what the call threw.
  void wait(const std::shared_ptr<Call>& call);
  // Runs `body` after all others.
  template <typename RunNow>
  void run(RunNow&& body) {
    {
      std::unique_lock lock(mutex_);
      if (is_running_ || !calls_.empty()) {
        lock.unlock();
        return wait(start(std::forward<RunNow>(body)));
      }
      is_running_ = true;
    }
    const Turn turn(*this);
    body();
  }
  // Calls that wait to be run fail; the one under way must be ended by its owner.
  void close();

 private:
  // Ends a turn whatever happens.
  class Turn {
   public:
    explicit Turn(CallQueue& queue) : queue_(queue) {}
    ~Turn();

   private:
    CallQueue& queue_;
  };

  void run_front(std::unique_lock<std::mutex>& lock);
  void run_in_background();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Call>> calls_;
  bool is_running_ = false;
  bool is_closed_ = false;
  std::thread thread_;
};

}  // namespace acc::shm
