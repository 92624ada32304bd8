// The functions of NVRTC and of the CUDA driver that fused programs need, on a CPU: g++ compiles the
// source, and the threads of a block take turns. Each warp runs as far as it comes without the others, in
// a random order, so that a missing barrier shows. What was compiled stays beside this library.
//
// A file `refuse` beside it is the message with which the compiler refuses every source.

#include <dlfcn.h>
#include <sys/stat.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "emulated-threads.h"

namespace {

constexpr int kSuccess = 0, kFailed = 6;
constexpr int kInvalidLaunch = 1, kLaunchFailed = 719;
constexpr int kWarp = 32;

std::string folder() {
  Dl_info info;
  dladdr(reinterpret_cast<void*>(&folder), &info);
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

struct Program {
  std::string source, log, image;
};

int programs = 0;

int compile(Program& program, int count, const char* const* options) {
  const auto refusal = folder() + "refuse";
  if (struct stat unused; stat(refusal.c_str(), &unused) == 0) {
    program.log = text_of(refusal);
    return kFailed;
  }
  const auto base = folder() + "program-" + std::to_string(programs++);
  std::ofstream(base + ".cu") << program.source;
  for (int i = 0; i < count; ++i) std::ofstream(base + ".options", std::ios::app) << options[i] << '\n';
  std::ofstream(base + ".cpp") << "#include \"emulated-device.h\"\n" << program.source
                               << "extern \"C\" __global__ void call_program(void** list) { call(program, list); }\n"
                               << (program.source.find(" add_columns(") == std::string::npos
                                       ? ""
                                       : "extern \"C\" __global__ void call_add_columns(void** list) { call(add_columns, list); }\n");
  program.image = base + ".so";
  const auto command = "g++ -std=c++17 -O1 -ffp-contract=off -fno-math-errno -w -fvisibility=hidden -shared -fPIC -I" ACC_HEADERS
                       " -o " + program.image + " " + base + ".cpp > " + base + ".log 2>&1";
  if (std::system(command.c_str()) == 0) return kSuccess;
  program.log = text_of(base + ".log");
  return kFailed;
}

// A thread of a block.
struct Thread {
  enum State { kReady, kAtBarrier, kExchanging, kDone } state = kReady;
  Dim3 index;
  ucontext_t context;
  float given;
  int lanes;
};

struct Kernel {
  Emulated** shared;
  void (*call)(void**);
};

constexpr size_t kStack = 64 * 1024;

class Block {
 public:
  Block(const Kernel& kernel, void** parameters, Dim3 threads) : kernel_(kernel), parameters_(parameters), random_(1) {
    const size_t count = size_t{threads.x} * threads.y;
    threads_.resize(count);
    stacks_.resize(count * kStack);
    for (size_t i = 0; i < count; ++i) threads_[i].index = {static_cast<unsigned>(i) % threads.x, static_cast<unsigned>(i) / threads.x, 0};
    shared_.wait = [] { current->pause(Thread::kAtBarrier); };
    shared_.exchange = [](float x, int lanes) {
      auto& thread = current->threads_[current->running_];
      thread.given = x;
      thread.lanes = lanes;
      current->pause(Thread::kExchanging);
      return thread.given;
    };
  }

  // Returns whether all threads ended.
  bool run(Dim3 index, Dim3 grid) {
    current = this;
    shared_.block = index;
    shared_.grid = grid;
    *kernel_.shared = &shared_;
    for (size_t i = 0; i < threads_.size(); ++i) start(i);
    std::vector<size_t> warps;
    for (size_t first = 0; first < threads_.size(); first += kWarp) warps.push_back(first);
    for (;;) {
      std::shuffle(warps.begin(), warps.end(), random_);
      for (const size_t first : warps) run_warp(first);
      if (are(0, threads_.size(), Thread::kDone)) return true;
      if (!are(0, threads_.size(), Thread::kAtBarrier)) return false;
      for (auto& thread : threads_) thread.state = Thread::kReady;
    }
  }

 private:
  void start(size_t i) {
    auto& thread = threads_[i];
    thread.state = Thread::kReady;
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = stacks_.data() + i * kStack;
    thread.context.uc_stack.ss_size = kStack;
    thread.context.uc_link = &scheduler_;
    makecontext(&thread.context, [] {
      current->kernel_.call(current->parameters_);
      current->threads_[current->running_].state = Thread::kDone;
    }, 0);
  }

  void resume(size_t i) {
    running_ = i;
    shared_.thread = threads_[i].index;
    swapcontext(&scheduler_, &threads_[i].context);
  }

  void pause(Thread::State state) {
    auto& thread = threads_[running_];
    thread.state = state;
    swapcontext(&thread.context, &scheduler_);
  }

  bool are(size_t first, size_t end, Thread::State state) const {
    for (size_t i = first; i < end; ++i) {
      if (threads_[i].state != state) return false;
    }
    return true;
  }

  // Runs the threads of a warp as far as they come without others: to a barrier, or to their end.
  void run_warp(size_t first) {
    const size_t end = std::min(first + kWarp, threads_.size());
    std::vector<size_t> order;
    for (size_t i = first; i < end; ++i) order.push_back(i);
    for (;;) {
      std::shuffle(order.begin(), order.end(), random_);
      for (const size_t i : order) {
        if (threads_[i].state == Thread::kReady) resume(i);
      }
      if (end - first < kWarp || !are(first, end, Thread::kExchanging)) return;
      float given[kWarp];
      for (size_t i = first; i < end; ++i) given[i - first] = threads_[i].given;
      for (size_t i = first; i < end; ++i) {
        threads_[i].given = given[(i - first) ^ static_cast<size_t>(threads_[i].lanes)];
        threads_[i].state = Thread::kReady;
      }
    }
  }

  static inline Block* current = nullptr;

  const Kernel& kernel_;
  void** parameters_;
  std::minstd_rand random_;
  std::vector<Thread> threads_;
  std::vector<char> stacks_;
  ucontext_t scheduler_;
  Emulated shared_{};
  size_t running_ = 0;
};

}  // namespace

extern "C" {

int nvrtcCreateProgram(void** program, const char* source, const char*, int, const char* const*, const char* const*) {
  *program = new Program{source, "", ""};
  return kSuccess;
}
int nvrtcCompileProgram(void* program, int count, const char* const* options) {
  return compile(*static_cast<Program*>(program), count, options);
}
int nvrtcDestroyProgram(void** program) {
  delete static_cast<Program*>(*program);
  return kSuccess;
}
int nvrtcGetProgramLogSize(void* program, size_t* bytes) {
  *bytes = static_cast<Program*>(program)->log.size() + 1;
  return kSuccess;
}
int nvrtcGetProgramLog(void* program, char* log) {
  std::strcpy(log, static_cast<Program*>(program)->log.c_str());
  return kSuccess;
}
int nvrtcGetCUBINSize(void* program, size_t* bytes) {
  *bytes = static_cast<Program*>(program)->image.size() + 1;
  return kSuccess;
}
int nvrtcGetCUBIN(void* program, char* image) {
  std::strcpy(image, static_cast<Program*>(program)->image.c_str());
  return kSuccess;
}
int nvrtcGetPTXSize(void*, size_t*) { return kFailed; }
int nvrtcGetPTX(void*, char*) { return kFailed; }
int nvrtcGetNumSupportedArchs(int* count) {
  *count = 2;
  return kSuccess;
}
int nvrtcGetSupportedArchs(int* architectures) {
  architectures[0] = 80;
  architectures[1] = 90;
  return kSuccess;
}
int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return kSuccess;
}
const char* nvrtcGetErrorString(int) { return "NVRTC_ERROR_COMPILATION"; }
int cuDeviceGet(int* device, int index) {
  *device = index;
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 75 ? 9 : 0;
  return kSuccess;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  static int only;
  *context = &only;
  return kSuccess;
}
int cuCtxGetCurrent(void** context) {
  *context = nullptr;
  return kSuccess;
}
int cuCtxSetCurrent(void*) { return kSuccess; }
int cuModuleLoadData(void** module, const void* image) {
  *module = dlopen(static_cast<const char*>(image), RTLD_NOW | RTLD_LOCAL);
  return *module ? kSuccess : kInvalidLaunch;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  const auto found = dlsym(module, ("call_" + std::string(name)).c_str());
  if (!found) return kInvalidLaunch;
  *function = new Kernel{static_cast<Emulated**>(dlsym(module, "emulated")), reinterpret_cast<void (*)(void**)>(found)};
  return kSuccess;
}
int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                   unsigned block_z, unsigned, void*, void** parameters, void**) {
  const bool is_valid = grid_x > 0 && grid_y == 1 && grid_z == 1 && block_x > 0 && block_y > 0 && block_z == 1 &&
                        block_x * size_t{block_y} <= 1024 && grid_x <= 0x7FFFFFFF;
  if (!is_valid) return kInvalidLaunch;
  Block block(*static_cast<Kernel*>(function), parameters, {block_x, block_y, 1});
  for (unsigned x = 0; x < grid_x; ++x) {
    if (!block.run({x, 0, 0}, {grid_x, 1, 1})) return kLaunchFailed;
  }
  return kSuccess;
}
int cuGetErrorString(int status, const char** text) {
  *text = status == kLaunchFailed ? "threads wait for each other" : "invalid launch";
  return kSuccess;
}
}
