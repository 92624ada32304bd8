import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { LibtorchInstall } from './inspect.js';

/** One header of each part that is needed: NCCL, CUDA's runtime, its libraries, what its compiler adds, and what CCCL does. */
const HEADERS = ['nccl.h', 'cuda_runtime_api.h', 'cusparse.h', 'crt/host_config.h', 'nv/target'];

/**
 * The folders of the headers that NCCL's process group needs; none where a libtorch has no CUDA, or where some are missing.
 * Python's torch for CUDA comes with most of them, of just the versions that it was built with; the rest is CUDA's toolkit.
 */
export function ncclIncludes({ root, libDir }: Pick<LibtorchInstall, 'root' | 'libDir'>): string[] {
  if (!existsSync(join(libDir, 'libtorch_cuda.so'))) return [];
  const packages = dirname(root);
  const nvidia = join(packages, 'nvidia');
  const ofPython = existsSync(nvidia) ? readdirSync(nvidia).map((name) => join(nvidia, name, 'include')) : [];
  const ofTriton = join(packages, 'triton', 'backends', 'nvidia', 'include');
  const all = [...ofPython, ofTriton, '/usr/local/cuda/include', '/usr/include'];
  const folders = all
    .flatMap((folder) => [folder, join(folder, 'cccl')])
    .filter((folder) => existsSync(folder));
  const found = HEADERS.map((header) => folders.find((folder) => existsSync(join(folder, header))));
  // Each for itself: a folder of the system's that has nothing else to give would only hide its compiler's own order.
  return found.every((folder) => folder !== undefined)
    ? folders.filter((folder) => folder !== '/usr/include')
    : [];
}
