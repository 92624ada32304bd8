/** What nvidia-smi calls the GPU that is the k-th for CUDA: it doesn't heed CUDA_VISIBLE_DEVICES. */
export function visibleGpu(k: number): string {
  const visible = process.env['CUDA_VISIBLE_DEVICES']?.split(',').map((id) => id.trim());
  return visible?.[k] || String(k);
}
