import { describe, expect, it } from 'vitest';
import type { LibtorchInstall } from './inspect.js';
import { libtorchLoadError } from './load-errors.js';

const LIBTORCH: LibtorchInstall = {
  root: '/cache/libtorch/2.13.0-cpu',
  libDir: '/cache/libtorch/2.13.0-cpu/lib',
  includeDir: '/cache/libtorch/2.13.0-cpu/include',
  version: '2.13.0',
  variant: 'cpu',
  origin: 'cache',
};

describe('libtorchLoadError', () => {
  it("keeps the linker's message and adds a next step", () => {
    const steps: [string, RegExp][] = [
      ["/lib/libc.so.6: version `GLIBC_2.28' not found (required by libtorch_cpu.so)", /glibc 2\.28/],
      ['/cache/libtorch_cpu.so: file too short', /Remove \/cache\/libtorch\/2\.13\.0-cpu/],
      ['libcudart.so.13: cannot open shared object file: No such file or directory', /CPU build/],
      ['libgomp.so.1: cannot open shared object file: No such file or directory', /npx acc setup/],
      [
        'Error loading shared library ld-linux-x86-64.so.2: No such file or directory (needed by /torch/lib/libc10.so)',
        /Debian, Ubuntu or Fedora/,
      ],
      ['Error relocating /torch/lib/libc10.so: __strdup: symbol not found', /instead of Alpine/],
      ['libtorch_cpu.so: wrong ELF class: ELFCLASS32', /npx acc setup/],
      ['something else altogether', /npx acc env/],
    ];
    for (const [words, help] of steps) {
      const cause = new Error(words);
      const error = libtorchLoadError(cause, LIBTORCH);
      expect(error).toMatchObject({ code: 'ACC_LIBTORCH_LOAD_FAILED', cause, details: { linker: words } });
      expect(error.help).toMatch(help);
    }
  });

  it('does not suggest to remove a libtorch that we did not install', () => {
    const error = libtorchLoadError(new Error('x: file too short'), { ...LIBTORCH, origin: 'ACC_LIBTORCH' });
    expect(error.help).not.toMatch(/Remove/);
  });
});
