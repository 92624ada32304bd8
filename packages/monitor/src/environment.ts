/** The id by which nvidia-smi knows the k-th GPU of CUDA. nvidia-smi ignores CUDA_VISIBLE_DEVICES. */
export function visibleGpu(k: number): string {
  const visible = process.env['CUDA_VISIBLE_DEVICES']?.split(',').map((id) => id.trim());
  return visible?.[k] || String(k);
}

/** The command that started this job, as words of a shell: that of the launcher, or of this process. */
export function jobCommand(): string {
  const [, ...words] = process.argv;
  return process.env['ACC_COMMAND'] ?? ['node', ...process.execArgv, ...words].map(shellWord).join(' ');
}

const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
