import { spawnSync } from 'node:child_process';
import { cpus, loadavg, release, totalmem, type } from 'node:os';

/**
 * Describes the machine that the numbers depend on. Call it before measuring, because `load` shows
 * what else is running.
 */
export function describeMachine() {
  const cores = cpus();
  return {
    cpu: cores[0].model.trim(),
    cores: cores.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    gpu: describeGpu(),
    system: `${type()} ${release()}`,
    load: loadavg()[0],
    date: new Date().toISOString().slice(0, 10),
  };
}

/** The NVIDIA GPUs and their driver. Undefined if the driver's tool shows none. */
function describeGpu() {
  const query = ['--query-gpu=name,driver_version', '--format=csv,noheader'];
  const { status, stdout } = spawnSync('nvidia-smi', query, { encoding: 'utf8' });
  if (status !== 0) return undefined;
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.replace(', ', ', driver '))
    .join('; ');
}

/** A name for a report: the date and the processor, or the GPU if `device` is one. */
export function defaultName({ date, cpu, gpu }, device) {
  const processor = device === 'cuda' && gpu ? gpu.split(',')[0] : cpu;
  return `${date}-${processor
    .match(/[a-z0-9]+/gi)
    .join('-')
    .toLowerCase()}`;
}
