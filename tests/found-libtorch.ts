/** Looks for libtorch once for all ranks of a run, as `acc launch` does: each would start a Python for it. */
export default async function setup(): Promise<void> {
  const { findLibtorch } = await import('@acc/native');
  const libtorch = findLibtorch();
  if (libtorch) process.env['ACC_LIBTORCH'] = libtorch.root;
}
