import { Job } from './job.js';
import type { RunOnRanksOptions } from './run-options.js';

/** Waiting ranks of all jobs together. Each has 200 to 400 MiB. */
const MOST_RANKS = 10;

/**
 * Test runners may load this package once for each test file, but jobs outlast a file. The sources and
 * the built package have pools of their own, because their ranks load other programs.
 */
const PLACE = Symbol.for(`@acc/testkit:pool of ${import.meta.url}`);

/** The jobs of this process by their settings. */
export class Pool {
  /** From the one that was used longest ago to the last. */
  readonly #jobs = new Map<Job, { key: string; ranks: number }>();

  static ofThisProcess(): Pool {
    const holder = globalThis as { [PLACE]?: Pool };
    return (holder[PLACE] ??= new Pool());
  }

  /** A job with the settings of `options` that no one else uses. The caller gives it back. */
  async take(
    options: RunOnRanksOptions,
    prepare: (job: Job) => Promise<void>,
  ): Promise<{ job: Job; isNew: boolean }> {
    const { ranks, env, group, warmUp } = options;
    const key = JSON.stringify([ranks, env, group, String(warmUp)]);
    const free = areFresh()
      ? undefined
      : [...this.#jobs].find(([job, each]) => each.key === key && !job.isRunning);
    if (free) {
      free[0].isRunning = true;
      return { job: free[0], isNew: false };
    }
    this.#makeRoom(ranks);
    const job = await Job.start({ ranks, env });
    this.#jobs.set(job, { key, ranks });
    try {
      await prepare(job);
    } catch (error) {
      job.isSpoiled = true;
      this.giveBack(job);
      throw error;
    }
    job.isRunning = true;
    return { job, isNew: true };
  }

  giveBack(job: Job): void {
    job.isRunning = false;
    const entry = this.#jobs.get(job)!;
    this.#jobs.delete(job);
    if (job.isSpoiled || areFresh()) job.close();
    else this.#jobs.set(job, entry);
  }

  /** Ends the jobs that wait for a module. */
  close(): void {
    for (const [job] of this.#jobs) {
      if (job.isRunning) continue;
      this.#jobs.delete(job);
      job.close();
    }
  }

  #makeRoom(ranks: number): void {
    const all = () => [...this.#jobs.values()].reduce((sum, each) => sum + each.ranks, 0);
    for (const [job] of this.#jobs) {
      if (all() + ranks <= MOST_RANKS) return;
      if (job.isRunning) continue;
      this.#jobs.delete(job);
      job.close();
    }
  }
}

/** Whether each run gets new processes, so that nothing can depend on an earlier module. */
const areFresh = () => process.env['ACC_TEST_FRESH_RANKS'] === '1';
