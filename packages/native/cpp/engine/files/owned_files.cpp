#include "engine/files/owned_files.h"

#include "engine/error.h"

#if !defined(_WIN32)
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#endif

namespace acc {

#if !defined(_WIN32)

namespace {

constexpr const char* kPrefix = "acc-";
constexpr const char* kSuffix = ".offload";

// Counts the files of all threads of this process, so that no two have the same name.
std::atomic<uint64_t> created{0};

// The paths of the files. Signal handlers read them, so there are no locks and no allocations.
// Whoever exchanges a path for null removes the file.
std::array<std::atomic<char*>, 64> owned_paths;

void remove_all() {
  for (auto& owned : owned_paths) {
    if (char* path = owned.exchange(nullptr)) unlink(path);
  }
}

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, kSignals.size()> replaced;

// Removes the files and does what the signal did before.
void on_signal(int signal) {
  remove_all();
  for (size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] == signal) sigaction(signal, &replaced[i], nullptr);
  }
  raise(signal);
}

// Called for each new file, because a program may have changed the handlers since the last one.
void watch_endings() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  static const int registered = std::atexit(remove_all);
  (void)registered;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction now = {};
    sigaction(kSignals[i], nullptr, &now);
    const bool is_siginfo = (now.sa_flags & SA_SIGINFO) != 0;
    if (!is_siginfo && (now.sa_handler == SIG_IGN || now.sa_handler == on_signal)) continue;
    replaced[i] = now;
    struct sigaction ours = {};
    ours.sa_handler = on_signal;
    ours.sa_flags = SA_RESTART;
    sigfillset(&ours.sa_mask);
    sigaction(kSignals[i], &ours, nullptr);
  }
}

// Returns -1 if the list is full.
int enlist(const std::string& path) {
  char* copy = strdup(path.c_str());
  for (size_t i = 0; i < owned_paths.size(); ++i) {
    char* free_place = nullptr;
    if (owned_paths[i].compare_exchange_strong(free_place, copy)) return static_cast<int>(i);
  }
  free(copy);
  return -1;
}

int create(const std::string& path) {
  const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
#if defined(O_DIRECT)
  // Some file systems create the file before they refuse the flag.
  if (const int direct = open(path.c_str(), flags | O_DIRECT, 0600); direct >= 0) return direct;
  if (errno != EINVAL) return -1;
  unlink(path.c_str());
#endif
  return open(path.c_str(), flags, 0600);
}

// Another process that runs remove_abandoned may find the file before it is locked, and remove it.
// Then the file is created again.
int create_locked(const std::string& path) {
  while (true) {
    const int descriptor = create(path);
    if (descriptor < 0) return -1;
    // Some file systems have no locks. Nobody can lock the file there, so nobody removes it.
    while (flock(descriptor, LOCK_EX) != 0 && errno == EINTR) {
    }
    if (access(path.c_str(), F_OK) == 0) return descriptor;
    close(descriptor);
  }
}

bool is_ours(const std::string& name) {
  const std::string prefix = kPrefix, suffix = kSuffix;
  return name.size() > prefix.size() + suffix.size() && name.compare(0, prefix.size(), prefix) == 0 &&
         name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
}

}  // namespace

OwnedFile::OwnedFile(const std::string& folder, const std::string& name)
    : path_(folder + "/" + kPrefix + name + "-" + std::to_string(created++) + kSuffix) {
  watch_endings();
  descriptor_ = create_locked(path_);
  if (descriptor_ < 0) {
    const int reason = errno;
    throw Error(reason == ENOSPC ? kStorageFull : kStorageDenied,
                "the file " + path_ + " cannot be created: " + std::strerror(reason));
  }
  place_ = enlist(path_);
  if (place_ < 0) unlink(path_.c_str());
}

OwnedFile::~OwnedFile() {
  close(descriptor_);
  if (place_ < 0) return;
  if (char* path = owned_paths[place_].exchange(nullptr)) {
    unlink(path);
    free(path);
  }
}

void remove_abandoned(const std::string& folder) {
  DIR* entries = opendir(folder.c_str());
  if (entries == nullptr) return;
  while (const dirent* entry = readdir(entries)) {
    if (!is_ours(entry->d_name)) continue;
    const std::string path = folder + "/" + entry->d_name;
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) continue;
    if (flock(file, LOCK_EX | LOCK_NB) == 0) unlink(path.c_str());
    close(file);
  }
  closedir(entries);
}

#else

OwnedFile::OwnedFile(const std::string&, const std::string&) {
  throw Error(kStorageFailed, "tensors cannot be kept in files on this system");
}
OwnedFile::~OwnedFile() = default;
void remove_abandoned(const std::string&) {}

#endif

}  // namespace acc
