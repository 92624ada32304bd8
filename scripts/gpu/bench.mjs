// Runs the benchmarks on a GPU, beside PyTorch: `npm run bench:gpu [-- options of the bench]`.
// Without a GPU nothing runs, and the exit code is 1.
import { run, runMain } from '../process.mjs';
import { setupGpu } from './setup-gpu.mjs';

await runMain(async () => {
  const args = process.argv.slice(2);
  const { libtorch } = await setupGpu();
  // If our side uses the torch of `python3`, their side uses the same one.
  const isGiven = args.some((arg) => /^--python(=|$)/.test(arg));
  const python = libtorch.origin === 'python' && !isGiven ? ['--python', 'python3'] : [];
  return run(process.execPath, ['bench/run.mjs', '--device', 'cuda', ...python, ...args]);
});
