import { existsSync, readFileSync } from 'node:fs';
import { shellWord } from '../../launch/shell-word.js';
import type { CudaNeeds } from './wheels.js';

/** Describes the requirements of a TensorFlow for CUDA, in the folder `root`, on the machine. */
export function describeCuda(cuda: CudaNeeds | undefined, root: string): string[] {
  if (!cuda) return ['the wheel does not state which CUDA it needs'];
  const driver = cuda.driver === undefined ? '' : `, so NVIDIA's driver ${cuda.driver} or newer`;
  const cudnn = cuda.cudnn === undefined ? '' : ` and cuDNN ${cuda.cudnn}`;
  const installed = installedDriver();
  return [
    `it needs CUDA ${cuda.cuda}${cudnn}${driver}; this machine has ${installed ? `driver ${installed}` : 'no NVIDIA driver'}`,
    `the CUDA libraries, if the machine has none: python3 -m pip install --no-deps --target ${shellWord(root)} ${cuda.packages.join(' ')}`,
  ];
}

/** The version of the loaded kernel module of NVIDIA. */
function installedDriver(): string | undefined {
  const file = '/proc/driver/nvidia/version';
  if (!existsSync(file)) return undefined;
  return /Module.*?\s(\d+\.\d+(?:\.\d+)?)\s/.exec(readFileSync(file, 'utf8'))?.[1];
}
