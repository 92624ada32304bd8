import { checkKeys, finallyAfter, type BatchRows } from '@acc/contract';
import type { LaunchEnvironment } from './environment.js';
import { shareOf, type SplitOptions, type Splittable } from './nested/split-between.js';
import { requireFunction, requireNumber, type NumberRule } from './require-arguments.js';

const INDEX: NumberRule = {
  expected: 'the number of a process from 0',
  help: 'Give 0 for the first process.',
  isRight: (index) => Number.isSafeInteger(index) && index >= 0,
};

/** The job functions that a role uses. */
export interface RoleJob {
  waitForEveryone(): void;
  gatherObject<T>(values: readonly T[]): T[];
  /** Runs `fn`. Gradients computed in it are weighted by each rank's `rows`. */
  onRows<R>(rows: BatchRows, fn: () => R): R;
}

/**
 * The place of this process in its job, and work that only some processes do. `Accelerator`
 * documents each member.
 */
export class ProcessRole {
  readonly #environment: LaunchEnvironment;
  readonly #job: RoleJob;
  #isTriggered = false;

  constructor(environment: LaunchEnvironment, job: RoleJob) {
    this.#environment = environment;
    this.#job = job;
  }

  get numProcesses(): number {
    return this.#environment.size;
  }

  get processIndex(): number {
    return this.#environment.rank;
  }

  get localNumProcesses(): number {
    return this.#environment.localSize;
  }

  get localProcessIndex(): number {
    return this.#environment.localRank;
  }

  get isMain(): boolean {
    return this.processIndex === 0;
  }

  get isLocalMain(): boolean {
    return this.localProcessIndex === 0;
  }

  get isLast(): boolean {
    return this.processIndex === this.numProcesses - 1;
  }

  on<A extends unknown[], R>(
    index: number,
    fn: (...args: A) => R,
    method = 'onProcess',
  ): (...args: A) => R | undefined {
    requireIndexAndFunction(method, index, fn);
    return (...args) => (this.processIndex === index ? fn(...args) : undefined);
  }

  onLocal<A extends unknown[], R>(
    index: number,
    fn: (...args: A) => R,
    method = 'onLocalProcess',
  ): (...args: A) => R | undefined {
    requireIndexAndFunction(method, index, fn);
    return (...args) => (this.localProcessIndex === index ? fn(...args) : undefined);
  }

  async mainFirst<R>(fn: () => R | Promise<R>): Promise<R> {
    requireFunction('mainProcessFirst', fn);
    return this.#first(this.isMain, fn);
  }

  async localMainFirst<R>(fn: () => R | Promise<R>): Promise<R> {
    requireFunction('localMainProcessFirst', fn);
    return this.#first(this.isLocalMain, fn);
  }

  async #first<R>(isFirst: boolean, fn: () => R | Promise<R>): Promise<R> {
    if (!isFirst) this.#job.waitForEveryone();
    try {
      return await fn();
    } finally {
      if (isFirst) this.#job.waitForEveryone();
    }
  }

  splitBetween<T extends Splittable, R>(inputs: T, fn: (share: T) => R, options: SplitOptions): R {
    requireFunction('splitBetweenProcesses', fn, 'inputs, (share) => …');
    checkKeys('splitBetweenProcesses', options, ['applyPadding']);
    const { processIndex: rank, numProcesses: size } = this;
    const { share, made, rows } = shareOf(inputs, { rank, size, ...options });
    return finallyAfter(
      () => this.#job.onRows(rows, () => fn(share)),
      () => made.forEach((tensor) => tensor.dispose()),
    );
  }

  setTrigger(): void {
    this.#isTriggered = true;
  }

  checkTrigger(): boolean {
    const isTriggered = this.#job.gatherObject([this.#isTriggered]).includes(true);
    if (isTriggered) this.#isTriggered = false;
    return isTriggered;
  }
}

/** @throws AccError `ACC_INVALID_ARGUMENT`. */
function requireIndexAndFunction(method: string, index: unknown, fn: unknown): void {
  requireNumber(method, 'index', index, INDEX);
  requireFunction(
    method,
    fn,
    method.endsWith('MainProcess') || method === 'onLastProcess' ? undefined : 'index, () => …',
  );
}
