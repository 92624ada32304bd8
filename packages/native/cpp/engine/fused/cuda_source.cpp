#include "engine/fused/cuda_source.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <bit>
#include <cstdio>

#include "engine/error.h"
#include "engine/fused/cuda_schedule.h"
#include "engine/fused/cuda_text.h"
#include "engine/fused/scalars.h"

namespace acc::fused {
namespace {

using Value = CudaSchedule::Value;
using Task = CudaSchedule::Task;

// Blocks of programs without rows.
constexpr int64_t kElementThreads = 256;
constexpr int64_t kWarp = 32;
// Threads of long rows. With fewer elements a thread, more threads would wait for each other.
constexpr int64_t kMaxLanes = 512;
constexpr int64_t kElementsOfLane = 4;
// The rows of a block if a warp is enough for a row.
constexpr int64_t kRowsOfBlock = 4;
// With more elements of a row, a thread reads inputs again instead of keeping them in registers.
constexpr int64_t kMostKept = 8;
// Elements that a kernel counts with 32 bits, with room for a step of all threads.
constexpr int64_t kMostNarrow = int64_t{1} << 30;
// Bytes of parameters that every GPU takes, less those for sizes.
constexpr size_t kMostPointers = 4096 / 8 - 8;

const char* function_of(Op op) {
  // In the order of Op, without the operators on rows.
  static constexpr const char* names[] = {
      "add", "sub", "mul", "div", "max", "min",
      "greater", "greater_equal", "less", "less_equal", "equal", "not_equal",
      "logical_and", "logical_or",
      "neg", "abs", "sqrt", "rsqrt", "reciprocal", "tanh", "sigmoid", "relu", "logical_not", "copy", "round_to_bfloat16",
      "select", "exp", "log", "erf"};
  static_assert(std::size(names) == static_cast<size_t>(Op::kSumRow));
  return names[static_cast<size_t>(op)];
}

const char* type_of(c10::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat: return "float";
    case at::kBFloat16: return "Bfloat16";
    case at::kBool: return "bool";
    case at::kInt: return "int";
    case at::kLong: return "long long";
    default: throw Error(kInvalidArgument, "A fused program has an input of an unsupported dtype.");
  }
}

std::string text(int64_t number) { return std::to_string(number); }

class Writer {
 public:
  Writer(const Program& program, const std::vector<ElementLayout>& inputs)
      : program_(program), inputs_(inputs), schedule_(program), block_(cuda_block_of(program.row)) {
    if (inputs.size() + program.results.size() > kMostPointers) {
      throw Error(kInvalidArgument, "A fused program has too many inputs and results for a GPU.");
    }
    for (size_t k = 0; k < program.results.size(); ++k) {
      if (program.results[k].extent == Extent::kColumns) sums_.push_back(k);
    }
  }

  std::string write() {
    write_beginning();
    out_ += "extern \"C\" __global__ void __launch_bounds__(kLanes * kRows) program(" + parameters() + ") {\n";
    write_numbers();
    if (program_.row > 0) {
      write_rows();
    } else {
      out_ += "  const Index step = (Index)gridDim.x * kLanes;\n"
              "  for (Index i = (Index)blockIdx.x * kLanes + threadIdx.x; i < (Index)count; i += step) {\n";
      write_loop(0);
      out_ += "  }\n";
    }
    out_ += "}\n";
    if (!sums_.empty()) write_column_kernel();
    return std::move(out_);
  }

 private:
  const Value& value(int index) const { return schedule_.values()[static_cast<size_t>(index)]; }

  void write_beginning() {
    out_ += std::string(kCudaHelpers) + "namespace rows {\n" + rows::kText + "\n}\nnamespace scalar {\n" + scalar::kText + "\n}\n";
    out_ += "constexpr int kLanes = " + text(block_.lanes) + ", kRows = " + text(block_.rows) + ", kEach = " + text(block_.each) +
            ", kRow = " + text(program_.row) + ", kSums = " + text(static_cast<int64_t>(sums_.size())) + ";\n";
    out_ += kCudaMemory;
    out_ += std::string("typedef unsigned ") + (is_narrow() ? "int" : "long long") + " Index;\n";
  }

  bool is_narrow() const {
    return program_.count <= kMostNarrow && std::all_of(inputs_.begin(), inputs_.end(), [](const ElementLayout& layout) {
             int64_t last = 0;
             for (size_t d = 0; d < layout.sizes.size(); ++d) last += std::max<int64_t>(layout.sizes[d] - 1, 0) * layout.strides[d];
             return last <= kMostNarrow;
           });
  }

  std::string parameters() const {
    std::string list;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      list += std::string("const ") + type_of(inputs_[i].dtype) + "* __restrict__ in" + text(static_cast<int64_t>(i)) + ", ";
    }
    for (size_t k = 0; k < program_.results.size(); ++k) {
      if (program_.results[k].extent != Extent::kColumns) list += result_parameter(k);
    }
    return list + "const unsigned long long count" + (sums_.empty() ? "" : ", double* __restrict__ of_parts");
  }

  std::string result_parameter(size_t k) const {
    return std::string(type_of(program_.results[k].dtype)) + "* __restrict__ " + result_name(k) + ", ";
  }

  static std::string result_name(size_t k) { return "out" + text(static_cast<int64_t>(k)); }

  void write_numbers() {
    for (size_t v = 0; v < schedule_.values().size(); ++v) {
      const auto& [kind, input, number, time, first, last, is_used] = schedule_.values()[v];
      if (kind != Value::kNumber) continue;
      char bits[16];
      std::snprintf(bits, sizeof(bits), "0x%08X", std::bit_cast<uint32_t>(number));
      out_ += "  const float v" + text(static_cast<int64_t>(v)) + " = rows::of_bits((int)" + bits + ");\n";
    }
  }

  void write_rows() {
    if (block_.lanes > kWarp) out_ += "  __shared__ float of_warps[kLanes / 32];\n";
    else out_ += "  float* const of_warps = nullptr;\n";
    for (size_t s = 0; s < sums_.size(); ++s) out_ += "  double sum" + text(static_cast<int64_t>(s)) + "[kEach] = {};\n";
    out_ += "  const int lane = threadIdx.x;\n"
            "  const Index step = (Index)gridDim.x * kRows;\n"
            "  for (Index row = (Index)blockIdx.x * kRows + threadIdx.y; row < (Index)count; row += step) {\n"
            "    const Index start = row * kRow;\n";
    for (size_t v = 0; v < schedule_.values().size(); ++v) write_declaration(static_cast<int>(v));
    for (int loop = 0; loop < schedule_.loops(); ++loop) {
      write_stage(loop);
      write_accumulators(loop);
      out_ += "    #pragma unroll\n"
              "    for (int k = 0; k < kEach; ++k) {\n"
              "      const int column = lane + k * kLanes;\n"
              "      if (column < kRow) {\n"
              "        const Index i = start + column;\n";
      write_loop(loop);
      out_ += "      }\n    }\n";
    }
    write_stage(schedule_.loops());
    for (size_t k = 0; k < program_.results.size(); ++k) {
      if (program_.results[k].extent != Extent::kRows) continue;
      out_ += "    if (lane == 0) write(" + result_name(k) + " + row, " + name(schedule_.results()[k]) + ");\n";
    }
    out_ += "  }\n";
    if (!sums_.empty()) write_parts();
  }

  // Elements that are kept, and inputs with a number for each row.
  void write_declaration(int v) {
    const auto& [kind, input, number, time, first, last, is_used] = value(v);
    if (is_kept(v)) out_ += "    float v" + text(v) + "[kEach];\n";
    if (kind == Value::kRow && input >= 0) {
      out_ += "    const float v" + text(v) + " = " + read(input, {.whole = "row"}) + ";\n";
    }
  }

  // The numbers of a row that are known before a loop.
  void write_stage(int stage) {
    for (const auto& task : schedule_.tasks()) {
      const auto& made = value(task.out);
      if (made.kind != Value::kRow || made.time != stage) continue;
      const auto made_name = "v" + text(task.out);
      const auto from = task.is_reduction()
                            ? std::string(reduction_of(task)) + "_of_row(of_" + made_name + ", of_warps)"
                            : call(task);
      out_ += "    const float " + made_name + " = " + from + ";\n";
    }
  }

  void write_accumulators(int loop) {
    for (const auto& task : schedule_.tasks()) {
      if (!task.is_reduction() || value(task.out).time != loop + 1) continue;
      const auto neutral = task.op == Op::kSumRow ? "0.f" : "rows::of_bits(0xFF800000)";
      out_ += "    float of_v" + text(task.out) + " = " + neutral + ";\n";
    }
  }

  // What a loop does with each element.
  void write_loop(int loop) {
    is_read_.assign(schedule_.values().size(), false);
    for (const auto& task : schedule_.tasks()) {
      const auto& made = value(task.out);
      if (task.is_reduction() && made.time == loop + 1) {
        read_operands(task, loop);
        const auto total = "of_v" + text(task.out);
        const auto combine = task.op == Op::kSumRow ? "scalar::add" : "greatest";
        out_ += kIndent + total + " = " + combine + "(" + total + ", " + name(task.operands[0]) + ");\n";
      } else if (made.kind == Value::kElement && made.time == loop) {
        read_operands(task, loop);
        out_ += kIndent + target(task.out) + " = " + call(task) + ";\n";
      }
    }
    write_results(loop);
  }

  void write_results(int loop) {
    for (size_t k = 0; k < program_.results.size(); ++k) {
      const int made = schedule_.results()[k];
      const auto extent = program_.results[k].extent;
      if (extent == Extent::kRows || value(made).time != loop) continue;
      read_operand(made, loop);
      if (extent == Extent::kElements) {
        out_ += kIndent + "write(" + result_name(k) + " + i, " + name(made) + ");\n";
      } else {
        const auto sum = std::find(sums_.begin(), sums_.end(), k) - sums_.begin();
        out_ += kIndent + "sum" + text(sum) + "[k] += " + name(made) + ";\n";
      }
    }
  }

  void read_operands(const Task& task, int loop) {
    for (int k = 0; k < operands_of(task.op); ++k) read_operand(task.operands[k], loop);
  }

  // Reads an element of an input, if the loop has not read it yet.
  void read_operand(int v, int loop) {
    const auto& operand = value(v);
    if (operand.kind != Value::kElement || operand.input < 0 || is_read_[static_cast<size_t>(v)]) return;
    is_read_[static_cast<size_t>(v)] = true;
    if (is_kept(v) && loop > operand.first) return;
    out_ += kIndent + target(v) + " = " + read(operand.input, {"i", "row", "column"}) + ";\n";
  }

  bool is_kept(int v) const {
    const auto& of = value(v);
    return of.is_kept() && (of.input < 0 || block_.each <= kMostKept);
  }

  std::string target(int v) const { return is_kept(v) ? name(v) : "const float " + name(v); }
  std::string name(int v) const { return "v" + text(v) + (is_kept(v) ? "[k]" : ""); }

  std::string call(const Task& task) const {
    std::string list;
    for (int k = 0; k < operands_of(task.op); ++k) list += (k > 0 ? ", " : "") + name(task.operands[k]);
    return std::string("scalar::") + function_of(task.op) + "(" + list + ")";
  }

  static const char* reduction_of(const Task& task) { return task.op == Op::kSumRow ? "sum" : "max"; }

  // The names of an index, and of its row and column if it has these.
  struct Index {
    const char* whole;
    const char* row = nullptr;
    const char* column = nullptr;
  };

  std::string read(int input, Index index) const {
    const auto& [dtype, sizes, strides] = inputs_[static_cast<size_t>(input)];
    size_t split = sizes.size();
    int64_t length = 1;
    while (split > 0 && length < program_.row) length *= sizes[--split];
    const bool is_split = index.row && program_.row > 0 && length == program_.row && split > 0;
    const auto offset = is_split ? offset_of(input, {0, split}, index.row) + " + " + offset_of(input, {split, sizes.size()}, index.column)
                                 : offset_of(input, {0, sizes.size()}, index.whole);
    return "number_of(in" + text(input) + "[" + offset + "])";
  }

  struct Dims {
    size_t first, end;
  };

  // The offset of the element with an index in some dims of an input. The size of the first one does not
  // matter, so that programs for other numbers of rows have the same text.
  std::string offset_of(int input, Dims dims, const std::string& index) const {
    const auto& [dtype, sizes, strides] = inputs_[static_cast<size_t>(input)];
    std::string sum;
    int64_t divisor = 1;
    for (size_t d = dims.end; d-- > dims.first;) {
      if (strides[d] != 0) {
        auto term = "(Index)" + index;
        if (divisor > 1) term += " / " + text(divisor);
        if (d > dims.first) term = "(" + term + ") % " + text(sizes[d]);
        if (strides[d] != 1) term = "(" + term + ") * " + text(strides[d]);
        sum += (sum.empty() ? "" : " + ") + term;
      }
      divisor *= std::max<int64_t>(sizes[d], 1);
    }
    return sum.empty() ? "0" : sum;
  }

  void write_parts() {
    out_ += "  const unsigned long long part = (unsigned long long)blockIdx.x * kRows + threadIdx.y;\n"
            "  #pragma unroll\n"
            "  for (int k = 0; k < kEach; ++k) {\n"
            "    const int column = lane + k * kLanes;\n"
            "    if (column < kRow) {\n";
    for (size_t s = 0; s < sums_.size(); ++s) {
      const auto index = text(static_cast<int64_t>(s));
      out_ += "      of_parts[(part * kSums + " + index + ") * kRow + column] = sum" + index + "[k];\n";
    }
    out_ += "    }\n  }\n";
  }

  void write_column_kernel() {
    out_ += "extern \"C\" __global__ void add_columns(";
    for (const size_t k : sums_) out_ += result_parameter(k);
    out_ += "const unsigned long long parts, const double* __restrict__ of_parts) {\n"
            "  const int column = blockIdx.x * 256 + threadIdx.x;\n"
            "  if (column >= kRow) return;\n";
    for (size_t s = 0; s < sums_.size(); ++s) {
      out_ += "  {\n"
              "    double total = 0;\n"
              "    for (unsigned long long part = 0; part < parts; ++part) {\n"
              "      total += of_parts[(part * kSums + " + text(static_cast<int64_t>(s)) + ") * kRow + column];\n"
              "    }\n"
              "    write(" + result_name(sums_[s]) + " + column, (float)total);\n"
              "  }\n";
    }
    out_ += "}\n";
  }

  static inline const std::string kIndent = "        ";

  const Program& program_;
  const std::vector<ElementLayout>& inputs_;
  const CudaSchedule schedule_;
  const CudaBlock block_;
  // The results that are sums of columns.
  std::vector<size_t> sums_;
  // The inputs that the current loop has read.
  std::vector<bool> is_read_;
  std::string out_;
};

}  // namespace

CudaBlock cuda_block_of(int64_t row) {
  if (row == 0) return {kElementThreads, 1, 1};
  const auto whole = [row](int64_t each) { return (row + each - 1) / each; };
  if (row <= kWarp * kElementsOfLane) return {kWarp, kRowsOfBlock, whole(kWarp)};
  const int64_t lanes = std::min((whole(kElementsOfLane) + kWarp - 1) / kWarp * kWarp, kMaxLanes);
  return {lanes, 1, whole(lanes)};
}

int64_t max_column_parts(int64_t row) { return std::clamp<int64_t>((int64_t{1} << 20) / row, 64, 512); }

std::string cuda_source(const Program& program, const std::vector<ElementLayout>& inputs) { return Writer(program, inputs).write(); }

}  // namespace acc::fused
