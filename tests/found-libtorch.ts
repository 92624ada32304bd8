import { preparedLibtorch } from './prepared.js';

/**
 * Finds libtorch once for all ranks of a run, as `acc launch` does. Otherwise each rank would start
 * Python for it.
 */
export default async function setup(): Promise<void> {
  const libtorch = preparedLibtorch ?? (await import('@acc/native')).findLibtorch()?.root;
  if (libtorch !== undefined) process.env['ACC_LIBTORCH'] = libtorch;
}
