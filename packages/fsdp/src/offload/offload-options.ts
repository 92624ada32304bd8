import { AccError } from '@acc/contract';
import * as z from 'zod';

/** The tensors that leave memory between their uses. At least one of `params` and `optimizer` is true. */
export interface OffloadOptions {
  /** This rank's parameters. For stage 3. Default false. */
  readonly params?: boolean;
  /** This rank's optimizer state. Default false. */
  readonly optimizer?: boolean;
  /**
   * `cpu` (default): host memory, page-locked for a GPU. On a CPU they are there already. Or, on a CPU,
   * a folder, which is made if it is missing, on a fast local disk. Ranks may share it. Each has a file
   * of its own, which is removed by `freeMemory()` and at the end of the process.
   */
  readonly to?: string;
}

export interface ResolvedOffload {
  readonly params: boolean;
  readonly optimizer: boolean;
  /** `cpu`, or a folder. */
  readonly to: string;
}

export const offloadSchema = z.strictObject({
  params: z.boolean().optional(),
  optimizer: z.boolean().optional(),
  to: z.string().min(1).optional(),
});

/** The options that concern offload, as a program gives them. */
export interface OffloadSettings {
  readonly cpuOffload?: boolean | undefined;
  readonly offload?: OffloadOptions | undefined;
}

/** @throws AccError `ACC_INVALID_OPTION` for options that contradict each other or have no effect. */
export function resolveOffload(
  { cpuOffload, offload }: OffloadSettings,
  stage: number,
): ResolvedOffload | undefined {
  if (cpuOffload && offload) {
    throw invalid('fsdp.cpuOffload and fsdp.offload are both given.', 'Give one of them.');
  }
  const given = cpuOffload ? { params: true, optimizer: true } : offload;
  if (!given) return undefined;
  const { params = false, optimizer = false, to = 'cpu' } = given as OffloadOptions;
  if (!params && !optimizer) {
    throw invalid(
      'fsdp.offload names nothing to offload.',
      'Set offload.optimizer, offload.params or both to true.',
    );
  }
  if (params && stage !== 3) {
    throw invalid(
      `fsdp.${cpuOffload ? 'cpuOffload' : 'offload.params'} needs stage 3. In stage ${stage}, every rank keeps whole parameters in memory.`,
      'Use stage 3, or offload: { optimizer: true }.',
    );
  }
  return { params, optimizer, to };
}

function invalid(message: string, help: string): AccError {
  return new AccError('ACC_INVALID_OPTION', message, { help });
}
