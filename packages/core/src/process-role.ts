import { checkKeys, finallyAfter, type BatchRows } from '@acc/contract';
import type { LaunchEnvironment } from './environment.js';
import { partOf, type SplitOptions, type Splittable } from './nested/split-between.js';
import { requireFunction } from './require-arguments.js';

/** Which of a job's processes this one is, and work that only some of them do. */
export abstract class ProcessRole {
  readonly #environment: LaunchEnvironment;
  #isTriggered = false;

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
    return this.#first(this.isMainProcess, fn);
  }

  /** The same with the first process of each host, before the others of its host. */
  async localMainProcessFirst<R>(fn: () => R | Promise<R>): Promise<R> {
    requireFunction('localMainProcessFirst', fn);
    return this.#first(this.isLocalMainProcess, fn);
  }

  async #first<R>(isFirst: boolean, fn: () => R | Promise<R>): Promise<R> {
    if (!isFirst) this.waitForEveryone();
    try {
      return await fn();
    } finally {
      if (isFirst) this.waitForEveryone();
    }
  }

  /**
   * Calls `fn` at once with this process's part of `inputs`, and returns what it returns: of a tensor contiguous rows, of an array
   * items, of a record the same of each value. The first processes have one item more where they don't come out even. Tensors that
   * were cut are disposed when `fn`, or its promise, has ended; items of an array are not.
   *
   * @param options `applyPadding`: repeats the last item, so that every process has as many.
   * @throws AccError `ACC_INVALID_ARGUMENT`, `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
   */
  splitBetweenProcesses<T extends Splittable, R>(
    inputs: T,
    fn: (part: T) => R,
    options: SplitOptions = {},
  ): R {
    requireFunction('splitBetweenProcesses', fn);
    checkKeys('splitBetweenProcesses', options, ['applyPadding']);
    const { processIndex: rank, numProcesses: size } = this;
    const { part, made, rows } = partOf(inputs, { rank, size, ...options });
    return finallyAfter(
      () => this.onRows(rows, () => fn(part)),
      () => made.forEach((tensor) => tensor.dispose()),
    );
  }

  /** Runs `fn`, in which gradients count by the `rows` of each rank. */
  protected abstract onRows<R>(rows: BatchRows, fn: () => R): R;

  /** Sets a flag that {@link checkTrigger} tells of on every rank. */
  setTrigger(): void {
    this.#isTriggered = true;
  }

  /** Whether any rank has set its flag since this was last true, which it then no longer is. Every rank calls it. */
  checkTrigger(): boolean {
    const isTriggered = this.gatherObject([this.#isTriggered]).includes(true);
    if (isTriggered) this.#isTriggered = false;
    return isTriggered;
  }

  /** Returns when every rank has called it. */
  abstract waitForEveryone(): void;

  /** The ranks' arrays joined, in the order of ranks. */
  abstract gatherObject<T>(values: readonly T[]): T[];
}
