import { cpus, freemem, totalmem } from 'node:os';

/** Of this process and its host, over the time since the last time they were asked for. */
export interface SystemFigures {
  /** Of one core; more than 100 with several threads. */
  readonly processCpuPercent: number;
  readonly processMemoryMib: number;
  /** Of all cores of the host. */
  readonly hostCpuPercent: number;
  readonly hostMemoryMib: number;
}

const MIB = 2 ** 20;

/** CPU and memory, as the operating system counts them. */
export class SystemClock {
  #process = process.cpuUsage();
  #host = hostTimes();
  #atMs = performance.now();

  take(): SystemFigures {
    const [now, host] = [performance.now(), hostTimes()];
    const { user, system } = process.cpuUsage(this.#process);
    const elapsedMs = Math.max(now - this.#atMs, 1e-3);
    const [busy, all] = [host.busy - this.#host.busy, host.all - this.#host.all];
    this.#process = process.cpuUsage();
    this.#host = host;
    this.#atMs = now;
    return {
      processCpuPercent: (user + system) / 10 / elapsedMs,
      processMemoryMib: process.memoryUsage.rss() / MIB,
      hostCpuPercent: all > 0 ? (100 * busy) / all : 0,
      hostMemoryMib: (totalmem() - freemem()) / MIB,
    };
  }
}

/** Ms of all cores since the host started. */
function hostTimes(): { busy: number; all: number } {
  let [busy, all] = [0, 0];
  for (const { times } of cpus()) {
    const sum = times.user + times.nice + times.sys + times.irq + times.idle;
    all += sum;
    busy += sum - times.idle;
  }
  return { busy, all };
}
