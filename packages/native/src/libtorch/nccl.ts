import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { AddonFiles } from './addon-files.js';
import { hasCuda, type LibtorchInstall } from './inspect.js';
import { libraryFile } from './platform.js';

/**
 * One header of each required part: NCCL, the CUDA runtime, the CUDA libraries, the CUDA compiler
 * and CCCL.
 */
const HEADERS = ['nccl.h', 'cuda_runtime_api.h', 'cusparse.h', 'crt/host_config.h', 'nv/target'];

/**
 * The folders of the headers that NCCL's process group needs. Empty if libtorch has no CUDA, or if
 * some headers are missing. The Python package torch for CUDA contains most of them, in matching
 * versions. The others come from the CUDA toolkit.
 */
export function ncclIncludes({ root, libDir }: Pick<LibtorchInstall, 'root' | 'libDir'>): string[] {
  if (!hasCuda({ libDir })) return [];
  const packages = dirname(root);
  const nvidia = join(packages, 'nvidia');
  const ofPython = existsSync(nvidia) ? readdirSync(nvidia).map((name) => join(nvidia, name, 'include')) : [];
  const ofTriton = join(packages, 'triton', 'backends', 'nvidia', 'include');
  const all = [...ofPython, ofTriton, '/usr/local/cuda/include', '/usr/include'];
  const folders = all
    .flatMap((folder) => [folder, join(folder, 'cccl')])
    .filter((folder) => existsSync(folder));
  const found = HEADERS.map((header) => folders.find((folder) => existsSync(join(folder, header))));
  // Checked one by one. Adding a system folder that has nothing else would only change the
  // compiler's own order.
  return found.every((folder) => folder !== undefined)
    ? folders.filter((folder) => folder !== '/usr/include')
    : [];
}

/**
 * Whether GPUs exchange tensors by NCCL: `unneeded` if libtorch has no CUDA, `linked` if the addon is
 * linked to it, else whether `buildAddon` would link it here. Reads the addon.
 */
export function ncclState(
  libtorch: LibtorchInstall,
  { native }: AddonFiles,
): 'unneeded' | 'linked' | 'buildable' | 'headers missing' {
  if (!hasCuda(libtorch)) return 'unneeded';
  if (readFileSync(native).includes(libraryFile('torch_cuda'))) return 'linked';
  return ncclIncludes(libtorch).length > 0 ? 'buildable' : 'headers missing';
}
