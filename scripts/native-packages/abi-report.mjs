// Writes packages/native/ABI.md: which symbols of libtorch the addon needs outside torch's stable ABI,
// and what would be needed for one binary for all release lines.
//
//   node scripts/native-packages/abi-report.mjs [--check]
//
// The addon is the one of this machine (`acc env`). Uses `nm` and `c++filt`, which come with the compiler. --check
// writes nothing, and fails if the addon needs a symbol of a kind that the report does not name. If ABI.md
// is of the same version of torch, it also compares the symbols. `npm run test:release` calls it.
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { root, runMain } from '../process.mjs';

export const REPORT = join(root, 'packages', 'native', 'ABI.md');

/** The C functions of torch's stable ABI. */
const STABLE = /^(aoti_torch_|torch_)\w+$/;

/**
 * The kinds of other symbols, by their demangled names. The first that fits counts. `stable` says what
 * torch 2.15 has in its place, with the header below `torch/csrc/`, or that it has nothing.
 */
const KINDS = [
  {
    name: 'ATen operators by their C++ functions',
    fits: /^at::_ops::|^at::TensorBase::__dispatch|^(\w+ )?at::Tensor::item</,
    stable:
      '`torch_call_dispatcher` with the name of the operator (`stable/c/shim.h`), or `stable/ops.h` for the most common ones',
  },
  {
    name: 'dispatcher, schemas and registration',
    fits: /^(vtable for |typeinfo for )?(c10::(Dispatcher|OperatorHandle|impl::OperatorEntry|detail::infer_schema|dispatch_trace|show_dispatch|detail::_print_dispatch)|torch::(Library|detail|jit::parse)|torch::CppFunction|c10::(operator==|toString)\S*\(?.*(Schema|Overload|Dispatch)?)/,
    stable:
      '`torch_library_impl`, `torch_library_def_with_tags` and `STABLE_TORCH_LIBRARY` (`stable/library.h`). Nothing lists the schemas and types of arguments, from which a call makes its plan',
  },
  {
    name: 'values, types and lists of a boxed call',
    fits: /c10::(IValue|ivalue|detail::ListImpl|\w*Type::get|SymInt|SymBool|SymFloat|SymbolicShapeMeta|Type\b|ListType|FunctionSchema|SymNode)/,
    stable: '`StableIValue` and `StableListHandle` (`stable/stableivalue_conversions.h`)',
  },
  {
    name: 'tensors and storages',
    fits: /at::(TensorBase|TensorMaker|infer_size)|c10::(TensorImpl|StorageImpl|UndefinedTensorImpl|throwNullDataPtrError|warnDeprecatedDataPtr|detail::maybe_wrap_dim|intrusive_ptr)|caffe2::TypeMeta|c10::ScalarType/,
    stable:
      '`torch::stable::Tensor` (`stable/tensor.h`), `aoti_torch_create_tensor_from_blob_v2` (`inductor/aoti_torch/c/shim.h`). Storages cannot be asked whether anybody else holds them',
  },
  {
    name: 'memory: the allocator of CPU tensors',
    fits: /c10::(Allocator|GetCPUAllocator|SetCPUAllocator|GetDefault|CachingHost|getDeviceAllocator|memory|reportMemory|DataPtr)|at::(getHost|accelerator::)/,
    stable: 'nothing: an allocator is a C++ class that libtorch calls',
  },
  {
    name: 'threads',
    fits: /at::(get_num_threads|get_thread_num|set_num_threads|init_num_threads|in_parallel_region|internal::)|c10::ParallelGuard/,
    stable: '`torch_parallel_for`, `torch_get_num_threads` (`stable/c/shim.h`)',
  },
  {
    name: 'random generators',
    fits: /at::(Generator|detail::getDefaultCPUGenerator|CPUGenerator)/,
    stable: '`stable/generator.h`, without the state that checkpoints save',
  },
  {
    name: 'modes and state of a thread',
    fits: /c10::(AutogradState|InferenceMode|impl::(_force_tls|raw_local|tls_)|GradMode|initializeFunctionality)|raw_local_dispatch_key_set|at::(RecordFunction|getStepCallbacks)/,
    stable: 'nothing for inference mode and callbacks of the profiler',
  },
  {
    name: 'devices and streams',
    fits: /c10::(Device|Stream|impl::(device_guard|VirtualGuard)|Event)|at::detail::get\w+Hooks/,
    stable: '`stable/accelerator.h`, `stable/device.h`; events are missing',
  },
  {
    name: 'settings of the library',
    fits: /at::(Context|globalContext|show_config|str2|cpu::|native::cpublas)/,
    stable: 'nothing',
  },
  {
    name: 'process groups and the store',
    fits: /c10d::|gloo::|torch::distributed/,
    stable: 'nothing: torch states no stable interface for collectives',
  },
  {
    name: 'errors, warnings and logs',
    fits: /c10::(Error|\w*Error\b|report_overflow|Warning|WarningUtils|warn\b|detail::torch(Check|Internal)|MessageLogger|SourceLocation|get_backtrace)|FLAGS_|c10::(operator<<|str|toString|ClassNotFound)/,
    stable:
      '`STD_TORCH_CHECK` (`../headeronly/util/Exception.h`) for own errors; of those of libtorch, functions give a code',
  },
];

/** The symbols of a file as they are in it, by `nm`. */
function symbols(path, which) {
  const listed = execFileSync('nm', ['-D', '-P', which, path], { encoding: 'utf8', maxBuffer: 2 ** 30 });
  return listed.split('\n').map((line) => line.split(/[ @]/, 1)[0]);
}

/** The names in C++. */
function demangled(names) {
  return execFileSync('c++filt', { input: names.join('\n'), encoding: 'utf8' })
    .trim()
    .split('\n');
}

/** The symbols that the addon takes from libtorch, by kind. */
export function neededSymbols(addon, libDir) {
  const libraries = readdirSync(libDir).filter((name) => /^lib(c10|torch_cpu)\.(so|dylib)$/.test(name));
  const given = new Set(libraries.flatMap((name) => symbols(join(libDir, name), '--defined-only')));
  const wanted = symbols(addon, '--undefined-only').filter((name) => name && given.has(name));
  // libtorch also exports what it compiled of the C++ library.
  const needed = [...new Set(demangled(wanted))].filter((name) => !/^(\w+ )*std::/.test(name));
  const others = needed.filter((name) => !STABLE.test(name));
  const kindOf = (name) => KINDS.findIndex(({ fits }) => fits.test(name));
  const byKind = KINDS.map((kind, i) => ({ ...kind, symbols: others.filter((name) => kindOf(name) === i) }));
  return { needed, byKind, unknown: others.filter((name) => kindOf(name) === -1) };
}

/** `at::_ops::add_Tensor::call(at::Tensor const&, …)` → `at::_ops::add_Tensor::call`. */
function shortName(symbol) {
  const bare = symbol.replace(/^(vtable|typeinfo|typeinfo name|guard variable|VTT) for /, '');
  return bare
    .replace(/(\[abi:cxx11\])?\(.*$/, '')
    .replace(/<.*$/, '')
    .replace(/^.* /, '');
}

function reportOf({ needed, byKind }, version) {
  const outside = byKind.flatMap((kind) => kind.symbols);
  const used = byKind.filter((kind) => kind.symbols.length > 0);
  const rows = used.map(({ name, symbols, stable }) => `| ${name} | ${symbols.length} | ${stable} |`);
  const lists = used.map(({ name, symbols }) => {
    const names = [...new Set(symbols.map(shortName))].sort();
    return `### ${name}\n\n${names.map((each) => `\`${each}\``).join(', ')}`;
  });
  return `# The addon and torch's stable ABI

\`node scripts/native-packages/abi-report.mjs\` writes this page from the addon for torch ${version}.

torch keeps the C functions \`aoti_torch_…\` and \`torch_…\`, and the headers in \`torch/csrc/stable\` and
\`torch/headeronly\` around them, compatible across release lines. Everything else may change from one
line to the next. The addon takes ${needed.length} symbols of libtorch, of which ${outside.length} are outside the stable ABI. So one
binary serves one release line.

Headers are below \`torch/csrc\`.

| symbols | number | in the stable ABI of torch 2.15 |
| --- | --- | --- |
${rows.join('\n')}

## One binary for all lines

Operators, values, tensors, threads and own errors could move to the stable ABI. Five parts cannot:

- the caching allocator, which replaces that of CPU tensors;
- process groups (Gloo, NCCL, UCC) and their store;
- schemas of operators at run time, from which a call makes its plan;
- inference mode, in which calls run;
- storages that are asked whether the addon alone holds them, before it writes in place.

The first three are interfaces of C++ classes. A binary for all lines would need them as C functions in
torch, or a second small addon for each line that has only these parts. Until then, the platform
package has one addon for each tested line, and \`acc setup\` builds one for any other.

## Symbols

${lists.join('\n\n')}
`;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  await runMain(async () => {
    const native = await import(pathToFileURL(join(root, 'packages', 'native', 'dist', 'index.js')));
    const libtorch = native.requireLibtorch();
    const addon = native.locateAddon(libtorch);
    if (!addon) throw new Error(`There is no addon for torch ${libtorch.version}: npm run setup`);
    const found = neededSymbols(addon.native, libtorch.libDir);
    if (found.unknown.length > 0) {
      console.error(`No kind of symbols in abi-report.mjs fits:\n${found.unknown.join('\n')}`);
      return 1;
    }
    const options = { ...(await resolveConfig(REPORT)), parser: 'markdown' };
    const text = await format(reportOf(found, libtorch.version), options);
    if (!process.argv.includes('--check')) writeFileSync(REPORT, text);
    else if (!isCurrent(readFileSync(REPORT, 'utf8'), text, libtorch.version))
      throw new Error('packages/native/ABI.md is not that of this addon: run abi-report.mjs.');
    console.log(`✓ ${found.needed.length} symbols of torch ${libtorch.version}`);
  });
}

/** Whether a page lists the symbols of the new one, or is that of another version of torch. */
function isCurrent(page, text, version) {
  const symbols = (whole) => whole.slice(whole.indexOf('\n## Symbols'));
  return !page.includes(`for torch ${version}.\n`) || symbols(page) === symbols(text);
}
