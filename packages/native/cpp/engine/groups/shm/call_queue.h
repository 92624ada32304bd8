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

// Runs calls one after the other, in the order in which they were started. A thread that waits for
// a call runs that call and the calls before it, unless another thread is running one. This is the
// fastest way. The queue's own thread runs calls that nobody waits for, after a delay. That thread
// has normal priority: a peer, or this rank's own wait, may depend on it while other programs use
// the cores.
class CallQueue {
 public:
  using Body = std::function<void()>;

  // Settings of the queue's own thread. `interval` is called by the thread that starts a call,
  // `is_wanted` by the queue's own thread.
  struct Background {
    // The time between two checks for calls. It is longer than the time to start a few calls and
    // then wait for them.
    std::function<std::chrono::milliseconds()> interval = [] { return kMoment; };
    // Whether the queue's thread may run a call that nobody in this process has asked for.
    std::function<bool()> is_wanted = [] { return true; };
  };
  static constexpr std::chrono::milliseconds kMoment{1};

  // `on_thread` runs first on the queue's thread.
  explicit CallQueue(Body on_thread) : CallQueue(std::move(on_thread), Background()) {}
  CallQueue(Body on_thread, Background background)
      : on_thread_(std::move(on_thread)), background_(std::move(background)) {}

  struct Call {
    Body body;
    std::chrono::steady_clock::time_point started;
    // True once somebody has asked whether this call, or a later one, is done.
    bool is_asked_for = false;
    bool is_done = false;
    std::exception_ptr error;
  };

  ~CallQueue();

  std::shared_ptr<Call> start(Body body);
  bool is_done(const std::shared_ptr<Call>& call);
  // Blocks until the call is done. Rethrows what the call threw.
  void wait(const std::shared_ptr<Call>& call);
  // Runs `body` after all calls that were started before it, and blocks until it is done.
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
  // Fails the calls that have not begun, and joins the queue's thread. The owner must end the call
  // that is running.
  void close();

 private:
  // Ends a turn when it goes out of scope, also after an exception.
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
  // `ended_` wakes threads that wait for a call that another thread runs. `waiting_` wakes the
  // queue's own thread.
  std::condition_variable ended_;
  std::condition_variable waiting_;
  std::deque<std::shared_ptr<Call>> calls_;
  bool is_running_ = false;
  bool is_closed_ = false;
  // `Background::interval` as of the last start.
  std::chrono::milliseconds interval_ = kMoment;
  // True while the queue's thread waits without a time limit. It must then be woken.
  bool is_asleep_ = false;
  std::chrono::steady_clock::time_point last_start_;
  std::thread thread_;
};

}  // namespace acc::shm
