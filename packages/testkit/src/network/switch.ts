import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { AccError } from '@acc/contract';
import { command } from './command.js';

/** The running program `switch.c`, compiled for this network. */
export class Switch {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  /**
   * The devices of its ports, in the order of the hosts. They are in the network namespace of this
   * process.
   */
  readonly devices: string[] = [];

  static async start(ports: number): Promise<Switch> {
    const folder = mkdtempSync(join(tmpdir(), 'acc-switch-'));
    try {
      const program = join(folder, 'switch');
      command('cc', ['-O2', '-o', program, sourceFile()]);
      const started = new Switch(program, ports);
      for (let i = 0; i < ports; i++) started.devices.push(await started.#answer());
      return started;
    } finally {
      // A running program no longer needs its file.
      rmSync(folder, { recursive: true });
    }
  }

  private constructor(program: string, ports: number) {
    this.#child = spawn(program, [String(ports)], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child.on('error', () => {});
    this.#child.stdin!.on('error', () => {});
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
  }

  async tell(port: number, what: string): Promise<void> {
    this.#child.stdin!.write(`${port} ${what}\n`);
    await this.#answer();
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }

  async #answer(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (!done) return value;
    throw new AccError('ACC_TEST_NETWORK', 'The switch of the test network has ended.', {
      help: 'Run as root, on a system with TAP devices (/dev/net/tun).',
    });
  }
}

/** The source file beside this file, or in the sources that come with the built package. */
function sourceFile(): string {
  const places = ['./switch.c', '../src/network/switch.c'].map((place) =>
    fileURLToPath(new URL(place, import.meta.url)),
  );
  return places.find((place) => existsSync(place))!;
}
