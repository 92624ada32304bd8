#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "engine/groups/process_group.h"

namespace acc {

// The calls of one group of Gloo that have not ended, so that a cut of the connections ends the
// waits for them. Gloo alone does not: when a connection is lost, it fails the messages that have not
// begun, but a message that is half transferred goes on until its own time-out
// (gloo/transport/tcp/pair.cc: signalException() does not visit `rx_`, nor unbound buffers of `tx_`).
class GlooCalls final : public std::enable_shared_from_this<GlooCalls> {
 public:
  using Work = c10::intrusive_ptr<c10d::Work>;

  // `timeout` is the time limit of a wait. Gloo ends nearly every call within `grace` after a cut.
  GlooCalls(std::chrono::milliseconds timeout, std::chrono::milliseconds grace) : timeout_(timeout), grace_(grace) {}

  // The pending result of a work that was started: an AsyncWork, SendWork or RecvWork. Its wait()
  // throws ACC_PEER_LOST if the work had not ended at the cut.
  std::shared_ptr<Pending> pending(Work work);

  // Ends all waits, also later ones.
  void cut();

  // Keeps the backend until its calls have ended, so that its destructor, which waits for them, does
  // not block the caller. Call it after cut().
  void outlive(c10::intrusive_ptr<c10d::Backend> backend);

 private:
  class Collective;
  class Message;

  bool is_cut();

  const std::chrono::milliseconds timeout_;
  const std::chrono::milliseconds grace_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_cut_ = false;
  int running_ = 0;
  // Messages that a thread waits for.
  std::set<c10d::Work*> awaited_;
};

}  // namespace acc
