import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { visibleGpu } from './environment.js';

export interface GpuFigures {
  readonly percent: number;
  readonly memoryMib: number;
}

const PERIOD_SECONDS = 5;
const FIELDS = 'utilization.gpu,memory.used';

/** Reads the utilization and memory of one GPU from a running nvidia-smi. */
export class GpuClock {
  readonly #child: ChildProcess;
  #latest: GpuFigures | undefined;

  /** @param device `cuda:0` */
  constructor(device: string, warn: (message: string) => void) {
    const id = visibleGpu(Number(device.split(':')[1] ?? 0));
    const args = [
      `--id=${id}`,
      `--query-gpu=${FIELDS}`,
      '--format=csv,noheader,nounits',
      `--loop=${PERIOD_SECONDS}`,
    ];
    this.#child = spawn('nvidia-smi', args, { stdio: ['ignore', 'pipe', 'ignore'] });
    this.#child.on('error', ({ message }) =>
      warn(`acc: autoLog cannot read the figures of the GPU: ${message}`),
    );
    createInterface({ input: this.#child.stdout! }).on('line', (line) => this.#hear(line));
    this.#child.unref();
    (this.#child.stdout as unknown as { unref(): void }).unref();
  }

  /** The latest figures. Undefined before the first ones arrive. */
  get latest(): GpuFigures | undefined {
    return this.#latest;
  }

  close(): void {
    this.#child.kill();
  }

  #hear(line: string): void {
    const [percent, memoryMib] = line.split(',').map(Number);
    if (Number.isFinite(percent) && Number.isFinite(memoryMib)) {
      this.#latest = { percent: percent!, memoryMib: memoryMib! };
    }
  }
}
