#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/process_group.h"
#include "engine/watch/bulletin.h"
#include "engine/watch/call_log.h"
#include "engine/watch/verdict.h"

namespace acc {

// Looks after a group on a thread of its own, which goes on while the rank's main thread computes or waits: tells other ranks
// what this one is doing when somebody waits long, and finds out what an engine cannot: that ranks have died, do not answer,
// are late, or wait in different calls. Then every rank's calls fail, with the first verdict that any rank came to.
class Watch {
 public:
  // Engine must outlive it.
  Watch(ProcessGroup& engine, std::shared_ptr<StoreLine> line, const GroupOptions& options);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  CallLog& log() { return log_; }

  // To be called when the engine has failed a call: gives what broke the group, as soon as it is known, but waits no longer
  // than some seconds.
  Verdict explain_failure();
  // To be called when the engine has found out that ranks called different things: gives the verdict of all.
  Verdict report_mismatch(int32_t number);
  // Every rank's description of the call in which they differ, zeros where it did not come to it within some seconds: kCallWords
  // numbers each.
  std::vector<int32_t> words_of(int32_t number);

  // What this rank says of itself at the end, for the others.
  void publish(const std::string& report);
  // By rank: the report of each, else its calls as it last posted them (CallLog::text), else nothing. Waits for reports of ranks
  // that can still give one, no longer than some seconds.
  struct Account {
    bool is_report = false;
    std::string text;
  };
  std::vector<Account> accounts();

  // This rank leaves the group of its own will.
  void leave();

 private:
  using Clock = CallLog::Clock;

  void run();
  void tick();
  void look_for_verdict();
  void judge(const std::optional<CallLog::Entry>& waiting, bool has_failed);
  std::optional<Verdict> lost_ranks(const std::optional<CallLog::Entry>& waiting, bool has_failed);
  std::optional<Verdict> different_calls();
  std::optional<std::array<int32_t, kCallWords>> called_words(int rank, int32_t number);
  void wait_for_readers(Clock::time_point deadline);
  std::optional<std::vector<int>> late_ranks(const CallLog::Entry& waiting);
  // CallLog::text of every rank, or of one, as it last posted it.
  std::vector<std::string> posted_calls();
  std::string calls_of(int rank);
  std::vector<int> missing_ranks(const std::vector<std::string>& texts, int32_t number) const;
  void decide(Verdict verdict);
  void settle(const Verdict& verdict);
  bool is_lost(int rank) const;

  ProcessGroup& engine_;
  const GroupOptions options_;
  // The rank whose process keeps the store; -1 where it is not in the group.
  const int keeper_;
  Bulletin bulletin_;
  CallLog log_;

  // Of the thread.
  bool is_asked_ = false;
  bool is_inspector_ = false;
  Clock::time_point next_look_{};
  uint64_t traffic_ = 0;
  Clock::time_point moved_{};
  // What was posted when a call had taken too long though all ranks had come to it.
  struct Suspicion {
    Clock::time_point since;
    std::vector<std::string> texts;
  };
  std::optional<Suspicion> suspicion_;

  std::mutex words_mutex_;
  std::vector<int32_t> words_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_closed_ = false;
  bool has_failed_ = false;
  std::optional<Verdict> verdict_;
  std::thread thread_;
};

}  // namespace acc
