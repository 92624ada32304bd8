import { cpus } from 'node:os';
import { AccError, type StateTree } from '@acc/contract';
import { buildConfiguration, gpuFacts, torchVersion, type GpuFacts } from '@acc/native';
import { chosenCandidates, useCandidates } from '../tuning/tuning.js';

/**
 * The choices between several kernels. Different kernels may differ in their last bits, so a
 * resumed run uses the same ones.
 *
 * @param device That of the tensors.
 */
export function savedChoices(device: string): StateTree {
  return { machine: machineOf(device), chosen: chosenCandidates() };
}

/**
 * Restores the choices on the same machine only. On another machine other kernels are fastest, and
 * results differ in any case.
 */
export function restoreChoices(device: string, state: StateTree): void {
  const { machine: saved, chosen } = (state ?? {}) as { machine?: unknown; chosen?: unknown };
  // The state comes from a backend without choices.
  if (chosen === undefined) return;
  if (typeof chosen !== 'object' || chosen === null) {
    throw new AccError('ACC_STATE_INVALID', 'This value is not a state of the kernel layer.', {
      help: 'Load another checkpoint: this one was changed.',
    });
  }
  if (saved === machineOf(device)) useCandidates(chosen as Record<string, string>);
}

/** What decides which kernel is fastest: the processor or the GPU, and the versions of the libraries. */
function machineOf(device: string): string {
  const { name, capability } = gpuFacts(device) ?? {};
  if (name === undefined) return `${cpus()[0]?.model ?? ''} torch ${torchVersion()}`;
  return machineOfGpu({ name, capability: capability! }, buildConfiguration());
}

/** @param configuration libtorch's description of its build, which names CUDA's libraries. */
export function machineOfGpu({ name, capability }: Omit<GpuFacts, 'uuid'>, configuration: string): string {
  const libraries = configuration.split('\n').filter((line) => /cuda runtime|cudnn/i.test(line));
  return [`${name} ${capability} torch ${torchVersion()}`, ...libraries.map((line) => line.trim())].join(
    '; ',
  );
}
