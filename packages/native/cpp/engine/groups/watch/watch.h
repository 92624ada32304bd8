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

#include "engine/groups/process_group.h"
#include "engine/groups/watch/bulletin.h"
#include "engine/groups/watch/call_log.h"
#include "engine/groups/watch/deadlock_search.h"
#include "engine/groups/watch/followed_calls.h"
#include "engine/groups/watch/verdict.h"

namespace acc {

// Monitors a group on a thread of its own, which keeps running while the rank's main thread
// computes or waits. It tells other ranks what this rank is doing when somebody waits long. It
// detects what an engine cannot: ranks that have died, do not answer, are late, or wait in
// different calls. Then the calls of every rank fail, with the first verdict that any rank
// published.
class Watch {
 public:
  // `engine` must outlive the watch.
  Watch(ProcessGroup& engine, std::shared_ptr<StoreLine> line, const GroupOptions& options);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  CallLog& log() { return log_; }

  // Watches a call for which the device waits, until it is done. If it fails, or the group does, values
  // on the device are noted as lost.
  void follow(uint64_t ticket, std::shared_ptr<Pending> work);
  // Waits for the calls that are followed, before the group is closed on purpose.
  void finish_followed();
  // The group ends, and so do the calls that are followed.
  void drop_followed();

  // Call it when the engine has failed a call. Returns the group's verdict as soon as it is known.
  // Without one, one second after a host would count as silent, it proposes the verdict that the
  // engine failed on this rank.
  Verdict explain_failure();
  // Call it when the engine has detected that ranks made different calls. Returns the verdict of
  // all ranks.
  Verdict report_mismatch(int32_t number);
  // Whether ranks of this group wait for each other in several groups. Asks the store.
  bool is_deadlocked();
  // Every rank's description of call `number`, kCallWords numbers each. A rank that does not come
  // to the call within 8 seconds gets zeros.
  std::vector<int32_t> words_of(int32_t number);

  // What a message about a long wait says of collective `number`, while the rank itself is blocked.
  void note(int32_t number, const std::string& call);

  // Publishes this rank's final report on `topic` for the other ranks.
  void publish(const std::string& topic, const std::string& report);
  // The account of one rank: its report on the topic, else its calls as it last posted them (CallLog::text),
  // else an empty text. accounts() returns one per rank. It waits at most 3 seconds for the reports
  // of ranks that are not lost.
  struct Account {
    bool is_report = false;
    std::string text;
  };
  std::vector<Account> accounts(const std::string& topic);

  // Announces that this rank closes the group on purpose.
  void leave();

 private:
  using Clock = CallLog::Clock;

  void run();
  void tick();
  // Notes that the device has waited for calls in vain, because of the verdict.
  void lose_values(const Verdict& verdict);
  void look_for_verdict();
  void look_for_deadlock(const CallLog::Entry& waiting);
  void tell_long_wait(const CallLog::Entry& waiting);
  void tell_end_of_wait();
  void tell(const std::string& what) const;
  std::string told_call(int32_t number) const;
  void judge(const std::optional<CallLog::Entry>& waiting, bool has_failed);
  std::optional<Verdict> lost_ranks(const std::optional<CallLog::Entry>& waiting, bool has_failed);
  std::optional<Verdict> different_calls();
  std::optional<std::array<int32_t, kCallWords>> called_words(int rank, int32_t number);
  void wait_for_readers(const std::string& what, Clock::time_point deadline);
  void wait_for_other_groups();
  std::optional<std::vector<int>> late_ranks(const CallLog::Entry& waiting);
  // CallLog::text as last posted, of every rank or of one rank.
  std::vector<std::string> posted_calls();
  std::string calls_of(int rank);
  std::vector<int> missing_ranks(const std::vector<std::string>& texts, int32_t number) const;
  Verdict own_failure() const;
  void decide(Verdict verdict);
  void settle(const Verdict& verdict);
  bool is_lost(int rank) const;

  ProcessGroup& engine_;
  const GroupOptions options_;
  // The rank whose process holds the store; -1 if it is not in the group.
  const int keeper_;
  Bulletin bulletin_;
  const std::shared_ptr<StoreLine> line_;
  CallLog log_;
  FollowedCalls followed_;
  DeadlockSearch deadlocks_;

  // Used only by the watch's thread.
  bool is_asked_ = false;
  bool is_inspector_ = false;
  Clock::time_point next_look_{};
  uint64_t traffic_ = 0;
  Clock::time_point moved_{};
  // The posted calls at the moment when a call had timed out although all ranks had come to it.
  struct Suspicion {
    Clock::time_point since;
    std::vector<std::string> texts;
  };
  std::optional<Suspicion> suspicion_;
  // The last wait that a message told, for whom it was while it lasts, and how long the next one must last.
  uint64_t told_wait_ = 0;
  std::string told_late_;
  std::chrono::milliseconds long_wait_;

  std::mutex words_mutex_;
  std::vector<int32_t> words_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_closed_ = false;
  bool has_failed_ = false;
  std::pair<int32_t, std::string> noted_call_;
  std::optional<Verdict> verdict_;
  std::thread thread_;
};

}  // namespace acc
