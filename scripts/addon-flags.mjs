import { join } from 'node:path';
import { root } from './process.mjs';

const cpp = join(root, 'packages', 'native', 'cpp');

/** The units of the addon without NCCL (packages/native/cpp/acc.gyp). */
export const UNITS = ['unit_product', 'unit_tensors', 'unit_distributed', 'unit_shm'].map((unit) =>
  join(cpp, `${unit}.cpp`),
);

/** The source of the other addon, which opens libtorch's libraries. */
export const LOADER = join(cpp, 'loader', 'loader.cpp');

/**
 * The flags of acc.gyp for a compiler that is called without node-gyp.
 *
 * @param {{torch: string, node?: string, os?: string}} where torch: the folder of libtorch, or of the torch
 * package of Python. node: the prefix of a Node.js with its headers. os: that of the result.
 */
export function addonFlags({ torch, node = join(process.execPath, '..', '..'), os = 'linux' }) {
  const include = join(torch, 'include');
  const defines = ['NAPI_VERSION=9', 'NODE_ADDON_API_DISABLE_DEPRECATED', 'USE_DISTRIBUTED', 'USE_C10D_GLOO'];
  return [
    ...['-std=c++20', '-Wno-unused-parameter', '-fvisibility=hidden'],
    ...(os === 'linux' ? ['-fopenmp', '-include', join(cpp, 'portable', 'glibc_2_28.h')] : []),
    ...[...defines, 'NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS'].map((name) => `-D${name}`),
    ...[cpp, join(cpp, 'gloo_headers'), join(root, 'node_modules', 'node-addon-api')].map(
      (path) => `-I${path}`,
    ),
    `-I${join(node, 'include', 'node')}`,
    ...[include, join(include, 'torch', 'csrc', 'api', 'include')].flatMap((path) => ['-isystem', path]),
  ];
}
