import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A library that compiles and runs fused programs for CUDA on the CPU. `emulated-driver.cpp`. */
export class EmulatedDriver {
  /** For the argument `driver` of the operator `acc::program`. */
  readonly path: string;
  readonly folder: string;

  private constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'acc-emulated-'));
    this.path = join(this.folder, 'libdriver.so');
  }

  /** Compiles it, in about two seconds. */
  static create(): EmulatedDriver {
    const made = new EmulatedDriver();
    const headers = `-DACC_HEADERS="${import.meta.dirname}"`;
    const source = join(import.meta.dirname, 'emulated-driver.cpp');
    execFileSync('g++', ['-std=c++20', '-O1', '-shared', '-fPIC', headers, '-o', made.path, source], {
      stdio: 'pipe',
    });
    return made;
  }

  /** The number of sources that were compiled. */
  get compiled(): number {
    return readdirSync(this.folder).filter((name) => name.endsWith('.cu')).length;
  }

  /** While the result is not disposed, the compiler refuses every program with `message`. */
  refusing(message: string): Disposable {
    const file = join(this.folder, 'refuse');
    writeFileSync(file, message);
    return { [Symbol.dispose]: () => rmSync(file) };
  }
}
