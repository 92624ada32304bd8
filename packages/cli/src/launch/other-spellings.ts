const RANKS = '-n N, processes on this host';
const ENDPOINT = '--rdzv-endpoint HOST:PORT';

/** Our options, by what torchrun or Hugging Face Accelerate calls them. */
const OPTIONS: Readonly<Record<string, string>> = {
  '--nproc-per-node': RANKS,
  '--num-processes': RANKS,
  '--num-machines': '--nnodes A',
  '--machine-rank': '--node-rank R',
  '--master-addr': ENDPOINT,
  '--master-port': ENDPOINT,
  '--main-process-ip': ENDPOINT,
  '--main-process-port': ENDPOINT,
  '--num-cpu-threads-per-process': '--threads T',
};

/** torchrun takes these with underscores, too. */
const HYPHENATED = ['--node-rank', '--rdzv-endpoint', '--rdzv-backend', '--rdzv-id', '--max-restarts'];

/** What the program says, and Hugging Face Accelerate's command line. */
const IN_PROGRAM: Readonly<Record<string, string>> = {
  '--mixed-precision': "mixedPrecision: 'bf16'",
  '--gradient-accumulation-steps': 'gradientAccumulationSteps: 4',
  '--gradient-clipping': 'gradientClipping: { norm: 1 }',
  '--cpu': "device: 'cpu'",
};

/** What to write instead of an option as torchrun or Hugging Face Accelerate spells it. */
export function oursFor(option: string): string | undefined {
  const name = option.replaceAll('_', '-');
  const ours = OPTIONS[name] ?? HYPHENATED.find((one) => one === name);
  if (ours) return `Here it is ${ours}. acc launch --help lists the options.`;
  const given = IN_PROGRAM[name];
  return given && `The program says it: Accelerator.create({ ${given} }).`;
}
