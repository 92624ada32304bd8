const RANKS = '-n N, processes on this host';
const ENDPOINT = '--rdzv-endpoint HOST:PORT';

/** The options of acc, by their names in torchrun and Hugging Face Accelerate. */
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
  '--enable-cpu-affinity': '--cpu-bind numa',
  '--numa-binding': '--cpu-bind numa',
};

/** torchrun and Hugging Face Accelerate also accept these with underscores. */
const HYPHENATED = [
  '--node-rank',
  '--rdzv-endpoint',
  '--rdzv-backend',
  '--rdzv-id',
  '--max-restarts',
  '--log-dir',
  '--mixed-precision',
  '--gradient-accumulation-steps',
  '--config-file',
];

/** Options of Hugging Face Accelerate's command line that programs set here. */
const IN_PROGRAM: Readonly<Record<string, string>> = {
  '--gradient-clipping': 'gradientClipping: { norm: 1 }',
  '--cpu': "device: 'cpu'",
};

/** The advice for an option in the spelling of torchrun or Hugging Face Accelerate. */
export function oursFor(option: string): string | undefined {
  const name = option.replaceAll('_', '-');
  const ours = OPTIONS[name] ?? HYPHENATED.find((one) => one === name);
  if (ours) return `Here it is ${ours}. npx acc launch --help lists the options.`;
  const given = IN_PROGRAM[name];
  return given && `Set it in the program: Accelerator.create({ ${given} }).`;
}
