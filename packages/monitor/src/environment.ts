/** The id by which nvidia-smi knows the k-th GPU of CUDA. nvidia-smi ignores CUDA_VISIBLE_DEVICES. */
export function visibleGpu(k: number): string {
  const visible = process.env['CUDA_VISIBLE_DEVICES']?.split(',').map((id) => id.trim());
  return visible?.[k] || String(k);
}
