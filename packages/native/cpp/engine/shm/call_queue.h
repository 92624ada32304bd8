#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace acc::shm {

// Runs calls one after the other, in the order in which they were started. Whoever waits for a call runs it, and those
// before it, where nobody does yet: that is quickest. A thread runs calls that nobody waits for after a while. Its
// priority is the usual one, since a peer, or this rank's own wait, may hang on it while other programs want the cores.
class CallQueue {
 public:
  using Body = std::function<void()>;

  // What the thread does; asked by whoever starts a call, and by the thread.
  struct Background {
    // How often it looks for calls: longer than it takes to start a few and then wait for them.
    std::function<std::chrono::milliseconds()> interval = [] { return kMoment; };
    // Whether it is to run a call that nobody in this process has asked for.
    std::function<bool()> is_wanted = [] { return true; };
  };
  static constexpr std::chrono::milliseconds kMoment{1};

  // `on_thread` is called first on the thread.
  explicit CallQueue(Body on_thread) : CallQueue(std::move(on_thread), Background()) {}
  CallQueue(Body on_thread, Background background)
      : on_thread_(std::move(on_thread)), background_(std::move(background)) {}

  struct Call {
    Body body;
    std::chrono::steady_clock::time_point started;
    // Somebody has asked whether it, or one after it, is done.
    bool is_asked_for = false;
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

  void end_turn();
  void run_front(std::unique_lock<std::mutex>& lock);
  void run_in_background();
  bool is_due(const Call& call, std::chrono::steady_clock::time_point now) const;

  Body on_thread_;
  Background background_;
  std::mutex mutex_;
  // For those who wait for a call that another thread runs, and for the queue's own thread.
  std::condition_variable ended_;
  std::condition_variable waiting_;
  std::deque<std::shared_ptr<Call>> calls_;
  bool is_running_ = false;
  bool is_closed_ = false;
  // As it was when the last call was started.
  std::chrono::milliseconds interval_ = kMoment;
  // Whether the thread waits until it is woken, and not for a while only.
  bool is_asleep_ = false;
  std::chrono::steady_clock::time_point last_start_;
  std::thread thread_;
};

}  // namespace acc::shm
