#include "engine/groups/watch/watch.h"

#include <algorithm>
#include <tuple>

#include "engine/device/current_device.h"
#include "engine/error.h"

namespace acc {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick(100);
// Added to the time until a host counts as silent: the time-out for an explanation of a failure.
constexpr milliseconds kAfterSilence(1000);
// kPatience is the time-out for reports of other ranks. kSignOfLife is the time-out for any sign of
// life of a rank that was asked.
constexpr milliseconds kPatience(3000);
constexpr milliseconds kSignOfLife(1500);
// The time-out for a rank to reach the call in which other ranks differ. That rank may be slow, and
// its words are half of the error message.
constexpr milliseconds kWordsPatience(8000);
// A live rank that was asked posts more often than this, and than 2.5 times the time of a notice.
constexpr milliseconds kSilentPosts(2500);
constexpr milliseconds kPoll(20);
// A wait of so many notices is told to the user. Each further one must last twice as long.
constexpr int kLongWait = 10;

struct BegunCall {
  int rank;
  CallLog::Entry entry;
};

// True if the calls differ and so will never match. Calls that only exchange descriptions always
// match.
bool never_meet(const BegunCall& one, const BegunCall& other) {
  const auto& [words, others] = std::tie(one.entry.words, other.entry.words);
  const bool are_comparisons = words[kComparisonWord] != 0 && others[kComparisonWord] != 0;
  return !are_comparisons && !std::equal(words.begin(), words.begin() + kComparedWords, others.begin());
}

}  // namespace

Watch::Watch(ProcessGroup& engine, std::shared_ptr<StoreLine> line, const GroupOptions& options)
    : engine_(engine),
      options_(options),
      keeper_(options.names.store_keeper()),
      bulletin_(line, options.name, options.rank),
      line_(line),
      followed_(engine, log_),
      deadlocks_(std::move(line), options, log_),
      long_wait_(kLongWait * options.patience.notice) {
  thread_ = thread_on_device([this] { run(); });
}

Watch::~Watch() {
  {
    const std::lock_guard guard(mutex_);
    is_closed_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watch::run() {
  std::unique_lock lock(mutex_);
  while (!is_closed_) {
    lock.unlock();
    tick();
    lock.lock();
    changed_.wait_for(lock, kTick, [this] { return is_closed_; });
  }
}

void Watch::tick() {
  followed_.look();
  const auto failed = followed_.failed();
  const auto now = Clock::now();
  const auto waiting = log_.awaited();
  if (waiting && now - *waiting->awaited > options_.patience.notice && !is_asked_) {
    is_inspector_ = bulletin_.agree("asked", std::to_string(options_.rank)) == std::to_string(options_.rank);
    is_asked_ = true;
  }
  bool has_failed = false;
  bool has_verdict = false;
  {
    const std::lock_guard guard(mutex_);
    has_failed = has_failed_ || failed;
    has_verdict = verdict_.has_value();
  }
  const bool looks = has_failed || now >= next_look_;
  if (looks) {
    next_look_ = now + options_.patience.notice;
    if (!is_asked_ && bulletin_.find("asked")) is_asked_ = true;
    if (is_asked_) bulletin_.put_own("calls", log_.text());
  }
  if (has_verdict) return;
  if (looks && (has_failed || is_asked_)) look_for_verdict();
  if (failed && now - *failed > options_.patience.silence + kAfterSilence) return decide(own_failure());
  if (!told_late_.empty() && (!waiting || waiting->wait != told_wait_)) tell_end_of_wait();
  // A rank that goes on while its device waits may still begin what others wait for.
  if (waiting && !waiting->is_followed) look_for_deadlock(*waiting);
  if (waiting && looks) tell_long_wait(*waiting);
  if (engine_.judges_itself()) return;
  if (looks && is_inspector_) {
    if (auto verdict = different_calls()) return decide(*verdict);
  }
  if (waiting || has_failed) judge(waiting, has_failed);
}

void Watch::look_for_verdict() {
  const auto text = bulletin_.find("verdict");
  if (!text) return;
  if (const auto verdict = Verdict::from_text(*text)) settle(*verdict);
}

// The verdict holds for every group in which a rank of the cycle waits.
void Watch::look_for_deadlock(const CallLog::Entry& waiting) {
  const auto cycle = deadlocks_.look(waiting);
  if (!cycle) return;
  Verdict verdict{Verdict::Kind::kDeadlock, {}, waiting.number, options_.rank};
  for (const auto& wait : *cycle) verdict.cycle += (verdict.cycle.empty() ? "[" : ",") + wait.json();
  verdict.cycle += "]";
  for (const auto& wait : *cycle) {
    if (wait.group != options_.name) Bulletin(line_, wait.group, options_.rank).agree("verdict", verdict.text());
  }
  decide(verdict);
}

bool Watch::is_deadlocked() {
  look_for_verdict();
  const std::lock_guard guard(mutex_);
  return verdict_ && verdict_->kind == Verdict::Kind::kDeadlock;
}

void Watch::judge(const std::optional<CallLog::Entry>& waiting, bool has_failed) {
  if (auto verdict = lost_ranks(waiting, has_failed)) return decide(*verdict);
  if (!waiting || Clock::now() - *waiting->awaited < options_.timeout) return suspicion_.reset();
  if (auto late = late_ranks(*waiting)) decide({Verdict::Kind::kLate, *late, waiting->number, options_.rank});
}

// Returns a verdict on ranks that are lost. A rank that leaves after its part of a call does not
// harm the others while bytes still move. While another rank is doubtful, a rank with closed
// connections may not be the cause: it may have detected the loss of the doubtful one first.
std::optional<Verdict> Watch::lost_ranks(const std::optional<CallLog::Entry>& waiting, bool has_failed) {
  using Kind = ProcessGroup::Loss::Kind;
  const auto now = Clock::now();
  const auto traffic = engine_.traffic();
  if (traffic != traffic_) moved_ = now;
  traffic_ = traffic;
  const auto losses = engine_.losses();
  const auto first = [&](Kind kind) {
    return std::find_if(losses.begin(), losses.end(), [&](const ProcessGroup::Loss& loss) {
      const bool concerns = !waiting || waiting->is_collective() || waiting->peer == loss.rank;
      return concerns && loss.kind == kind;
    });
  };
  const auto number = waiting ? waiting->number : log_.last_number();
  if (const auto silent = first(Kind::kSilent); silent != losses.end()) {
    return Verdict{Verdict::Kind::kSilent, {silent->rank}, number, options_.rank};
  }
  const auto closed = first(Kind::kClosed);
  if (closed == losses.end() || first(Kind::kDoubtful) != losses.end()) return std::nullopt;
  if (!has_failed && now - moved_ < options_.patience.grace) return std::nullopt;
  const bool has_left = bulletin_.find_of("left", closed->rank).has_value();
  if (bulletin_.is_reachable() || options_.rank == keeper_ || keeper_ < 0) {
    return Verdict{has_left ? Verdict::Kind::kLeft : Verdict::Kind::kDied, {closed->rank}, number, options_.rank};
  }
  // The store's holder has died or is stopped. Other ranks detected that first and closed their
  // connections.
  const auto now_lost = engine_.losses();
  const bool has_died = std::any_of(now_lost.begin(), now_lost.end(), [&](const ProcessGroup::Loss& loss) {
    return loss.rank == keeper_ && loss.kind == Kind::kClosed;
  });
  return Verdict{has_died ? Verdict::Kind::kDied : Verdict::Kind::kLate, {keeper_}, number, options_.rank};
}

// Finds a rank that waits for a call while another rank began a different call with the same
// number, both for longer than a notice takes. The other rank may have returned from its call already, if it
// had no data to send or receive.
std::optional<Verdict> Watch::different_calls() {
  const auto now = Clock::now();
  std::map<int32_t, std::vector<BegunCall>> calls;
  const auto texts = posted_calls();
  for (int rank = 0; rank < options_.size; ++rank) {
    for (auto& entry : CallLog::from_text(texts[static_cast<size_t>(rank)])) {
      if (entry.number > 0 && now - entry.started > options_.patience.notice) calls[entry.number].push_back({rank, entry});
    }
  }
  for (const auto& [number, all] : calls) {
    for (const auto& one : all) {
      if (!one.entry.awaited) continue;
      const auto other = std::find_if(all.begin(), all.end(), [&](const BegunCall& other) { return never_meet(one, other); });
      if (other != all.end()) return Verdict{Verdict::Kind::kMismatch, {one.rank, other->rank}, number, options_.rank};
    }
  }
  return std::nullopt;
}

// The ranks that are late. Returns nothing while they are not known.
std::optional<std::vector<int>> Watch::late_ranks(const CallLog::Entry& waiting) {
  if (!waiting.is_collective()) return std::vector<int>{waiting.peer};
  const auto texts = posted_calls();
  // If the store's holder does not answer, no other rank can be asked.
  if (!bulletin_.is_reachable() && options_.rank != keeper_ && keeper_ >= 0) return std::vector<int>{keeper_};
  auto late = missing_ranks(texts, waiting.number);
  if (!late.empty()) return late;
  // All ranks have come, and one is stopped inside the call: the one that no longer posts.
  if (!suspicion_) suspicion_ = {Clock::now(), texts};
  const auto silent = std::max(kSilentPosts, options_.patience.notice * 5 / 2);
  if (Clock::now() - suspicion_->since < silent) return std::nullopt;
  for (int rank = 0; rank < options_.size; ++rank) {
    const auto of = static_cast<size_t>(rank);
    if (rank != options_.rank && texts[of] == suspicion_->texts[of]) late.push_back(rank);
  }
  return late;
}

std::vector<std::string> Watch::posted_calls() {
  std::vector<std::string> texts;
  for (int rank = 0; rank < options_.size; ++rank) {
    texts.push_back(calls_of(rank));
  }
  return texts;
}

std::string Watch::calls_of(int rank) {
  return rank == options_.rank ? log_.text() : bulletin_.find_of("calls", rank).value_or("");
}

// The ranks that have not reached the call that blocks the others. That call is `number`, or an
// earlier one in which another rank waits.
std::vector<int> Watch::missing_ranks(const std::vector<std::string>& texts, int32_t number) const {
  std::vector<int32_t> last;
  for (const auto& text : texts) {
    last.push_back(-1);
    for (const auto& entry : CallLog::from_text(text)) {
      last.back() = std::max(last.back(), entry.number);
      if (entry.awaited && entry.number > 0) number = std::min(number, entry.number);
    }
  }
  std::vector<int> missing;
  for (int rank = 0; rank < options_.size; ++rank) {
    if (rank != options_.rank && last[static_cast<size_t>(rank)] < number) missing.push_back(rank);
  }
  return missing;
}

void Watch::decide(Verdict verdict) {
  const auto agreed = Verdict::from_text(bulletin_.agree("verdict", verdict.text()));
  settle(agreed ? *agreed : verdict);
}

void Watch::settle(const Verdict& verdict) {
  {
    const std::lock_guard guard(mutex_);
    if (verdict_) return;
    verdict_ = verdict;
  }
  changed_.notify_all();
  // The cut ends what the device waits for, without its values.
  if (followed_.look() || followed_.failed()) lose_values(verdict);
  engine_.cut();
}

Verdict Watch::own_failure() const {
  return {Verdict::Kind::kFailed, {options_.rank}, log_.last_number(), options_.rank};
}

Verdict Watch::explain_failure() {
  std::unique_lock lock(mutex_);
  has_failed_ = true;
  changed_.wait_for(lock, options_.patience.silence + kAfterSilence, [this] { return verdict_.has_value(); });
  if (verdict_) {
    const auto verdict = *verdict_;
    lock.unlock();
    if (verdict.kind == Verdict::Kind::kDeadlock) wait_for_other_groups();
    return verdict;
  }
  lock.unlock();
  decide(own_failure());
  lock.lock();
  return *verdict_;
}

Verdict Watch::report_mismatch(int32_t number) {
  decide({Verdict::Kind::kMismatch, {options_.rank}, number, options_.rank});
  const std::lock_guard guard(mutex_);
  return *verdict_;
}

std::vector<int32_t> Watch::words_of(int32_t number) {
  const std::lock_guard guard(words_mutex_);
  if (!words_.empty()) return words_;
  bulletin_.put_own("calls", log_.text());
  const auto started = Clock::now();
  for (int rank = 0; rank < options_.size; ++rank) {
    auto own = called_words(rank, number);
    while (!own && bulletin_.is_reachable() && Clock::now() - started < kWordsPatience) {
      std::this_thread::sleep_for(kPoll);
      own = called_words(rank, number);
    }
    const auto words = own.value_or(std::array<int32_t, kCallWords>{});
    words_.insert(words_.end(), words.begin(), words.end());
  }
  wait_for_readers("words", started + kWordsPatience);
  return words_;
}

std::optional<std::array<int32_t, kCallWords>> Watch::called_words(int rank, int32_t number) {
  std::optional<std::array<int32_t, kCallWords>> words;
  for (const auto& entry : CallLog::from_text(calls_of(rank))) {
    if (entry.number == number) words = entry.words;
  }
  return words;
}

// The process that holds the store often ends after this error. It first waits until the others
// have read what they need. `what` is the key of what they read.
void Watch::wait_for_readers(const std::string& what, Clock::time_point deadline) {
  const auto key = "has-read/" + what;
  bulletin_.put_own(key, "1");
  if (options_.rank != keeper_) return;
  for (int rank = 0; rank < options_.size; ++rank) {
    while (rank != keeper_ && !is_lost(rank) && !bulletin_.find_of(key, rank) && Clock::now() < deadline) {
      std::this_thread::sleep_for(kPoll);
    }
  }
}

// As wait_for_readers(), for the ranks that wait in other groups of a deadlock. They look for the
// verdict as often as a notice takes.
void Watch::wait_for_other_groups() {
  if (options_.rank == keeper_) std::this_thread::sleep_for(2 * options_.patience.notice);
}

void Watch::publish(const std::string& topic, const std::string& report) {
  bulletin_.put_own("report/" + topic, report);
}

std::vector<Watch::Account> Watch::accounts(const std::string& topic) {
  const auto key = "report/" + topic;
  // Asks all ranks to post their calls, also those that compute.
  bulletin_.agree("asked", std::to_string(options_.rank));
  std::vector<Account> accounts(static_cast<size_t>(options_.size));
  const auto started = Clock::now();
  for (int rank = 0; rank < options_.size;) {
    auto& account = accounts[static_cast<size_t>(rank)];
    const auto report = bulletin_.find_of(key, rank);
    account = {report.has_value(), report ? *report : bulletin_.find_of("calls", rank).value_or("")};
    const auto patience = account.text.empty() ? kSignOfLife : kPatience;
    const bool is_final = account.is_report || is_lost(rank) || Clock::now() - started > patience;
    if (is_final || !bulletin_.is_reachable()) {
      ++rank;
    } else {
      std::this_thread::sleep_for(kPoll);
    }
  }
  wait_for_readers(key, started + kPatience);
  return accounts;
}

bool Watch::is_lost(int rank) const {
  const std::lock_guard guard(mutex_);
  if (!verdict_ || verdict_->kind == Verdict::Kind::kMismatch) return false;
  const auto& ranks = verdict_->ranks;
  return verdict_->kind != Verdict::Kind::kFailed && std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

void Watch::leave() { bulletin_.put_own("left", "1"); }

}  // namespace acc
