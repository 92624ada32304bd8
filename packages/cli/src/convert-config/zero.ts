import { accelerator, isDefault, leftOut, taken, type Outcome } from './outcome.js';

/** The rule for a stage of ZeRO. */
export function zeroStage(value: unknown): Outcome {
  const strategy = accelerator('strategy', zeroStrategy(value));
  return value === 0 ? taken(strategy) : taken(strategy, accelerator('fsdp.stage', value));
}

export const zeroStrategy = (stage: unknown): string => (stage === 0 ? 'ddp' : 'fsdp');

/** The offload settings of a DeepSpeed configuration. */
export interface Offload {
  readonly stage: unknown;
  readonly optimizer: unknown;
  readonly params: unknown;
  readonly folder: unknown;
}

/** The rule for the device to which one part is offloaded. A file can give both parts only. */
export function offload(part: 'optimizer' | 'params', { stage, folder, ...devices }: Offload): Outcome {
  if (devices[part] == null || devices[part] === 'none') return isDefault();
  if (part === 'params' && stage !== 3) return leftOut('parameters are offloaded in stage 3 only');
  if (devices.optimizer === 'cpu' && devices.params === 'cpu' && stage === 3)
    return taken(accelerator('fsdp.cpuOffload', true));
  const to = devices[part] === 'nvme' ? String(folder ?? '/folder') : 'cpu';
  return leftOut(`in the program: fsdp: { offload: { ${part}: true, to: '${to}' } }`);
}
