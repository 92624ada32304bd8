import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

/**
 * A Python script that answers each line of its input with a line of JSON. One process is used,
 * because imports take longer than answers.
 */
export class Reader {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #errors = '';

  constructor(python: string, script: string) {
    this.#child = spawn(python, ['-u', script], { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child.stderr!.on('data', (chunk: Buffer) => (this.#errors = (this.#errors + chunk).slice(-3_000)));
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
  }

  async ask<T>(question: string): Promise<T> {
    this.#child.stdin!.write(`${question}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`the reader ended: ${this.#errors}`);
    return JSON.parse(value as string) as T;
  }

  close(): void {
    this.#child.stdin!.end();
  }
}
