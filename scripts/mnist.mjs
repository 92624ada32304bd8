// Prepares the clone and trains the MNIST example on two processes. `npm run mnist [-- the
// example's arguments]`
import { run, runMain } from './process.mjs';
import { setup } from './setup.mjs';

await runMain(async () => {
  await setup({ quiet: true });
  const launch = ['packages/cli/dist/acc.js', 'launch', '-n', '2', 'examples/mnist/train.ts'];
  return run(process.execPath, [...launch, ...process.argv.slice(2)]);
});
