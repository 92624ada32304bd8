/**
 * Finds libtorch once for all ranks of a run, as `acc launch` does. Otherwise each rank would start
 * Python for it.
 */
export default async function setup(): Promise<void> {
  const { findLibtorch } = await import('@acc/native');
  const libtorch = findLibtorch();
  if (libtorch) process.env['ACC_LIBTORCH'] = libtorch.root;
}
