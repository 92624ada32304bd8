import { AccError } from '@acc/contract';
import { dirname } from 'node:path';
import type { AddonFiles } from './addon-files.js';
import type { LibtorchInstall } from './inspect.js';
import { NEEDS_GLIBC } from './platform.js';

/** The usual messages of the dynamic linker, their meanings, and what to do. */
const MEANINGS: readonly { pattern: RegExp; meaning: string; help: (libtorch: LibtorchInstall) => string }[] =
  [
    {
      // The words of musl's linker.
      pattern: /^Error (loading shared library|relocating) /m,
      meaning: "this system's C library is musl, and libtorch needs glibc",
      help: () => NEEDS_GLIBC,
    },
    {
      pattern: /version `GLIBC(XX)?_[\d.]+' not found/,
      meaning: "this system's C or C++ library is older than libtorch needs",
      help: () => 'Use a system with glibc 2.28 or newer (Debian 10, Ubuntu 20.04, RHEL 8).',
    },
    {
      pattern: /file too short|invalid ELF header|not a mach-o file|truncated/i,
      meaning: 'the library is damaged',
      help: ({ root, origin }) =>
        origin === 'cache'
          ? `Remove ${root} and run: npx acc setup`
          : `Install the libtorch in ${root} again.`,
    },
    {
      pattern: /wrong ELF class|incompatible architecture|Exec format error/,
      meaning: `the library is not built for ${process.platform}-${process.arch}`,
      help: () => 'Unset ACC_LIBTORCH and run: npx acc setup',
    },
    {
      pattern:
        /lib(cuda|cudart|cublas|cudnn|nccl|cupti|cufft|curand|cusparse|nvshmem|cufile)\S*: cannot open/,
      meaning: "this CUDA build needs NVIDIA's libraries, and one of them is missing",
      help: () =>
        'Install torch with pip, which brings them, or use the CPU build: npx acc setup, then ACC_LIBTORCH=<its folder>',
    },
    {
      pattern: /cannot open shared object file|image not found|no such file/i,
      meaning: 'a required library is missing',
      help: ({ root, origin }) =>
        origin === 'cache'
          ? `Remove ${root} and run: npx acc setup`
          : 'Install the missing library, or run: npx acc env',
    },
    {
      pattern: /static TLS/,
      meaning: 'too many libraries with thread-local data were loaded before it',
      help: () => 'Import @acc/core before other native modules.',
    },
  ];

/** `ACC_LIBTORCH_LOAD_FAILED` with the linker's message, its meaning and the next step. */
export function libtorchLoadError(cause: unknown, libtorch: LibtorchInstall): AccError {
  const words = (cause as Error).message;
  const known = MEANINGS.find(({ pattern }) => pattern.test(words));
  return new AccError(
    'ACC_LIBTORCH_LOAD_FAILED',
    `libtorch ${libtorch.version} (${libtorch.variant}) in ${libtorch.root} cannot be loaded: ${words}` +
      (known ? `. That means: ${known.meaning}.` : '.'),
    { help: known?.help(libtorch) ?? 'npx acc env', cause, details: { libtorch, linker: words } },
  );
}

/** `ACC_ADDON_LOAD_FAILED`: libtorch is loaded, but the addon is not. */
export function addonLoadError(
  cause: unknown,
  libtorch: LibtorchInstall,
  addon: string,
  origin: AddonFiles['origin'],
): AccError {
  return new AccError(
    'ACC_ADDON_LOAD_FAILED',
    `The addon ${addon} cannot be loaded with libtorch ${libtorch.version} in ${libtorch.root}: ${(cause as Error).message}`,
    {
      help:
        origin === 'cache'
          ? `Remove ${dirname(addon)} and run: npx acc setup`
          : 'Install @acc/core again, or build the addon on this machine: npx acc setup --build',
      cause,
      details: { libtorch, addon },
    },
  );
}
