import type { LaunchEnvironment } from './environment.js';
import { requireFunction } from './require-arguments.js';

/** Which of a job's processes this one is, and work that only some of them do. */
export abstract class ProcessRole {
  readonly #environment: LaunchEnvironment;

  constructor(environment: LaunchEnvironment) {
    this.#environment = environment;
  }

  /** Ranks of the job. */
  get numProcesses(): number {
    return this.#environment.size;
  }

  /** This process's rank in the job, from 0. */
  get processIndex(): number {
    return this.#environment.rank;
  }

  /** Ranks of the job on this host. */
  get localNumProcesses(): number {
    return this.#environment.localSize;
  }

  /** This process's rank on its host, from 0. */
  get localProcessIndex(): number {
    return this.#environment.localRank;
  }

  get isMainProcess(): boolean {
    return this.processIndex === 0;
  }

  get isLocalMainProcess(): boolean {
    return this.localProcessIndex === 0;
  }

  get isLastProcess(): boolean {
    return this.processIndex === this.numProcesses - 1;
  }

  /** `console.log`, on the main process only. */
  print(...values: unknown[]): void {
    if (this.isMainProcess) console.log(...values);
  }

  /** A function that runs `fn` on the main process and gives undefined elsewhere. */
  onMainProcess<A extends unknown[], R>(fn: (...args: A) => R): (...args: A) => R | undefined {
    return this.onProcess(0, fn);
  }

  /** A function that runs `fn` on the first process of each host and gives undefined elsewhere. */
  onLocalMainProcess<A extends unknown[], R>(fn: (...args: A) => R): (...args: A) => R | undefined {
    return this.onLocalProcess(0, fn);
  }

  /** A function that runs `fn` on the last process and gives undefined elsewhere. */
  onLastProcess<A extends unknown[], R>(fn: (...args: A) => R): (...args: A) => R | undefined {
    return this.onProcess(this.numProcesses - 1, fn);
  }

  /** A function that runs `fn` on one process and gives undefined elsewhere. */
  onProcess<A extends unknown[], R>(index: number, fn: (...args: A) => R): (...args: A) => R | undefined {
    return (...args) => (this.processIndex === index ? fn(...args) : undefined);
  }

  /** A function that runs `fn` on one process of each host and gives undefined elsewhere. */
  onLocalProcess<A extends unknown[], R>(
    index: number,
    fn: (...args: A) => R,
  ): (...args: A) => R | undefined {
    return (...args) => (this.localProcessIndex === index ? fn(...args) : undefined);
  }

  /**
   * Runs `fn` on the main process first, then on the others: also when it throws there, or its promise rejects, which is the
   * main process's own error.
   */
  async mainProcessFirst<R>(fn: () => R | Promise<R>): Promise<R> {
    requireFunction('mainProcessFirst', fn);
    if (!this.isMainProcess) this.waitForEveryone();
    try {
      return await fn();
    } finally {
      if (this.isMainProcess) this.waitForEveryone();
    }
  }

  /** Returns when every rank has called it. */
  abstract waitForEveryone(): void;
}
