import { cpus, loadavg, release, totalmem, type } from 'node:os';

/** What the numbers depend on beside the code. Call it before measuring: `load` tells what else was running. */
export function describeMachine() {
  const cores = cpus();
  return {
    cpu: cores[0].model.trim(),
    cores: cores.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    load: loadavg()[0],
    date: new Date().toISOString().slice(0, 10),
  };
}
