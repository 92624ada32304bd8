import { cpus, freemem, totalmem } from 'node:os';

/** Figures of this process and its host, over the time since they were last read. */
export interface SystemFigures {
  /** In percent of one core. Above 100 if several threads are busy. */
  readonly processCpuPercent: number;
  readonly processMemoryMib: number;
  /** In percent of all cores of the host. */
  readonly hostCpuPercent: number;
  readonly hostMemoryMib: number;
}

const MIB = 2 ** 20;

/** Reads CPU and memory use from the operating system. */
export class SystemClock {
  #process = process.cpuUsage();
  #host = hostTimes();
  #atMs = performance.now();

  take(): SystemFigures {
    const [now, host] = [performance.now(), hostTimes()];
    const used = process.cpuUsage();
    const usedUs = used.user + used.system - this.#process.user - this.#process.system;
    const elapsedMs = Math.max(now - this.#atMs, 1e-3);
    const [busy, all] = [host.busy - this.#host.busy, host.all - this.#host.all];
    this.#process = used;
    this.#host = host;
    this.#atMs = now;
    return {
      processCpuPercent: usedUs / 10 / elapsedMs,
      processMemoryMib: process.memoryUsage.rss() / MIB,
      hostCpuPercent: all > 0 ? (100 * busy) / all : 0,
      hostMemoryMib: (totalmem() - freemem()) / MIB,
    };
  }
}

/** Milliseconds of all cores since the host started. */
function hostTimes(): { busy: number; all: number } {
  let [busy, all] = [0, 0];
  for (const { times } of cpus()) {
    const sum = times.user + times.nice + times.sys + times.irq + times.idle;
    all += sum;
    busy += sum - times.idle;
  }
  return { busy, all };
}
