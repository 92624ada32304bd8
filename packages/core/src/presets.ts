// The only file where a name becomes an implementation.
import { backend, getBackend, ready, setBackend } from '@tensorflow/tfjs-core';
import type { Collective, KernelLayer, Strategy } from '@acc/contract';
import { GroupCollective, joinGroup, SingleCollective, type JoinedGroup } from '@acc/collective';
import { ddp, resolveDdpOptions } from '@acc/ddp';
import { BACKEND_NAME, kernelLayerOf, registerAccBackend } from '@acc/kernels';
import { findLibtorch, torchVersion } from '@acc/native';
import type { LaunchEnvironment } from './environment.js';
import type { ResolvedOptions } from './options.js';
import { singleStrategy } from './single-strategy/single-strategy.js';

/** The strategy that the options name. */
export function strategyOf(options: ResolvedOptions, size: number): Strategy {
  const { strategy } = options;
  if (typeof strategy === 'object') return strategy;
  const name = strategy === 'auto' ? (size > 1 ? 'ddp' : 'single') : strategy;
  return name === 'ddp' ? ddp(options.ddp) : singleStrategy();
}

/**
 * Activates the engine that the options name and gives its kernel layer.
 *
 * @throws AccError `ACC_LIBTORCH_MISSING`, `ACC_ADDON_MISSING` where `acc` was asked for, or several ranks need it to talk.
 */
export async function kernelsOf(options: ResolvedOptions, size: number): Promise<KernelLayer> {
  if (options.engine === 'acc' || (options.engine === 'auto' && hasLibtorch(size))) {
    // tfjs swallows a backend's errors: what is wrong with libtorch has to be thrown before it is asked.
    torchVersion();
    registerAccBackend();
    await setBackend(BACKEND_NAME);
  }
  await ready();
  return kernelLayerOf(getBackend(), backend());
}

let toldOfFallback = false;

/** One process runs on without libtorch, on the backend that is active, and says so once. */
function hasLibtorch(size: number): boolean {
  if (findLibtorch() !== undefined || size > 1) return true;
  if (!toldOfFallback) {
    toldOfFallback = true;
    console.warn(
      `acc: libtorch was not found, so training runs on tfjs's '${getBackend()}' backend in one process. Install it with: npx acc setup`,
    );
  }
  return false;
}

/** A process joins its job's group once; every Accelerator of the process uses it. */
let joined: Promise<JoinedGroup> | undefined;

/** The collectives among the job's ranks. */
export async function collectiveOf(
  environment: LaunchEnvironment,
  options: ResolvedOptions,
  kernels: KernelLayer,
): Promise<Collective> {
  const { rank, size, localSize, masterAddress, masterPort, jobToken, networkInterface } = environment;
  if (size === 1) return new SingleCollective();
  joined ??= joinGroup({
    rank,
    size,
    masterAddress,
    masterPort,
    jobToken,
    isOneHost: localSize === size,
    timeoutMs: resolveDdpOptions(options.ddp).timeoutMs,
    ...(networkInterface && { networkInterface }),
  });
  const { group, close } = await joined;
  return new GroupCollective({ group, bridge: kernels, engine: 'gloo', onClose: close });
}
